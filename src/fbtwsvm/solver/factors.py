"""Gram matrices and their factors: G = reg I + sum w_i h_i h_i' of a class, and a square root of its inverse."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtri

from .._arrays import Array, tiles
from .._linalg import lower_factor

_TILE = 8192  # rows per float32 product before the sum goes on in float64


def weighted(rows: Array, weights: Array) -> Array:
    """Return sqrt(w_i) h_i, or `rows` itself when every weight is one."""
    if np.all(weights == 1.0):
        return rows
    scaled: Array = rows * np.sqrt(weights).astype(rows.dtype)[:, None]
    return scaled


def gram_matrix(rows: Array, weights: Array) -> Array:
    """Sum of w_i h_i h_i' in float64, from products in the rows' own precision."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for part in tiles(0, len(rows), _TILE):
        tile = weighted(rows[part], weights[part])
        total += tile.T @ tile  # numpy sees the transpose and calls SYRK
    return total


def class_means(rows: Array, weights: Array, starts: Array) -> Array:
    """Weighted mean of every class; rows sorted by class, blocks from `starts`."""
    means = np.empty((len(starts) - 1, rows.shape[1]))
    for k, (first, last) in enumerate(pairwise(starts)):
        total = np.zeros(rows.shape[1])
        for tile in tiles(first, last, _TILE):
            total += weights[tile].astype(rows.dtype) @ rows[tile]
        means[k] = total / weights[first:last].sum()
    return means


def gram_factor(gram: Array, reg: float, dtype: np.dtype) -> Array:
    """Cholesky factor of G = Gram + reg I; the Gram matrix given is used up."""
    gram[np.diag_indices_from(gram)] += reg
    return lower_factor(
        gram,
        f"The Gram matrix of a class is not positive definite: reg={reg:g} is below the rounding of {dtype} rows. "
        "Raise reg, or pass float64.",
    )


def kernel_factor(system: Array) -> Array:
    """Cholesky factor of a system of inner products, which is used up."""
    return lower_factor(
        system,
        "The kernel matrix is not positive semi-definite. A kernel that is a function must be symmetric and have no "
        "negative eigenvalues; where it is only nearly singular, raise reg.",
    )


class Whitener:
    """The Cholesky factor of G = Gram + reg I, kept in the precision of the rows.

    With G = L L', a row becomes zeta = L^-1 h and a whitened plane v = L'u goes back to u.  The Gram matrix given is
    used up.
    """

    def __init__(self, gram: Array, reg: float, dtype: np.dtype) -> None:
        self.signs = np.empty(0, dtype=dtype)
        self.factor = gram_factor(gram, reg, dtype).astype(dtype)

    def rows(self, rows: Array) -> Array:
        """Return zeta_i = L^-1 h_i for each row, contiguous; `rows` may be overwritten."""
        solved = solve_triangular(self.factor, rows.T, lower=True, overwrite_b=True, check_finite=False)
        return np.ascontiguousarray(solved.T)

    def planes(self, dual_sums: Array) -> Array:
        """Return u = -L^-T p for each row p = sum alpha_i zeta_i (design: u = -G^-1 q)."""
        solved = solve_triangular(self.factor, dual_sums.T, lower=True, trans="T", check_finite=False)
        return np.ascontiguousarray(-solved.T)

    def near(self, whitened: Array, own: Array, chosen: Array) -> tuple[Array, Array]:
        """Return products zeta_j.zeta_i of whitened rows with near rows `own`, and w_i zeta_i.zeta_i of these."""
        return near_products(self, whitened, own)


class LowRankWhitener:
    """G = reg I + H'H of a class with fewer rows than columns, by Woodbury's identity: G is never formed.

    With M = reg I + H H' = L L' and T = L^-1 H,  G^-1 = (I - T'T) / reg.  "Whitened" rows are [h, T h], whose products
    are those of zeta under `signs`: 1 / reg for the first part, -1 / reg for the second.
    """

    def __init__(self, rows: Array, weights: Array, reg: float) -> None:
        own = weighted(rows, weights)
        lower = gram_factor((own @ own.T).astype(np.float64), reg, rows.dtype)
        self.inverse, _ = dtrtri(lower, lower=True)
        self.leverage = 1.0 - reg * np.einsum("ij,ij->j", self.inverse, self.inverse)
        self.inverse = self.inverse.astype(rows.dtype)
        self.explained = self.inverse @ own
        self.signs = np.repeat(np.array([1.0, -1.0]) / reg, [rows.shape[1], len(rows)]).astype(rows.dtype)

    def rows(self, rows: Array) -> Array:
        """Return [h_i, T h_i] for each row."""
        n_columns = rows.shape[1]
        out = np.empty((len(rows), len(self.signs)), dtype=rows.dtype)
        out[:, :n_columns] = rows
        np.matmul(rows, self.explained.T, out=out[:, n_columns:])
        return out

    def planes(self, dual_sums: Array) -> Array:
        """Return u = -G^-1 q for each sum of alpha_i [h_i, T h_i]."""
        n_columns = self.explained.shape[1]
        planes: Array = (dual_sums[:, n_columns:] @ self.explained - dual_sums[:, :n_columns]) * self.signs[0]
        return planes

    def near(self, whitened: Array, own: Array, chosen: Array) -> tuple[Array, Array]:
        """Return products of whitened rows with near rows, and these rows' leverage."""
        cross: Array = whitened[:, self.explained.shape[1] :] @ self.inverse[:, chosen]
        return cross, self.leverage[chosen]


class Root:
    """One root R: zeta = R h, and back u = -R'v."""

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


def near_products(factor: Whitener | Root, whitened: Array, own: Array) -> tuple[Array, Array]:
    """Return products of whitened rows with near rows, sqrt(w_i) h_i, and the squares of these."""
    near_rows = factor.rows(own)
    cross: Array = whitened @ near_rows.T
    return cross, np.einsum("ij,ij->i", near_rows, near_rows)
