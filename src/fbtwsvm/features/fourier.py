"""Random Fourier features."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._arrays import Array
from ._map_loops import RowLoop, WaveLoop
from .base import _DEFAULT_COMPONENTS, FeatureMap
from .gradients import wave_gradient
from .kernels import SKEW, log_skewed


class FourierFeatures(FeatureMap):
    """Random Fourier features: cosines along random directions, with random phases.

    z(x) = sqrt(2 / m) cos(omega_j.x + phase_j) for j = 1..m, with omega_j drawn from the spectrum of the kernel (Rahimi
    and Recht 2007).  As m grows, z(x).z(y) tends to k(x, y) and ||z(x)|| to 1.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "skewed_intersection"}, default="rbf"
        Kernel to approximate, see :mod:`fbtwsvm.features.kernels`.
    gamma : float or "scale", default="scale"
        Parameter of the rbf and laplacian kernels; a larger value gives a narrower kernel.  "scale" is
        1 / (n_features * X.var()), with X.std() for laplacian.
    n_components : int, default=100
        Number of features.
    orthogonal : bool, default=False
        Whether the directions are orthogonal to each other (rbf only), which gives a smaller error for the same number.
    random_state : int, RandomState or None, default=None
        Seed of the random frequencies and phases.
    metric : array of shape (n_features,) or None, default=None
        Factors of the columns in the distance, for the rbf and laplacian kernels: x is multiplied by them.

    Attributes
    ----------
    frequencies_ : ndarray of shape (`n_features_in_`, n_components)
        The frequencies omega_j, multiplied by the metric.
    phases_ : ndarray of shape (n_components,)
        The phases, in [0, 2 pi).
    gamma_ : float
        The value of gamma in use.
    metric_ : ndarray of shape (`n_features_in_`,) or None
        The factors in use.

    Examples
    --------
    >>> import numpy as np
    >>> from fbtwsvm.features import FourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> Z = FourierFeatures(gamma=0.1, n_components=4000, random_state=0).fit_transform(X)
    >>> exact = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=-1))
    >>> bool(np.abs(Z @ Z.T - exact).max() < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions({"rbf", "laplacian", "skewed_intersection"})],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "orthogonal": ["boolean"],
        "random_state": ["random_state"],
        "metric": ["array-like", None],
    }

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        n_components: int = _DEFAULT_COMPONENTS,
        orthogonal: bool = False,
        random_state: Any = None,
        metric: Array | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.orthogonal = orthogonal
        self.random_state = random_state
        self.metric = metric

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the frequencies; X only gives the number of columns and, for gamma="scale", the variance."""
        X = self._check_training_rows(X)
        if self.orthogonal and self.kernel != "rbf":
            raise ValueError(
                f"Orthogonal features exist for kernel='rbf' only, got kernel={self.kernel!r}. Use orthogonal=False."
            )
        random = check_random_state(self.random_state)
        n_features, count = X.shape[1], self.n_components
        if self.orthogonal:
            frequencies = np.sqrt(2.0 * self.gamma_) * _orthogonal_directions(n_features, count, random)
        elif self.kernel == "rbf":
            frequencies = np.sqrt(2.0 * self.gamma_) * random.standard_normal((n_features, count))
        else:
            scale = self.gamma_ if self.kernel == "laplacian" else 0.5
            frequencies = scale * random.standard_cauchy((n_features, count))
        if self.metric_ is not None:  # part of the frequencies, so that mapping rows costs no more
            frequencies = frequencies * self.metric_[:, None]
        self.phases_ = random.uniform(0.0, 2.0 * np.pi, size=count).astype(X.dtype)
        self.frequencies_ = frequencies.astype(X.dtype)
        self._n_features_out = self.n_components
        return self

    def map(self, X: Any) -> Array:
        """Map rows without checking them."""
        if self.kernel == "skewed_intersection":
            X = log_skewed(X)
        waves: Array = np.asarray(X @ self.frequencies_.astype(X.dtype, copy=False))
        waves += self.phases_.astype(X.dtype, copy=False)
        np.cos(waves, out=waves)
        waves *= np.sqrt(2.0 / self.n_components)
        return waves

    def row_loop(self) -> RowLoop | None:
        """Return the compiled loop for a few dense rows; None if there is none for this kernel."""
        return None if self.kernel == "skewed_intersection" else WaveLoop(self.frequencies_, self.phases_)

    def gradient(self, X: Array, weights: Array) -> Array:
        """Return the gradients of weights_i.z(x) at rows x_i, dense and checked before, a row for each."""
        shift = SKEW if self.kernel == "skewed_intersection" else None
        return wave_gradient(X, weights, self.frequencies_, self.phases_, shift)


def _orthogonal_directions(n_features: int, count: int, random: np.random.RandomState) -> Array:
    """Return directions with Gaussian lengths, orthogonal within each block of n_features (Yu et al. 2016)."""
    blocks = []
    for done in range(0, count, n_features):
        q, r = np.linalg.qr(random.standard_normal((n_features, min(n_features, count - done))))
        blocks.append(q * np.sign(np.diag(r)))
    directions = np.concatenate(blocks, axis=1)
    return directions * np.sqrt(random.chisquare(n_features, size=count))
