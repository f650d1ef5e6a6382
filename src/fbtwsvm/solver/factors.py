"""Gram matrices and their factors: G = reg I + sum w_i h_i h_i' of a class, and square roots of G^-1."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtri

from .._arrays import Array, tiles
from .._linalg import lower_factor

_TILE = 8192  # rows per float32 product; the products are added up in float64
_LARGE = 1e4  # numbers beyond which products are computed in float64; weights of fading streams stay below


def weighted(rows: Array, weights: Array) -> Array:
    """Return sqrt(w_i) h_i for each row, or `rows` itself if every weight is one."""
    if np.all(weights == 1.0):
        return rows
    scaled: Array = rows * np.sqrt(weights).astype(rows.dtype)[:, None]
    return scaled


def gram_matrix(rows: Array, weights: Array) -> Array:
    """Return the sum of w_i h_i h_i' in float64, from products in the precision of the rows."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    add_gram(total, rows, weights)
    return total


def add_gram(total: Array, rows: Array, weights: Array) -> None:
    """Add w_i h_i h_i' of rows to a sum.

    Products of very large numbers are computed in float64: in float32 their rounding errors may exceed the ridge.
    """
    for part in tiles(0, len(rows), _TILE):
        tile = weighted(rows[part], weights[part])
        if tile.dtype != np.float64 and np.abs(tile).max(initial=0.0) > _LARGE:
            tile = weighted(rows[part].astype(np.float64), weights[part])
        total += tile.T @ tile  # NumPy recognises the transpose and calls SYRK


def gram_factor(gram: Array, reg: float, dtype: np.dtype) -> Array:
    """Return the Cholesky factor of G = gram + reg I."""
    return lower_factor(gram, _indefinite(reg, dtype), ridges=(reg,))


def _indefinite(reg: float, dtype: np.dtype) -> str:
    """Return the message for a Gram matrix that has no factor."""
    return (
        f"The Gram matrix of a class is not positive definite: reg={reg:g} is below the rounding error of {dtype}. "
        "Raise reg, or pass float64."
    )


def stream_gram_factor(gram: Array, reg: float, dtype: np.dtype) -> Array:
    """Return the same for the sums of a stream, which must not end because of their rounding errors.

    Errors of large sums, also of rows that have left them, may exceed the ridge and make G indefinite.  They are then
    added to the ridge: what is smaller is not known of G.
    """
    try:
        return gram_factor(gram, reg, dtype)
    except ValueError:
        if not np.isfinite(gram).all():
            raise
    rounding = 8.0 * float(np.finfo(np.float64).eps) * float(np.trace(gram))
    smallest = float(np.linalg.eigvalsh(gram)[0])
    return gram_factor(gram, reg + rounding + 1.01 * max(0.0, -smallest), dtype)


def kernel_factor(system: Array) -> Array:
    """Return the Cholesky factor of a kernel matrix plus its ridge; overwrites `system`."""
    return lower_factor(
        system,
        "The kernel matrix is not positive semi-definite. A kernel function of your own must be symmetric and have no "
        "negative eigenvalues. If the matrix is only nearly singular, raise reg.",
    )


class Whitener:
    """The Cholesky factor L of G = gram + reg I, in the precision of the rows.

    It turns a row h into zeta = L^-1 h, and a sum of alpha_i zeta_i into the plane u.  Overwrites `gram`.
    """

    def __init__(self, gram: Array, reg: float, dtype: np.dtype) -> None:
        self.signs = np.empty(0, dtype=dtype)
        gram[np.diag_indices_from(gram)] += reg
        self.factor = lower_factor(gram, _indefinite(reg, dtype)).astype(dtype)

    def rows(self, rows: Array) -> Array:
        """Return zeta_i = L^-1 h_i for each row, contiguous; `rows` may be overwritten."""
        solved = solve_triangular(self.factor, rows.T, lower=True, overwrite_b=True, check_finite=False)
        return np.ascontiguousarray(solved.T)

    def planes(self, dual_sums: Array) -> Array:
        """Return u = -L^-T p for each row p = sum alpha_i zeta_i."""
        solved = solve_triangular(self.factor, dual_sums.T, lower=True, trans="T", check_finite=False)
        return np.ascontiguousarray(-solved.T)

    def near(self, whitened: Array, own: Array, chosen: Array) -> tuple[Array, Array]:
        """Return products zeta_j.zeta_i of whitened rows with near rows `own`, and w_i zeta_i.zeta_i of these."""
        return near_products(self, whitened, own)


