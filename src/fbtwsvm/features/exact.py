"""The kernel itself as a map: similarities to all training rows."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._arrays import Array
from .base import FeatureMap
from .kernels import KERNELS, Kernel, similarity


class ExactKernel(FeatureMap):
    """The kernel itself: a row becomes its similarities to all training rows.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A name from :mod:`fbtwsvm.features.kernels`, or a function k(X, Y) that returns the matrix.
    gamma : float or "scale", default="scale"
        Width of the rbf and laplacian kernels.

    Attributes
    ----------
    rows_ : array of shape (n_samples, n_features_in_)
        The training rows.
    gamma_ : float
        The width in use.

    Examples
    --------
    >>> from fbtwsvm.features import ExactKernel
    >>> ExactKernel(kernel="linear").fit([[1.0, 2.0], [0.0, 1.0]]).transform([[1.0, 1.0]])
    array([[3., 1.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, *, kernel: str | Kernel = "rbf", gamma: float | str = "scale") -> None:
        self.kernel = kernel
        self.gamma = gamma

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows."""
        self.rows_ = self._start(X)
        self._n_features_out = self.rows_.shape[0]
        return self

    def transform(self, X: Any) -> Array:
        """Similarities to the training rows, (n, n_samples)."""
        return self.map(self._rows(X))

    def map(self, X: Any) -> Array:
        """Map rows that have been checked."""
        seen = similarity(self.kernel, self.gamma_)(X, self.rows_.astype(X.dtype, copy=False))
        return np.asarray(seen, dtype=X.dtype)
