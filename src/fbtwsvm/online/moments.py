"""Sums of mapped rows of each class (count, sum, Gram matrix), and square roots of the inverse Gram matrices."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, Index
from .._linalg import inverse_of_lower, is_definite
from ..solver.factors import Root, gram_matrix, stream_gram_factor, weighted
from . import axes
from ._loops import update_root

_NEVER = np.iinfo(np.int64).max // 2
_MORE_PLACES = 8  # roots of new classes, when there is no free place


class Moments:
    """Weighted sums of every class, in float64: count, sum of rows, Gram matrix.

    Sums can be added, scaled and subtracted, so models can be merged, rows can fade and rows can be unlearned.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
        Sum of the weights.
    sums : ndarray of shape (n_classes, n_columns)
        Sum of w_i h_i.
    grams : list of ndarray of shape (n_columns, n_columns)
        Sum of w_i h_i h_i' of each class.  A matrix is replaced, never changed, so that copies of the list share it.
    """

    CLASS_AXES: ClassVar[dict[str, tuple[int, ...]]] = {"counts": (0,), "sums": (0,)}
    NEW_CLASS: ClassVar[dict[str, Any]] = {}

    def __init__(self, n_classes: int, n_columns: int) -> None:
        self.counts: Array = np.zeros(n_classes)
        self.sums: Array = np.zeros((n_classes, n_columns))
        self.grams: list[Array] = [np.zeros((n_columns, n_columns)) for _ in range(n_classes)]

    @property
    def means(self) -> Array:
        """Mean of every class; zero for a class without weight."""
        means: Array = self.sums / np.where(self.counts > 0, self.counts, 1.0)[:, None]
        return means

    def __deepcopy__(self, memo: dict[int, Any]) -> Moments:
        """Return sums to change; the matrices are shared."""
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
        gram = gram_matrix(rows, weights)
        gram *= sign
        gram += self.grams[k]
        self.grams[k] = gram

    def scale(self, factor: float, k: int | None = None) -> None:
        """Multiply the sums of class k, or of all classes."""
        for one in range(len(self.grams)) if k is None else [k]:
            self.counts[one] *= factor
            self.sums[one] *= factor
            self.grams[one] = self.grams[one] * factor

    def insert_class(self, k: int) -> None:
        """Insert a new class at index k."""
        axes.insert_class(self, k)
        n_columns = self.sums.shape[1]
        self.grams.insert(k, np.zeros((n_columns, n_columns)))

    def delete_class(self, k: int) -> None:
        """Remove class k."""
        axes.delete_class(self, k)
        del self.grams[k]

    def definite(self, k: int, slack: float) -> bool:
        """Whether the Gram matrix of class k has no eigenvalue below -slack."""
        system = self.grams[k] + slack * np.eye(self.sums.shape[1])
        return is_definite(system)


class Roots:
    """A square root R of G^-1 for every class (R'R = G^-1, G = Gram + reg I), kept up to date row by row.

    A row h of weight w turns G into G + w h h'.  With zeta = R h this is the update

        R <- R - beta zeta (R'zeta)',   beta = (1 - 1 / sqrt(1 + w ||zeta||^2)) / ||zeta||^2

    and likewise for several rows at a time.  Rounding errors add up, and on a fading stream the ridge changes; R is
    therefore computed again from the Gram matrix from time to time.

    The roots are in `matrices`, that of class k at places[k].  There may be free places, so that a new class does not
    move the roots of all others.  The update of the row that was learned last is made only when a root is next needed:
    the root at `late_place`, if that is not -1, is to be changed by subtracting late_0 late_1'.  So a call that learns
    one row can be undone without a copy of the root.
    """

    CLASS_AXES: ClassVar[dict[str, tuple[int, ...]]] = {"places": (0,), "ranks": (0,), "ridges": (0,)}
    NEW_CLASS: ClassVar[dict[str, Any]] = {"ranks": _NEVER, "ridges": 1.0}

    def __init__(self, n_classes: int, n_columns: int, dtype: np.dtype) -> None:
        self.matrices = np.zeros((n_classes, n_columns, n_columns), dtype=dtype)
        self.places = np.arange(n_classes)
        self.ranks = np.full(n_classes, _NEVER)  # rows added since R was computed; very many before that
        self.ridges = np.ones(n_classes)  # the ridge that R was computed with
        self.late = np.zeros((2, n_columns), dtype=dtype)
        self.late_place = np.array([-1])

    def __getstate__(self) -> dict[str, Any]:
        """Return the roots in the order of the classes, without free places and late updates."""
        matrices, late, place = self.matrices[self.places], np.zeros_like(self.late), self.late_place.copy()
        if place[0] >= 0:
            place[:] = np.flatnonzero(self.places == place[0])
            update_root(matrices, self.late, place)
        parts = {"matrices": matrices, "places": np.arange(len(self.places)), "late": late, "late_place": place}
        return {**vars(self), **parts}

    def of(self, k: int) -> Array:
        """Return the root of class k, to read or change."""
        self.update_late()
        root: Array = self.matrices[self.places[k]]
        return root

    def update_late(self) -> None:
        """Make the update that is still to be made."""
        update_root(self.matrices, self.late, self.late_place)

    def insert_class(self, k: int) -> None:
        """Insert a new class at index k, at a free place."""
        free = np.setdiff1d(np.arange(len(self.matrices)), self.places)
        if not len(free):
            free = np.array([len(self.matrices)])
            n_columns = self.matrices.shape[1]
            more = np.empty((len(self.matrices) + _MORE_PLACES, n_columns, n_columns), dtype=self.matrices.dtype)
            more[: len(self.matrices)] = self.matrices
            self.matrices = more
        axes.insert_class(self, k)
        self.places[k] = free[0]

    def refresh(self, k: int, gram: Array, reg: float) -> None:
        """Compute the root of class k from its Gram matrix, in float64."""
        lower = stream_gram_factor(gram, reg, self.matrices.dtype)
        self.of(k)[:] = inverse_of_lower(lower)
        self.ranks[k], self.ridges[k] = 0, reg

    def start(self, k: int, reg: float) -> None:
        """Set the root of a class without rows."""
        root = self.of(k)
        root[:] = 0.0
        np.fill_diagonal(root, 1.0 / np.sqrt(reg))
        self.ranks[k], self.ridges[k] = 0, reg

    def update(self, k: int, rows: Array, weights: Array) -> None:
        """Update the root of class k with a few rows."""
        root = self.of(k)
        zeta = weighted(rows, weights) @ root.T
        grown, vectors = np.linalg.eigh(zeta.astype(np.float64) @ zeta.T)
        grown = np.maximum(grown, 1e-30)
        middle = (vectors * ((1.0 - 1.0 / np.sqrt(1.0 + grown)) / grown)) @ vectors.T
        root -= zeta.T @ (middle.astype(root.dtype) @ (zeta @ root))
        self.ranks[k] += len(rows)

    def scale(self, factor: float, k: int | None = None) -> None:
        """Update the root of class k, or of all classes, when Gram matrix and ridge are multiplied by `factor`."""
        for one in range(len(self.places)) if k is None else [k]:
            root = self.of(one)
            root *= root.dtype.type(1.0 / np.sqrt(factor))
            self.ridges[one] *= factor

    def invalidate(self, k: int | Index) -> None:
        """Mark the root of class k to be computed again."""
        self.ranks[k] = self.matrices.shape[2]

    def factor(self, k: int) -> Root:
        """Return the root of class k as a factor for the solver."""
        return Root(self.of(k))
