"""Per-class sums of mapped rows: count, mean, Gram matrix, and the factor that whitens.

Sums can be merged, faded and subtracted exactly, which is what makes the machine incremental.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.linalg.lapack import dpotrf, dtrtri

from .kernels import Array

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
    for first in range(0, len(rows), _TILE):
        tile = weighted(rows[first : first + _TILE], weights[first : first + _TILE])
        total += tile.T @ tile  # numpy sees the transpose and calls SYRK
    return total


def class_means(rows: Array, weights: Array, starts: Array) -> Array:
    """Weighted mean of every class; rows sorted by class, blocks from `starts`."""
    means = np.empty((len(starts) - 1, rows.shape[1]))
    for k, (first, last) in enumerate(pairwise(starts)):
        total = np.zeros(rows.shape[1])
        for start in range(first, last, _TILE):
            tile = slice(start, min(start + _TILE, last))
            total += weights[tile].astype(rows.dtype) @ rows[tile]
        means[k] = total / weights[first:last].sum()
    return means


def _cholesky(system: Array, reg: float, dtype: np.dtype) -> Array:
    """Cholesky factor of G = Gram + reg I; the matrix given is used up."""
    # The transpose of a symmetric matrix is itself, in the order that LAPACK can overwrite.
    try:
        factor: Array = cholesky(system.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError as error:
        raise ValueError(
            f"The Gram matrix of a class is not positive definite: reg={reg:g} is below the rounding of {dtype} "
            "rows. Raise reg, or pass float64."
        ) from error
    return factor


class Whitener:
    """The Cholesky factor of G = Gram + reg I, kept in the precision of the rows.

    With G = L L', a row becomes zeta = L^-1 h and a whitened plane v = L'u goes back to u.  The Gram matrix given is
    used up.
    """

    def __init__(self, gram: Array, reg: float, dtype: np.dtype) -> None:
        gram[np.diag_indices_from(gram)] += reg
        self.signs = np.empty(0, dtype=dtype)
        self.factor = _cholesky(gram, reg, dtype).astype(dtype)

    def rows(self, rows: Array) -> Array:
        """Return zeta_i = L^-1 h_i for each row, contiguous; `rows` may be overwritten."""
        solved = solve_triangular(self.factor, rows.T, lower=True, overwrite_b=True, check_finite=False)
        return np.ascontiguousarray(solved.T)

    def planes(self, pulls: Array) -> Array:
        """Return u = -L^-T p for each row p = sum alpha_i zeta_i (design: u = -G^-1 q)."""
        solved = solve_triangular(self.factor, pulls.T, lower=True, trans="T", check_finite=False)
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
        system = (own @ own.T).astype(np.float64)
        system[np.diag_indices_from(system)] += reg
        lower = _cholesky(system, reg, rows.dtype)
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

    def planes(self, pulls: Array) -> Array:
        """Return u = -G^-1 q for each sum of alpha_i [h_i, T h_i]."""
        n_columns = self.explained.shape[1]
        planes: Array = (pulls[:, n_columns:] @ self.explained - pulls[:, :n_columns]) * self.signs[0]
        return planes

    def near(self, whitened: Array, own: Array, chosen: Array) -> tuple[Array, Array]:
        """Return products of whitened rows with near rows, and these rows' leverage."""
        cross: Array = whitened[:, self.explained.shape[1] :] @ self.inverse[:, chosen]
        return cross, self.leverage[chosen]


class Moments:
    """Weighted sums of every class, in float64: count, sum of rows, Gram matrix.

    Sums add up, so classes can be merged, faded and subtracted.  Class k lies at index k of all three arrays.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
        Sum of the weights.
    sums : ndarray of shape (n_classes, n_columns)
        Sum of w_i h_i.
    grams : ndarray of shape (n_classes, n_columns, n_columns)
        Sum of w_i h_i h_i'.
    """

    def __init__(self, n_classes: int, n_columns: int) -> None:
        self.counts: Array = np.zeros(n_classes)
        self.sums: Array = np.zeros((n_classes, n_columns))
        self.grams: Array = np.zeros((n_classes, n_columns, n_columns))

    @property
    def means(self) -> Array:
        """Mean of every class; zero where a class has nothing."""
        means: Array = self.sums / np.where(self.counts > 0, self.counts, 1.0)[:, None]
        return means

    def add(self, k: int, rows: Array, weights: Array, sign: float = 1.0) -> None:
        """Add rows to class k, or with sign -1 take them out."""
        self.counts[k] += sign * weights.sum()
        self.sums[k] += sign * (weights @ rows.astype(np.float64))
        self.add_gram(k, rows, weights, sign)

    def add_gram(self, k: int, rows: Array, weights: Array, sign: float = 1.0) -> None:
        """Add rows to the Gram matrix of class k alone: their count and sum are in already."""
        self.grams[k] += sign * gram_matrix(rows, weights)

    def scale(self, factor: float, k: int | slice = slice(None)) -> None:
        """Multiply the sums of class k, or of all classes."""
        self.counts[k] *= factor
        self.sums[k] *= factor
        self.grams[k] *= factor

    def insert(self, k: int) -> None:
        """Make room for a new class at index k."""
        self.counts = np.insert(self.counts, k, 0.0)
        self.sums = np.insert(self.sums, k, 0.0, axis=0)
        self.grams = np.insert(self.grams, k, 0.0, axis=0)

    def delete(self, k: int) -> None:
        """Remove class k."""
        self.counts = np.delete(self.counts, k)
        self.sums = np.delete(self.sums, k, axis=0)
        self.grams = np.delete(self.grams, k, axis=0)

    def remap(self, change: Array) -> None:
        """Carry the sums over to another feature map, h_new = change h."""
        self.sums = self.sums @ change.T
        self.grams = change @ self.grams @ change.T

    def definite(self, k: int, slack: float) -> bool:
        """Whether the Gram matrix of class k has no eigenvalue below -slack."""
        system = self.grams[k] + slack * np.eye(self.grams.shape[1])
        return int(dpotrf(system, lower=True, overwrite_a=True)[1]) == 0


