"""Sums of mapped rows of each class (count, sum, Gram matrix), and square roots of the inverse Gram matrices."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg.lapack import dtrtri

from .._arrays import Array, Index
from .._linalg import is_definite
from ..solver.factors import Root, gram_matrix, stream_gram_factor, weighted

_NEVER = np.iinfo(np.int64).max // 2


class Moments:
    """Weighted sums of every class, in float64: count, sum of rows, Gram matrix.

    Sums can be added, scaled and subtracted, so models can be merged, rows can fade and rows can be unlearned.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
        Sum of the weights.
    sums : ndarray of shape (n_classes, n_columns)
        Sum of w_i h_i.
    grams : ndarray of shape (n_classes, n_columns, n_columns)
        Sum of w_i h_i h_i'.
    """

    CLASS_AXES: ClassVar[dict[str, tuple[int, ...]]] = {"counts": (0,), "sums": (0,), "grams": (0,)}
    NEW_CLASS: ClassVar[dict[str, Any]] = {}

    def __init__(self, n_classes: int, n_columns: int) -> None:
        self.counts: Array = np.zeros(n_classes)
        self.sums: Array = np.zeros((n_classes, n_columns))
        self.grams: Array = np.zeros((n_classes, n_columns, n_columns))

    @property
    def means(self) -> Array:
        """Mean of every class; zero for a class without weight."""
        means: Array = self.sums / np.where(self.counts > 0, self.counts, 1.0)[:, None]
        return means

    def copy(self) -> Moments:
        """Return sums to change."""
        clone = Moments(0, 0)
        clone.counts, clone.sums, clone.grams = self.counts.copy(), self.sums.copy(), self.grams.copy()
        return clone

    def add(self, k: int, rows: Array, weights: Array, sign: float = 1.0) -> None:
        """Add rows to class k, or subtract them if `sign` is -1."""
        self.counts[k] += sign * weights.sum()
        self.sums[k] += sign * (weights @ rows.astype(np.float64))
        self.add_gram(k, rows, weights, sign)

    def add_gram(self, k: int, rows: Array, weights: Array, sign: float = 1.0) -> None:
        """Add rows to the Gram matrix of class k only; its count and sum contain them already."""
        self.grams[k] += sign * gram_matrix(rows, weights)

    def scale(self, factor: float, k: int | slice = slice(None)) -> None:
        """Multiply the sums of class k, or of all classes."""
        self.counts[k] *= factor
        self.sums[k] *= factor
        self.grams[k] *= factor

    def remap(self, change: Array) -> None:
        """Change the feature map of the sums: h_new = change h."""
        self.sums = self.sums @ change.T
        self.grams = change @ self.grams @ change.T

    def definite(self, k: int, slack: float) -> bool:
        """Whether the Gram matrix of class k has no eigenvalue below -slack."""
        system = self.grams[k] + slack * np.eye(self.grams.shape[1])
        return is_definite(system)


class Roots:
    """A square root R of G^-1 for every class (R'R = G^-1, G = Gram + reg I), kept up to date row by row.

    A row h of weight w turns G into G + w h h'.  With zeta = R h this is the update

        R <- R - beta zeta (R'zeta)',   beta = (1 - 1 / sqrt(1 + w ||zeta||^2)) / ||zeta||^2

    and likewise for several rows at a time.  Rounding errors add up, and on a fading stream the ridge changes; R is
    therefore computed again from the Gram matrix from time to time.
    """

    CLASS_AXES: ClassVar[dict[str, tuple[int, ...]]] = {"matrices": (0,), "ranks": (0,), "ridges": (0,)}
    NEW_CLASS: ClassVar[dict[str, Any]] = {"ranks": _NEVER, "ridges": 1.0}

    def __init__(self, n_classes: int, n_columns: int, dtype: np.dtype) -> None:
        self.matrices = np.zeros((n_classes, n_columns, n_columns), dtype=dtype)
        self.ranks = np.full(n_classes, _NEVER)  # rows added since R was computed; very many before that
        self.ridges = np.ones(n_classes)  # the ridge that R was computed with

    def refresh(self, k: int, gram: Array, reg: float) -> None:
        """Compute the root of class k from its Gram matrix, in float64."""
        lower = stream_gram_factor(gram, reg, self.matrices.dtype)
        self.matrices[k], _ = dtrtri(lower, lower=True, overwrite_c=True)
        self.ranks[k], self.ridges[k] = 0, reg

    def update(self, k: int, rows: Array, weights: Array) -> None:
        """Update the root of class k with a few rows."""
        root = self.matrices[k]
        zeta = weighted(rows, weights) @ root.T
        grown, vectors = np.linalg.eigh(zeta.astype(np.float64) @ zeta.T)
        grown = np.maximum(grown, 1e-30)
        middle = (vectors * ((1.0 - 1.0 / np.sqrt(1.0 + grown)) / grown)) @ vectors.T
        root -= zeta.T @ (middle.astype(root.dtype) @ (zeta @ root))
        self.ranks[k] += len(rows)

    def scale(self, factor: float, k: int | slice = slice(None)) -> None:
        """Update the root when Gram matrix and ridge are multiplied by `factor`."""
        self.matrices[k] *= self.matrices.dtype.type(1.0 / np.sqrt(factor))
        self.ridges[k] *= factor

    def invalidate(self, k: int | Index) -> None:
        """Mark the root of class k to be computed again."""
        self.ranks[k] = self.matrices.shape[2]

    def factor(self, k: int) -> Root:
        """Return the root of class k as a factor for the solver."""
        return Root(self.matrices[k])
