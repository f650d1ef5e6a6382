"""Feature maps z(x) with z(x).z(y) close to k(x, y): each a transformer that can be used alone."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, get_blas_funcs, solve_triangular
from scipy.linalg.lapack import dtrtri
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from .kernels import Array
from .similarity import KERNELS, Kernel, check_domain, gamma_scale, log_skewed, similarity

_DEFAULT_COMPONENTS = 100


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Shared contract of the maps: validation, gamma, tags."""

    def map(self, X: Any) -> Array:
        """Map rows that have been checked."""
        raise NotImplementedError

    def _start(self, X: Any) -> Any:
        """Validate parameters and training rows, resolve gamma."""
        self._validate_params()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_domain(self.kernel, X)
        if hasattr(self, "gamma"):
            self.gamma_ = gamma_scale(X, self.kernel) if self.gamma == "scale" else float(self.gamma)
        return X

    def _rows(self, X: Any) -> Any:
        """Validate rows to be mapped."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        check_domain(self.kernel, X)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.kernel in ("chi2", "intersection")
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class FourierFeatures(FeatureMap):
    """Random Fourier features: cosines along random directions, with random phases.

    z(x) = sqrt(2 / m) cos(omega_j.x + phase_j) for j = 1..m, the omega_j drawn from the kernel's spectrum (Rahimi
    and Recht 2007); z(x).z(y) tends to k(x, y) as m grows, and ||z(x)|| to 1.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "skewed_intersection"}, default="rbf"
        Kernel to approximate (see :mod:`fbtwsvm.similarity`).
    gamma : float or "scale", default="scale"
        Width of the rbf and laplacian kernels; "scale" is 1 / (n_features * X.var()), with X.std() for laplacian.
    n_components : int, default=100
        Number of features.
    orthogonal : bool, default=False
        Draw the directions orthogonal to each other (rbf only): a smaller error for the same number.
    random_state : int, RandomState or None, default=None
        Seed of the frequencies.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features_in_, n_components)
        The omega_j.
    phases_ : ndarray of shape (n_components,)
        In [0, 2 pi).
    gamma_ : float
        The width in use.

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
    }

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        n_components: int = _DEFAULT_COMPONENTS,
        orthogonal: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.orthogonal = orthogonal
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the frequencies; of X only the number of columns and, for "scale", the variance count."""
        X = self._start(X)
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
            width = self.gamma_ if self.kernel == "laplacian" else 0.5
            frequencies = width * random.standard_cauchy((n_features, count))
        self.phases_ = random.uniform(0.0, 2.0 * np.pi, size=count).astype(X.dtype)
        self.frequencies_ = frequencies.astype(X.dtype)
        self._n_features_out = self.n_components
        return self

    def transform(self, X: Any) -> Array:
        """Map rows; float32 in, float32 out."""
        return self.map(self._rows(X))

    def map(self, X: Any) -> Array:
        """Map rows that have been checked."""
        if self.kernel == "skewed_intersection":
            X = log_skewed(X)
        waves: Array = safe_sparse_dot(X, self.frequencies_.astype(X.dtype, copy=False), dense_output=True)
        waves += self.phases_.astype(X.dtype, copy=False)
        np.cos(waves, out=waves)
        waves *= np.sqrt(2.0 / self.n_components)
        return waves


def _orthogonal_directions(n_features: int, count: int, random: np.random.RandomState) -> Array:
    """Gaussian-length directions, orthogonal within each block of n_features (Yu et al. 2016)."""
    blocks = []
    for done in range(0, count, n_features):
        q, r = np.linalg.qr(random.standard_normal((n_features, min(n_features, count - done))))
        blocks.append(q * np.sign(np.diag(r)))
    directions = np.concatenate(blocks, axis=1)
    return directions * np.sqrt(random.chisquare(n_features, size=count))


class NystroemFeatures(FeatureMap):
    """Nystroem features: a row seen from m landmark rows.

    z(x) = L^-1 k(landmarks, x) with L L' = k(landmarks, landmarks), so that z(x).z(y) = k(x, y) whenever one of
    them is a landmark.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A name from :mod:`fbtwsvm.similarity`, or a function k(X, Y) that returns the matrix.
    gamma : float or "scale", default="scale"
        Width of the rbf and laplacian kernels.
    n_components : int or "auto", default="auto"
        Number of landmarks, at most the number of rows; "auto" is 100, or all rows when there are fewer.
    landmarks : {"random", "kmeans", "leverage"}, default="random"
        Rows drawn at random, cluster centres, or rows drawn by how badly a random sample explains them
        (approximate ridge leverage scores).
    random_state : int, RandomState or None, default=None
        Seed of the choice.

    Attributes
    ----------
    landmarks_ : array of shape (n_components, n_features_in_)
        The landmarks.
    landmark_indices_ : ndarray of shape (n_components,) or None
        Rows of the training data that became landmarks; None for "kmeans".
    normalisation_ : ndarray of shape (n_components, n_components)
        L^-T.
    gamma_ : float
        The width in use.

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
    }

    def __init__(
        self,
        *,
        kernel: str | Kernel = "rbf",
        gamma: float | str = "scale",
        n_components: int | str = "auto",
        landmarks: str = "random",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the landmarks and factorise their kernel matrix."""
        X = self._start(X)
        n = X.shape[0]
        count = min(_DEFAULT_COMPONENTS, n) if self.n_components == "auto" else int(self.n_components)
        check_landmarks(count, n)
        random = check_random_state(self.random_state)
        kernel = similarity(self.kernel, self.gamma_)
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
        """Find the normalisation of the landmarks."""
        precise = self.landmarks_.astype(np.float64)
        between = similarity(self.kernel, self.gamma_)(precise, precise)
        # Rows seen in float32 carry its rounding: directions smaller than that mean nothing.
        factor = _jittered_factor(between, 1e-7 if dtype == np.float32 else 1e-11)
        inverse, _ = dtrtri(factor, lower=True)
        self.normalisation_ = np.ascontiguousarray(inverse.T, dtype=dtype)
        self._n_features_out = len(factor)

    def with_landmarks(self, landmarks: Any) -> Self:
        """Return a fitted copy of this map with other landmarks.

        Parameters
        ----------
        landmarks : {ndarray, sparse matrix} of shape (n_components, n_features_in_)
            The rows to use.

        Returns
        -------
        NystroemFeatures
            The new map; this one is left as it is.
        """
        check_is_fitted(self)
        twin = copy(self)
        twin.landmarks_, twin.landmark_indices_ = landmarks, None
        twin._normalise(self.normalisation_.dtype)
        return twin

    def transform(self, X: Any) -> Array:
        """Map rows; float32 in, float32 out."""
        return self.map(self._rows(X))

    def map(self, X: Any) -> Array:
        """Map rows that have been checked."""
        seen = similarity(self.kernel, self.gamma_)(X, self.landmarks_.astype(X.dtype, copy=False))
        columns = np.ascontiguousarray(seen, dtype=X.dtype).T  # as BLAS sees rows in C order
        # L^-T is triangular, which halves the work; what a user's kernel returned is not ours to write on.
        multiply = get_blas_funcs("trmm", (columns,))
        inverse = self.normalisation_.astype(X.dtype, copy=False).T
        mapped: Array = multiply(1.0, inverse, columns, lower=True, overwrite_b=not callable(self.kernel)).T
        return mapped


def check_landmarks(count: int, n: int) -> None:
    """Refuse more landmarks than rows."""
    if count > n:
        raise ValueError(
            f"n_components={count} is more than the {n} distinct rows that landmarks can be chosen from: "
            f"use at most {n}, or Fourier features."
        )


def _jittered_factor(between: Array, jitter: float) -> Array:
    """Cholesky factor of a kernel matrix of landmarks; close ones make it singular, so the jitter grows if it must."""
    matrix = np.asarray(between, dtype=np.float64)
    trace = float(np.trace(matrix)) or 1.0
    for growth in (1.0, 1e2, 1e4):
        try:
            ridged = matrix + growth * jitter * trace * np.eye(len(matrix))
            factor: Array = cholesky(ridged, lower=True, check_finite=False)
        except LinAlgError:
            continue
        return factor
    raise ValueError(
        "The kernel matrix of the landmarks is not positive semi-definite: this kernel cannot have a feature map."
    )


def _cluster_centres(X: Any, count: int, random: np.random.RandomState) -> Array:
    """Cluster centres of at most 20 rows per centre."""
    from sklearn.cluster import MiniBatchKMeans  # slow to import, and seldom wanted

    rows = X[random.choice(X.shape[0], min(X.shape[0], 20 * count), replace=False)]
    clusters = MiniBatchKMeans(count, batch_size=max(1024, 2 * count), n_init=1, max_iter=20, random_state=random)
    centres: Array = clusters.fit(rows).cluster_centers_
    return centres


def _leverage_choice(X: Any, count: int, kernel: Kernel, random: np.random.RandomState) -> Array:
    """Draw rows by approximate ridge leverage scores.

    With a uniform sample S of `count` rows, l_i = k_ii - k_iS (K_SS + r I)^-1 k_Si + r is large where S is blind.
    Scores are taken on a pool of at most 8 rows per landmark.
    """
    pool = random.choice(X.shape[0], min(X.shape[0], 8 * count), replace=False)
    sample = X[random.choice(pool, min(len(pool), count), replace=False)]
    between = np.asarray(kernel(sample, sample), dtype=np.float64)
    ridge = (0.01 * np.trace(between) / len(between)) or 1.0
    factor = _jittered_factor(between + ridge * np.eye(len(between)), 1e-12)
    seen = np.asarray(kernel(X[pool], sample), dtype=np.float64)
    explained = solve_triangular(factor, seen.T, lower=True)
    own = np.concatenate([np.diag(kernel(X[part], X[part])) for part in np.array_split(pool, -(-len(pool) // 256))])
    score = np.maximum(own - np.einsum("ij,ij->j", explained, explained), 0.0) + ridge
    return random.choice(pool, count, replace=False, p=score / score.sum())


class ExactKernel(FeatureMap):
    """The kernel itself: a row becomes its similarities to all training rows.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A name from :mod:`fbtwsvm.similarity`, or a function k(X, Y) that returns the matrix.
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


class AdditiveIntersectionFeatures(FeatureMap):
    """Explicit features of the intersection kernel sum min(x_j, y_j), column by column.

    The counterpart of scikit-learn's `AdditiveChi2Sampler` (Vedaldi and Zisserman 2012): per column
    sqrt(x) times a sampled spectrum of the kernel in log(x), 2 / (pi (1 + 4 w^2)).

    Parameters
    ----------
    sample_steps : int, default=2
        Spectrum samples; a column becomes 2 sample_steps - 1 features.
    sample_interval : float, default=0.7
        Distance of the samples.

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
        """Nothing is learned beyond the number of columns."""
        X = self._start(X)
        self._n_features_out = X.shape[1] * (2 * self.sample_steps - 1)
        return self

    def transform(self, X: Any) -> Array:
        """Map rows; float32 in, float32 out."""
        return self.map(self._rows(X))

    def map(self, X: Any) -> Array:
        """Map rows that have been checked."""
        dense = X.toarray() if sp.issparse(X) else X
        # Where x = 0 every feature is 0; the logarithm there may be anything finite.
        logarithm = np.log(np.where(dense > 0, dense, 1.0))
        frequencies = self.sample_interval * np.arange(self.sample_steps)
        weights = self.sample_interval * 2.0 / (np.pi * (1.0 + 4.0 * frequencies**2))
        parts = [np.sqrt(dense * weights[0])]
        for frequency, weight in zip(frequencies[1:], weights[1:], strict=True):
            amplitude = np.sqrt(2.0 * dense * weight)
            parts += [amplitude * np.cos(frequency * logarithm), amplitude * np.sin(frequency * logarithm)]
        return np.concatenate(parts, axis=1).astype(X.dtype, copy=False)
