"""Per-class sums of mapped rows: count, mean, Gram matrix, and the factor that whitens.

Sums can be merged, faded and subtracted exactly, which is what makes the machine incremental.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

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


class Whitener:
    """The Cholesky factor of G = Gram + reg I, kept in the precision of the rows.

    With G = L L', a row becomes zeta = L^-1 h and a whitened plane v = L'u goes back to u.  The Gram matrix given is
    used up.
    """

    def __init__(self, gram: Array, reg: float, dtype: np.dtype) -> None:
        gram[np.diag_indices_from(gram)] += reg
        # The transpose of a symmetric matrix is itself, in the order that LAPACK can overwrite.
        try:
            self.factor = cholesky(gram.T, lower=True, overwrite_a=True, check_finite=False).astype(dtype)
        except LinAlgError as error:
            raise ValueError(
                f"The Gram matrix of a class is not positive definite: reg={reg:g} is below the rounding of {dtype} "
                "rows. Raise reg, or pass float64."
            ) from error

    def rows(self, rows: Array) -> Array:
        """Return zeta_i = L^-1 h_i for each row, contiguous; `rows` may be overwritten."""
        solved = solve_triangular(self.factor, rows.T, lower=True, overwrite_b=True, check_finite=False)
        return np.ascontiguousarray(solved.T)

    def planes(self, pulls: Array) -> Array:
        """Return u = -L^-T p for each row p = sum alpha_i zeta_i (design: u = -G^-1 q)."""
        solved = solve_triangular(self.factor, pulls.T, lower=True, trans="T", check_finite=False)
        return np.ascontiguousarray(-solved.T)