class Roots:
    """A square root R of G^-1 for every class (R'R = G^-1, G = Gram + reg I), kept up to date row by row.

    A row h of weight w turns G into G + w h h'.  With zeta = R h this is the update

        R <- R - beta zeta (R'zeta)',   beta = (1 - 1 / sqrt(1 + w ||zeta||^2)) / ||zeta||^2

    and likewise for k rows at a time.  Rounding and, on a fading stream, the ridge drift meanwhile, so R is
    now and then made anew from the Gram matrix.
    """

    def __init__(self, n_classes: int, n_columns: int, dtype: np.dtype) -> None:
        self.matrices = np.zeros((n_classes, n_columns, n_columns), dtype=dtype)
        self.ranks = np.full(n_classes, np.iinfo(np.int64).max // 2)  # rows since R was made; at first it is not
        self.ridges = np.ones(n_classes)  # the ridge that R was made with

    def refresh(self, k: int, gram: Array, reg: float) -> None:
        """Make the root of class k anew, in float64."""
        system = gram.copy()
        system[np.diag_indices_from(system)] += reg
        lower = _cholesky(system, reg, self.matrices.dtype)
        self.matrices[k], _ = dtrtri(lower, lower=True, overwrite_c=True)
        self.ranks[k], self.ridges[k] = 0, reg

    def update(self, k: int, rows: Array, weights: Array) -> None:
        """Add a few rows to class k."""
        root = self.matrices[k]
        zeta = weighted(rows, weights) @ root.T
        grown, vectors = np.linalg.eigh(zeta.astype(np.float64) @ zeta.T)
        grown = np.maximum(grown, 1e-30)
        middle = (vectors * ((1.0 - 1.0 / np.sqrt(1.0 + grown)) / grown)) @ vectors.T
        root -= zeta.T @ (middle.astype(root.dtype) @ (zeta @ root))
        self.ranks[k] += len(rows)

    def scale(self, factor: float, k: int | slice = slice(None)) -> None:
        """Follow a multiplication of Gram matrix and ridge by `factor`."""
        self.matrices[k] *= self.matrices.dtype.type(1.0 / np.sqrt(factor))
        self.ridges[k] *= factor

    def insert(self, k: int) -> None:
        """Make room for a new class at index k."""
        self.matrices = np.insert(self.matrices, k, 0.0, axis=0)
        self.ranks = np.insert(self.ranks, k, np.iinfo(np.int64).max // 2)
        self.ridges = np.insert(self.ridges, k, 1.0)

    def delete(self, k: int) -> None:
        """Remove class k."""
        self.matrices = np.delete(self.matrices, k, axis=0)
        self.ranks = np.delete(self.ranks, k)
        self.ridges = np.delete(self.ridges, k)

    def factor(self, k: int) -> Root:
        """Return the root of class k as the solver uses it."""
        return Root(self.matrices[k])


class Root:
    """One root R: zeta = R h, and back u = -R'v."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self.signs = np.empty(0, dtype=matrix.dtype)

    def rows(self, rows: Array) -> Array:
        """Return zeta_i = R h_i for each row."""
        zeta: Array = rows @ self.matrix.T
        return zeta

    def planes(self, pulls: Array) -> Array:
        """Return u = -R'p for each row p = sum alpha_i zeta_i."""
        planes: Array = -(pulls @ self.matrix)
        return planes

    def near(self, whitened: Array, own: Array, chosen: Array) -> tuple[Array, Array]:
        """Return products zeta_j.zeta_i of whitened rows with near rows `own`, and w_i zeta_i.zeta_i of these."""
        return near_products(self, whitened, own)


def near_products(factor: Whitener | Root, whitened: Array, own: Array) -> tuple[Array, Array]:
    """Return products of whitened rows with near rows, sqrt(w_i) h_i, and the squares of these."""
    near_rows = factor.rows(own)
    cross: Array = whitened @ near_rows.T
    return cross, np.einsum("ij,ij->i", near_rows, near_rows)
