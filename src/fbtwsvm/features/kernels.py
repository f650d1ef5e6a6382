"""Kernel functions k(X, Y), and the value of gamma="scale".

| name                | k(x, y)                                                     | input      |
|---------------------|-------------------------------------------------------------|------------|
| linear              | x.y                                                         | any        |
| rbf                 | exp(-gamma ||x - y||_2^2)                                   | any        |
| laplacian           | exp(-gamma ||x - y||_1)                                     | any        |
| chi2                | sum 2 x_j y_j / (x_j + y_j)                                 | x >= 0     |
| intersection        | sum min(x_j, y_j)                                           | x >= 0     |
| skewed_chi2         | prod 2 sqrt(x_j + 1) sqrt(y_j + 1) / (x_j + y_j + 2)        | x > -1     |
| skewed_intersection | prod sqrt(min((x_j + 1) / (y_j + 1), (y_j + 1) / (x_j + 1)))| x > -1     |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from .._arrays import Array

Kernel = Callable[[Any, Any], Array]

KERNELS = ("rbf", "linear", "laplacian", "chi2", "intersection", "skewed_chi2", "skewed_intersection")
USES_GAMMA = ("rbf", "laplacian")
_TILE = 4096
_STRIP = 64
_MOST_DENSE = 2**26  # numbers of sparse rows that are made dense
_MOST_IN_METRIC = 2**17  # rows that are multiplied by a metric at once
_MOST_ROUNDING = 1e-3  # largest rounding error of gamma ||x - y||^2
_LARGEST_FACTOR = 1e12  # of a metric: its squares stay finite, also in float32
SKEW = 1.0  # the c of the skewed kernels, as in scikit-learn's SkewedChi2Sampler


def scaled(X: Any, metric: Array | None) -> Any:
    """Return rows with their columns multiplied by a metric; None leaves them as they are."""
    if metric is None:
        return X
    factors = np.asarray(metric, dtype=X.dtype)
    return X.multiply(factors).tocsr() if sp.issparse(X) else X * factors


def similarity(kernel: str | Kernel, gamma: float, metric: Array | None = None) -> Kernel:
    """Return the function k(X, Y) of a kernel that is given by name or as a function, in a metric of columns."""
    if metric is not None:
        plain = similarity(kernel, gamma)
        return lambda X, Y: plain(scaled(X, metric), scaled(Y, metric))
    if callable(kernel):
        return lambda X, Y: _checked(kernel, X, Y)
    named: dict[str, Kernel] = {
        "linear": lambda X, Y: np.asarray(safe_sparse_dot(X, Y.T, dense_output=True)),
        "rbf": lambda X, Y: _rbf(X, Y, gamma),
        "laplacian": lambda X, Y: np.exp(-gamma * _manhattan(X, Y)),
        "chi2": _chi2,
        "intersection": _intersection,
        "skewed_chi2": _skewed_chi2,
        "skewed_intersection": lambda X, Y: np.exp(-0.5 * _manhattan(log_skewed(X), log_skewed(Y))),
    }
    return named[kernel]


def _checked(kernel: Kernel, X: Any, Y: Any) -> Array:
    """Call a kernel function of the user, and check its result."""
    result: Any = kernel(X, Y)
    matrix: Array = result.toarray() if sp.issparse(result) else np.asarray(result)
    if matrix.shape != (X.shape[0], Y.shape[0]):
        raise ValueError(
            f"The kernel function returned shape {matrix.shape} for {X.shape[0]} and {Y.shape[0]} rows: it must return "
            "the similarities of all rows of its first argument to all rows of its second."
        )
    if not np.isfinite(matrix).all():
        raise ValueError("The kernel function returned NaN or infinity.")
    return matrix


def is_normalised(kernel: str | Kernel) -> bool:
    """Whether k(x, x) = 1 for every x."""
    return kernel in ("rbf", "laplacian", "skewed_chi2", "skewed_intersection")


def check_domain(kernel: str | Kernel, X: Any) -> None:
    """Refuse values for which the kernel is not defined."""
    if kernel not in ("chi2", "intersection", "skewed_chi2", "skewed_intersection"):
        return
    smallest = X.min() if X.shape[0] else 0.0
    if kernel in ("chi2", "intersection") and smallest < 0:
        raise ValueError(
            f"Negative values in data passed to kernel={kernel!r}: it is made for histograms and needs X >= 0 "
            f"(smallest value: {smallest}). Shift the data, or use kernel='rbf'."
        )
    if kernel in ("skewed_chi2", "skewed_intersection") and smallest <= -SKEW:
        raise ValueError(
            f"kernel={kernel!r} needs X > {-SKEW} (smallest value: {smallest}). Shift the data, or use kernel='rbf'."
        )


def check_metric(metric: Any, kernel: str | Kernel, n_columns: int) -> Array:
    """Return a metric as an array, or refuse it."""
    if kernel not in USES_GAMMA:
        raise ValueError(f"metric exists for kernel='rbf' and 'laplacian', got kernel={kernel!r}: leave it out.")
    try:
        given = np.asarray(metric)
    except ValueError as error:
        raise ValueError(f"metric={metric!r}: give a number for each column.") from error
    if given.dtype.kind not in "iufb":
        raise ValueError(f"metric={metric!r}: give a number for each column.")
    if given.shape != (n_columns,):
        raise ValueError(f"metric has the shape {given.shape}; X has {n_columns} columns: give a number for each.")
    factors = np.array(given, dtype=np.float64)
    if not ((factors == 0) | ((factors >= 1.0 / _LARGEST_FACTOR) & (factors <= _LARGEST_FACTOR))).all():
        raise ValueError(f"metric must hold zeros and numbers from {1.0 / _LARGEST_FACTOR:g} to {_LARGEST_FACTOR:g}.")
    if not factors.any():
        raise ValueError("metric holds only zeros: at least one column must count.")
    return factors


def gamma_scale(
    X: Any, kernel: str | Kernel = "rbf", weights: Array | None = None, metric: Array | None = None
) -> float:
    """Return 1 / (n_features * X.var()), with X.std() for the laplacian kernel; 1 / n_features if X is constant.

    In a metric, the variance is the mean of those of the multiplied columns: the mean of a column does not count.
    """
    if metric is not None:
        return _scale_in_metric(X, kernel, weights, metric)
    if weights is None:
        weights = np.ones(X.shape[0])
    share = weights / (weights.sum() * X.shape[1])
    tiles = _row_tiles(X)
    mean = sum(float(share[t] @ np.asarray(X[t].sum(axis=1, dtype=np.float64)).reshape(-1)) for t in tiles)
    if sp.issparse(X):
        variance = float((share @ X.multiply(X)).sum()) - mean**2
        rounding = 1e-13 * mean**2
    else:
        variance = sum(float(share[t] @ ((X[t] - mean) ** 2).sum(axis=1)) for t in tiles)
        rounding = (4.0 * float(np.finfo(X.dtype).eps) * mean) ** 2
    if variance <= rounding:  # constant data, up to rounding
        return float(1.0 / X.shape[1])
    spread = np.sqrt(variance) if kernel == "laplacian" else variance
    return float(1.0 / (X.shape[1] * spread))


def _scale_in_metric(X: Any, kernel: str | Kernel, weights: Array | None, metric: Array) -> float:
    """Return `gamma_scale` of rows in a metric; of very many rows, of some that are evenly spaced."""
    some = slice(None, None, -(-X.shape[0] // _MOST_IN_METRIC))
    variances = column_variances(X[some], np.ones(X.shape[0])[some] if weights is None else weights[some])
    variance = float(np.mean(np.square(metric) * variances))
    if variance <= 0.0:
        return float(1.0 / X.shape[1])
    return float(1.0 / (X.shape[1] * (np.sqrt(variance) if kernel == "laplacian" else variance)))


def column_variances(X: Any, weights: Array) -> Array:
    """Return the weighted variances of the columns, in float64; those of constant columns are zero."""
    share = weights / weights.sum()
    if sp.issparse(X):
        precise = X.astype(np.float64)
        squares, mean = np.asarray(share @ precise.multiply(precise)).reshape(-1), np.asarray(share @ precise)
        variances: Array = squares - np.square(mean)
        return np.where(variances > 1e-13 * np.square(mean), variances, 0.0)
    first = X[0].astype(np.float64)  # differences from any row are precise where the columns are far from zero
    mean = sum((share[t] @ (X[t] - first) for t in _row_tiles(X)), np.zeros(X.shape[1]))
    centre = first + mean
    return sum((share[t] @ np.square(X[t] - centre) for t in _row_tiles(X)), np.zeros(X.shape[1]))


def _row_tiles(X: Any) -> list[slice]:
    return [slice(i, i + _TILE) for i in range(0, X.shape[0], _TILE)]


def _rbf(X: Any, Y: Any, gamma: float) -> Array:
    """Return exp(-gamma ||x - y||^2) in the precision of X, with one matrix product and no copy of the result.

    The mean of Y is subtracted from dense rows: it does not change the kernel, but reduces rounding errors in float32.
    If a row of Y is so far out that they would still be too large, distances are computed from differences.
    """
    given = X, Y
    if not sp.issparse(X) and not sp.issparse(Y):
        centre = Y.mean(axis=0)
        X, Y = X - centre, Y - centre
    right = gamma * row_norms(Y, squared=True)
    small = not sp.issparse(X) or X.shape[0] * X.shape[1] <= _MOST_DENSE
    if small and np.finfo(right.dtype).eps * right.max(initial=0.0) > _MOST_ROUNDING:
        return _rbf_of_differences(*given, gamma)
    out: Array = np.asarray(safe_sparse_dot(X, Y.T, dense_output=True))
    left = gamma * row_norms(X, squared=True)[:, None]
    for start in range(0, len(out), _STRIP):  # few rows at a time, which stay in the cache
        strip = out[start : start + _STRIP]
        strip *= 2.0 * gamma
        strip -= left[start : start + _STRIP]
        strip -= right
        np.minimum(strip, 0.0, out=strip)
        np.exp(strip, out=strip)
    return out


def _rbf_of_differences(X: Any, Y: Any, gamma: float) -> Array:
    """Return exp(-gamma ||x - y||^2) without cancellation, which takes several times as long."""
    left, right = (Z.toarray() if sp.issparse(Z) else Z for Z in (X, Y))
    similarities: Array = np.exp(-gamma * cdist(left, right, "sqeuclidean"))
    return similarities.astype(left.dtype, copy=False)


def log_skewed(X: Any) -> Array:
    """Return log(x + 1); the skewed kernels depend on differences of these."""
    dense = X.toarray() if sp.issparse(X) else X
    return np.asarray(np.log(dense + SKEW))


def _manhattan(X: Any, Y: Any) -> Array:
    """Return sum |x - y|."""
    from sklearn.metrics.pairwise import manhattan_distances  # slow to import

    return np.asarray(manhattan_distances(X, Y))


def _sums(X: Any) -> Array:
    return np.asarray(X.sum(axis=1)).reshape(-1)


def _chi2(X: Any, Y: Any) -> Array:
    """Return sum 2xy / (x + y) = sum ((x + y) - (x - y)^2 / (x + y)) / 2; scikit-learn computes the second part."""
    from sklearn.metrics.pairwise import additive_chi2_kernel  # slow to import

    X, Y = (Z.toarray() if sp.issparse(Z) else Z for Z in (X, Y))
    return np.asarray(0.5 * (_sums(X)[:, None] + _sums(Y) + additive_chi2_kernel(X, Y)))


def _intersection(X: Any, Y: Any) -> Array:
    """Return sum min(x, y) = sum ((x + y) - |x - y|) / 2."""
    return np.asarray(0.5 * (_sums(X)[:, None] + _sums(Y) - _manhattan(X, Y)))


def _skewed_chi2(X: Any, Y: Any) -> Array:
    """Return the product over columns of sech((log(x + c) - log(y + c)) / 2)."""
    left, right = log_skewed(X), log_skewed(Y)
    total = np.zeros((len(left), len(right)), dtype=left.dtype)
    for j in range(left.shape[1]):
        half = 0.5 * np.abs(left[:, j, None] - right[:, j])
        total += half + np.log1p(np.exp(-2.0 * half)) - np.log(2.0)  # log cosh without overflow
    return np.exp(-total)
