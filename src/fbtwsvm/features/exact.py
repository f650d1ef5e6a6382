"""The exact kernel as a feature map."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._arrays import Array
from .base import FeatureMap
from .gradients import scaled_kernel_gradient
from .kernels import KERNELS, Kernel, similarity


class ExactKernel(FeatureMap):
    """Exact kernel: map a row to its similarities to all training rows.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        Name of a kernel, see :mod:`fbtwsvm.features.kernels`, or a function k(X, Y) that returns the kernel matrix.
    gamma : float or "scale", default="scale"
        Parameter of the rbf and laplacian kernels; a larger value gives a narrower kernel.  "scale" is
        1 / (n_features * X.var()), with X.std() for laplacian.
    metric : array of shape (n_features,) or None, default=None
        Factors of the columns in the distance, for the rbf and laplacian kernels: x is multiplied by them.

    Attributes
    ----------
    rows_ : array of shape (n_samples, `n_features_in_`)
        The training rows.
    gamma_ : float
        The value of gamma in use.
    metric_ : ndarray of shape (`n_features_in_`,) or None
        The factors in use.

    Examples
    --------
    >>> from fbtwsvm.features import ExactKernel
    >>> ExactKernel(kernel="linear").fit([[1.0, 2.0], [0.0, 1.0]]).transform([[1.0, 1.0]])
    array([[3., 1.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "metric": ["array-like", None],
    }

    def __init__(
        self, *, kernel: str | Kernel = "rbf", gamma: float | str = "scale", metric: Array | None = None
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.metric = metric

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the training rows."""
        self.rows_ = self._check_training_rows(X)
        self._n_features_out = self.rows_.shape[0]
        return self

    def map(self, X: Any) -> Array:
        """Map rows without checking them."""
        matrix = similarity(self.kernel, self.gamma_, self.metric_)(X, self.rows_.astype(X.dtype, copy=False))
        return np.asarray(matrix, dtype=X.dtype)

    def gradient(self, X: Array, weights: Array) -> Array:
        """Return the gradients of weights_i.z(x) at rows x_i, dense and checked before, a row for each."""
        return scaled_kernel_gradient(self, self.rows_.astype(X.dtype, copy=False), X, weights)
