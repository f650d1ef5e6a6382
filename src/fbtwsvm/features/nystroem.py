"""Nystroem features."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import get_blas_funcs, solve_triangular
from scipy.linalg.lapack import dpstrf, dtrtri
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from .._linalg import lower_factor
from ._map_loops import RbfLoop, RowLoop
from .base import _DEFAULT_COMPONENTS, FeatureMap
from .gradients import scaled_kernel_gradient
from .kernels import KERNELS, Kernel, similarity


class NystroemFeatures(FeatureMap):
    """Nystroem features: similarities to m landmark rows, normalised.

    z(x) = L^-1 k(landmarks, x) with L L' = k(landmarks, landmarks), so that z(x).z(y) = k(x, y) whenever x or y is a
    landmark.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        Name of a kernel, see :mod:`fbtwsvm.features.kernels`, or a function k(X, Y) that returns the kernel matrix.
    gamma : float or "scale", default="scale"
        Parameter of the rbf and laplacian kernels; a larger value gives a narrower kernel.  "scale" is
        1 / (n_features * X.var()), with X.std() for laplacian.
    n_components : int or "auto", default="auto"
        Number of landmarks, at most the number of rows; "auto" is 100, or all rows when there are fewer.
    landmarks : {"random", "kmeans", "leverage"}, default="random"
        How landmarks are chosen: rows drawn at random, cluster centres, or rows drawn by approximate ridge leverage
        scores, which are high where a random sample approximates a row badly.
    random_state : int, RandomState or None, default=None
        Seed of the choice of landmarks.
    metric : array of shape (n_features,) or None, default=None
        Factors of the columns in the distance, for the rbf and laplacian kernels: x is multiplied by them.

    Attributes
    ----------
    landmarks_ : array of shape (n_components, `n_features_in_`)
        The landmarks.
    landmark_indices_ : ndarray of shape (n_components,) or None
        Indices of the landmarks in the training rows; None for "kmeans".
    normalisation_ : ndarray of shape (n_components, n_components)
        The matrix L^-T.
    gamma_ : float
        The value of gamma in use.
    metric_ : ndarray of shape (`n_features_in_`,) or None
        The factors in use.

    Examples
    --------
    >>> import numpy as np
    >>> from fbtwsvm.features import NystroemFeatures
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> Z = NystroemFeatures(gamma=0.1, n_components=100, random_state=0).fit_transform(X)
    >>> exact = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=-1))
    >>> bool(np.abs(Z @ Z.T - exact).max() < 0.05)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "n_components": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "landmarks": [StrOptions({"random", "kmeans", "leverage"})],
        "random_state": ["random_state"],
        "metric": ["array-like", None],
    }

    def __init__(
        self,
        *,
        kernel: str | Kernel = "rbf",
        gamma: float | str = "scale",
        n_components: int | str = "auto",
        landmarks: str = "random",
        random_state: Any = None,
        metric: Array | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state
        self.metric = metric

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the landmarks and factor their kernel matrix."""
        X = self._check_training_rows(X)
        n = X.shape[0]
        count = min(_DEFAULT_COMPONENTS, n) if self.n_components == "auto" else int(self.n_components)
        check_landmarks(count, n)
        random = check_random_state(self.random_state)
        kernel = similarity(self.kernel, self.gamma_, self.metric_)
        self.landmark_indices_ = None
        if self.landmarks == "kmeans":
            self.landmarks_ = _cluster_centres(X, count, random)
        else:
            if self.landmarks == "random":
                chosen = random.choice(n, count, replace=False)
            else:
                chosen = _leverage_choice(X, count, kernel, random)
            self.landmark_indices_ = np.sort(chosen)
            self.landmarks_ = X[self.landmark_indices_]
        self._normalise(X.dtype)
        return self

    def _normalise(self, dtype: np.dtype) -> None:
        """Put the landmarks in order, and compute the normalisation from them.

        It is triangular, so the first m features are those of a map with the first m landmarks.  In the order of a
        pivoted Cholesky factorisation, these are good ones for every m: each is the one that those before it explain
        least.
        """
        precise = self.landmarks_.astype(np.float64)
        between = np.asarray(similarity(self.kernel, self.gamma_, self.metric_)(precise, precise), dtype=np.float64)
        order = _pivot_order(between)
        self.landmarks_, between = self.landmarks_[order], between[np.ix_(order, order)]
        if self.landmark_indices_ is not None:
            self.landmark_indices_ = self.landmark_indices_[order]
        # Similarities in float32 have rounding errors: directions smaller than these carry no information.
        factor = _jittered_factor(between, 1e-7 if dtype == np.float32 else 1e-11)
        inverse, _ = dtrtri(factor, lower=True)
        self.normalisation_ = np.ascontiguousarray(inverse.T, dtype=dtype)
        self._n_features_out = len(factor)

    def with_landmarks(self, landmarks: Any, *, gamma: float | None = None, metric: Array | None = None) -> Self:
        """Return a fitted copy of this map with other landmarks.

        Parameters
        ----------
        landmarks : {ndarray, sparse matrix} of shape (n_components, `n_features_in_`)
            The new landmarks.
        gamma : float or None, default=None
            Another gamma; None leaves gamma and metric as they are.
        metric : array of shape (`n_features_in_`,) or None, default=None
            The factors of the columns to go with another gamma.

        Returns
        -------
        NystroemFeatures
            The new map; this one does not change.
        """
        check_is_fitted(self)
        other = copy(self)
        if gamma is not None:
            other.gamma = other.gamma_ = gamma
            other.metric = other.metric_ = metric
        other.landmarks_ = landmarks
        other.landmark_indices_ = None
        other._normalise(self.normalisation_.dtype)
        return other

    def map(self, X: Any) -> Array:
        """Map rows without checking them."""
        landmarks = self.landmarks_.astype(X.dtype, copy=False)
        similarities = similarity(self.kernel, self.gamma_, self.metric_)(X, landmarks)
        columns = np.ascontiguousarray(similarities, dtype=X.dtype).T  # for BLAS, which stores matrices by column
        # L^-T is triangular, which halves the work.  The matrix that a user's kernel returned must not be overwritten.
        multiply = get_blas_funcs("trmm", (columns,))
        inverse = self.normalisation_.astype(X.dtype, copy=False).T
        mapped: Array = multiply(1.0, inverse, columns, lower=True, overwrite_b=not callable(self.kernel)).T
        return mapped

    def row_loop(self) -> RowLoop | None:
        """Return the compiled loop for a few dense rows; None if there is none for this kernel."""
        if self.kernel != "rbf" or sp.issparse(self.landmarks_):
            return None
        return RbfLoop(self.landmarks_, self.metric_, self.gamma_, self.normalisation_)

    def gradient(self, X: Array, weights: Array) -> Array:
        """Return the gradients of weights_i.z(x) at rows x_i, dense and checked before, a row for each."""
        landmarks = self.landmarks_.astype(X.dtype, copy=False)
        return scaled_kernel_gradient(self, landmarks, X, weights @ self.normalisation_.T)


def check_landmarks(count: int, n: int, note: str = "") -> None:
    """Refuse more landmarks than rows; `note` says how they were counted."""
    if count > n:
        raise ValueError(
            f"n_components={count} is more than the {n} rows that landmarks can be chosen from{note}: "
            f"use at most {n}, or Fourier features."
        )


def _pivot_order(between: Array) -> Array:
    """Return the order in which a pivoted Cholesky factorisation takes the rows of a kernel matrix.

    Rounded, so that rounding errors do not decide between landmarks that are equally good.
    """
    _, pivots, _, _ = dpstrf(np.round(between, 9), lower=1)
    return np.asarray(pivots) - 1


def _jittered_factor(between: Array, jitter: float) -> Array:
    """Return the Cholesky factor of the kernel matrix of landmarks, with more jitter if close landmarks need it."""
    matrix = np.asarray(between, dtype=np.float64)
    smallest = jitter * (float(np.trace(matrix)) or 1.0)
    return lower_factor(
        matrix,
        "The kernel matrix of the landmarks is not positive semi-definite: this kernel has no feature map.",
        ridges=(smallest, 1e2 * smallest, 1e4 * smallest),
    )


def _cluster_centres(X: Any, count: int, random: np.random.RandomState) -> Array:
    """Return cluster centres, from at most 20 rows for each centre."""
    from sklearn.cluster import MiniBatchKMeans  # slow to import, and rarely used

    rows = X[random.choice(X.shape[0], min(X.shape[0], 20 * count), replace=False)]
    clusters = MiniBatchKMeans(count, batch_size=max(1024, 2 * count), n_init=1, max_iter=20, random_state=random)
    centres: Array = clusters.fit(rows).cluster_centers_
    return centres


def _leverage_choice(X: Any, count: int, kernel: Kernel, random: np.random.RandomState) -> Array:
    """Draw rows by approximate ridge leverage scores.

    With a uniform sample S of `count` rows, l_i = k_ii - k_iS (K_SS + r I)^-1 k_Si + r is large where S approximates
    row i badly.  Rows are drawn from a pool of at most 8 rows for each landmark.
    """
    pool = random.choice(X.shape[0], min(X.shape[0], 8 * count), replace=False)
    sample = X[random.choice(pool, min(len(pool), count), replace=False)]
    between = np.asarray(kernel(sample, sample), dtype=np.float64)
    ridge = (0.01 * np.trace(between) / len(between)) or 1.0
    factor = _jittered_factor(between + ridge * np.eye(len(between)), 1e-12)
    similarities = np.asarray(kernel(X[pool], sample), dtype=np.float64)
    explained = solve_triangular(factor, similarities.T, lower=True)
    own = np.concatenate([np.diag(kernel(X[part], X[part])) for part in np.array_split(pool, -(-len(pool) // 256))])
    score = np.maximum(own - np.einsum("ij,ij->j", explained, explained), 0.0) + ridge
    return random.choice(pool, count, replace=False, p=score / score.sum())