class LowRankRoot:
    """A factor of G^-1 = (I - T'T) / reg, with few rows T: "whitened" is [h, T h].

    Products of such rows use `signs`: 1 / reg for the first part, -1 / reg for the second.
    """

    def __init__(self, explained: Array, reg: float) -> None:
        self.explained = explained
        sizes = (explained.shape[1], len(explained))
        self.signs = np.repeat(np.array([1.0, -1.0]) / reg, sizes).astype(explained.dtype)

    def rows(self, rows: Array) -> Array:
        """Return [h_i, T h_i] for each row."""
        n_columns = rows.shape[1]
        out = np.empty((len(rows), len(self.signs)), dtype=rows.dtype)
        out[:, :n_columns] = rows
        np.matmul(rows, self.explained.T, out=out[:, n_columns:])
        return out

    def planes(self, dual_sums: Array) -> Array:
        """Return u = -G^-1 sum alpha_i h_i for each row sum alpha_i [h_i, T h_i]."""
        n_columns = self.explained.shape[1]
        planes: Array = (dual_sums[:, n_columns:] @ self.explained - dual_sums[:, :n_columns]) * self.signs[0]
        return planes

    def near(self, whitened: Array, own: Array, chosen: Array) -> tuple[Array, Array]:
        """Return products zeta_j.zeta_i of whitened rows with near rows `own`, and w_i zeta_i.zeta_i of these."""
        return near_products(self, whitened, own)


class LowRankWhitener(LowRankRoot):
    """A factor of G = reg I + H'H for a class with fewer rows than columns, by Woodbury's identity; never forms G.

    With M = reg I + H H' = L L' and T = L^-1 H,  G^-1 = (I - T'T) / reg.
    """

    def __init__(self, rows: Array, weights: Array, reg: float) -> None:
        own = weighted(rows, weights)
        lower = gram_factor((own @ own.T).astype(np.float64), reg, rows.dtype)
        self.inverse, _ = dtrtri(lower, lower=True)
        self.leverage = 1.0 - reg * np.einsum("ij,ij->j", self.inverse, self.inverse)
        self.inverse = self.inverse.astype(rows.dtype)
        super().__init__(self.inverse @ own, reg)

    def near(self, whitened: Array, own: Array, chosen: Array) -> tuple[Array, Array]:
        """Return the products of whitened rows with near rows, and the leverage of the near rows."""
        cross: Array = whitened[:, self.explained.shape[1] :] @ self.inverse[:, chosen]
        return cross, self.leverage[chosen]


class Root:
    """A given square root R of G^-1: zeta = R h, and u = -R'p."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self.signs = np.empty(0, dtype=matrix.dtype)

    def rows(self, rows: Array) -> Array:
        """Return zeta_i = R h_i for each row."""
        zeta: Array = rows @ self.matrix.T
        return zeta

    def planes(self, dual_sums: Array) -> Array:
        """Return u = -R'p for each row p = sum alpha_i zeta_i."""
        planes: Array = -(dual_sums @ self.matrix)
        return planes

    def near(self, whitened: Array, own: Array, chosen: Array) -> tuple[Array, Array]:
        """Return products zeta_j.zeta_i of whitened rows with near rows `own`, and w_i zeta_i.zeta_i of these."""
        return near_products(self, whitened, own)


def near_products(factor: Whitener | Root | LowRankRoot, whitened: Array, own: Array) -> tuple[Array, Array]:
    """Return the products of whitened rows with near rows, sqrt(w_i) h_i, and the squares of these."""
    near_rows = factor.rows(own)
    signed = near_rows * factor.signs if len(factor.signs) else near_rows
    cross: Array = whitened @ signed.T
    return cross, np.einsum("ij,ij->i", near_rows, signed)
