"""Explicit features of additive kernels."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval

from .._arrays import Array
from .base import FeatureMap
from .gradients import additive_gradient


class AdditiveIntersectionFeatures(FeatureMap):
    """Approximate feature map of the intersection kernel sum min(x_j, y_j), column by column.

    It does for this kernel what scikit-learn's `AdditiveChi2Sampler` does for chi2 (Vedaldi and Zisserman 2012): each
    column gives sqrt(x) times samples of the spectrum of the kernel in log(x), 2 / (pi (1 + 4 w^2)).

    Parameters
    ----------
    sample_steps : int, default=2
        Number of samples of the spectrum; a column becomes 2 sample_steps - 1 features.
    sample_interval : float, default=0.7
        Distance between the samples.

    Examples
    --------
    >>> from fbtwsvm.features import AdditiveIntersectionFeatures
    >>> Z = AdditiveIntersectionFeatures(sample_steps=50, sample_interval=0.2).fit_transform([[0.2, 0.8], [0.5, 0.5]])
    >>> (Z @ Z.T).round(1)
    array([[1. , 0.7],
           [0.7, 1. ]])
    """

    kernel = "intersection"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "sample_steps": [Interval(Integral, 1, None, closed="left")],
        "sample_interval": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, *, sample_steps: int = 2, sample_interval: float = 0.7) -> None:
        self.sample_steps = sample_steps
        self.sample_interval = sample_interval

    def fit(self, X: Any, y: Any = None) -> Self:
        """Note the number of columns; nothing else is learned."""
        X = self._check_training_rows(X)
        self._n_features_out = X.shape[1] * (2 * self.sample_steps - 1)
        return self

    def map(self, X: Any) -> Array:
        """Map rows without checking them."""
        dense = X.toarray() if sp.issparse(X) else X
        # Where x = 0 every feature is 0, whatever the logarithm, as long as it is finite.
        logarithm = np.log(np.where(dense > 0, dense, 1.0))
        frequencies, weights = self._spectrum()
        parts = [np.sqrt(dense * weights[0])]
        for frequency, weight in zip(frequencies[1:], weights[1:], strict=True):
            amplitude = np.sqrt(2.0 * dense * weight)
            parts += [amplitude * np.cos(frequency * logarithm), amplitude * np.sin(frequency * logarithm)]
        return np.concatenate(parts, axis=1).astype(X.dtype, copy=False)

    def gradient(self, X: Array, weights: Array) -> Array:
        """Return the gradients of weights_i.z(x) at rows x_i, dense and checked before, a row for each."""
        return additive_gradient(X, weights, self._spectrum()[1], self.sample_interval)

    def _spectrum(self) -> tuple[Array, Array]:
        """Return the sampled frequencies, and the spectrum of the kernel there."""
        frequencies = self.sample_interval * np.arange(self.sample_steps)
        return frequencies, self.sample_interval * 2.0 / (np.pi * (1.0 + 4.0 * frequencies**2))
