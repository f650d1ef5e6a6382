"""Square roots of the inverse Gram matrices of the classes, kept up to date row by row."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from .._arrays import Array, Index
from .._linalg import inverse_of_lower
from ..solver.factors import LowRankRoot, Root, stream_gram_factor, weighted
from . import axes
from ._root_loops import low_rank_rows, update_root

_NEVER = 2**50  # rows; a float is exact up to here
_RIDGE_DRIFT = 1.02  # a root is computed again when the ridge has changed by this factor
_MOST_ROUNDING = 1e-2  # of a root of low rank
_FREE_PLACES, _FREE_BYTES = 64, 2**25  # most free places for roots of new classes, and their bytes


class Roots:
    """A square root of G^-1 for every class (G = Gram + reg I), kept up to date row by row.

    Of a class with few rows it is a root of low rank: G^-1 = (I - T'T) / reg, where T has a row for each row of the
    class.  A row h of weight w adds the row sqrt(w reg / (1 + w h'G^-1 h)) G^-1 h to T.

    Otherwise it is a full one, R with R'R = G^-1.  A row turns G into G + w h h'.  With zeta = R h this is the update

        R <- R - beta zeta (R'zeta)',   beta = (1 - 1 / sqrt(1 + w ||zeta||^2)) / ||zeta||^2

    and likewise for several rows at a time.  Rounding errors add up, and on a fading stream the ridge changes; roots
    are therefore computed again from the Gram matrix from time to time.

    The roots are in `matrices`, that of class k at places[k].  There may be free places, so that a new class does not
    move the roots of all others.  The first low_ranks[k] rows of such a matrix are T; -1 is a full root.  The update of
    a full root by the row that was learned last is made only when a root is next needed: the root at `late_place`, if
    that is not -1, is to be changed by subtracting late_0 late_1'.  So a call that learns one row can be undone without
    a copy of the root.
    """

    CLASS_AXES: ClassVar[dict[str, tuple[int, ...]]] = {
        "places": (0,), "ranks": (0,), "ridges": (0,), "low_ranks": (0,),
    }  # fmt: skip
    NEW_CLASS: ClassVar[dict[str, Any]] = {"ranks": _NEVER, "ridges": 1.0, "low_ranks": -1}

    def __init__(self, n_classes: int, n_columns: int, dtype: np.dtype, most_low_rank: int = 0) -> None:
        self.matrices = _places(n_classes, n_columns, dtype)
        self.places = np.arange(n_classes)
        self.low_ranks = np.full(n_classes, -1)
        self.most_low_rank = most_low_rank  # roots of low rank have fewer rows than this; 0 if all are full ones
        self.ranks = np.full(n_classes, _NEVER)  # rows added since the root was computed; very many before that
        self.ridges = np.ones(n_classes)  # the ridge that the root was computed with
        self.late = np.zeros((2, n_columns), dtype=dtype)
        self.late_place = np.array([-1])

    def __getstate__(self) -> dict[str, Any]:
        """Return the roots in the order of the classes, without free places, unused rows and late updates."""
        matrices, late, place = self.matrices[self.places], np.zeros_like(self.late), self.late_place.copy()
        for matrix, low_rank in zip(matrices, self.low_ranks, strict=True):
            if low_rank >= 0:
                matrix[low_rank:] = 0.0
        if place[0] >= 0:
            place[:] = np.flatnonzero(self.places == place[0])
            update_root(matrices, self.late, place)
        parts = {"matrices": matrices, "places": np.arange(len(self.places)), "late": late, "late_place": place}
        return {**vars(self), **parts}

    def held(self) -> list[Array]:
        """Return the arrays that take memory: without free places."""
        return [self.matrices[: len(self.places)], self.places, self.low_ranks, self.ranks, self.ridges, self.late]

    @property
    def most_weight(self) -> float:
        """Largest weight of a class with a root of low rank, relative to its ridge: more, and I - T'T is rounding."""
        return _MOST_ROUNDING / float(np.finfo(self.matrices.dtype).eps)

    def of(self, k: int) -> Array:
        """Return the matrix of class k, to read or change."""
        self.update_late()
        root: Array = self.matrices[self.places[k]]
        return root

    def inverse(self, k: int) -> Array:
        """Return G^-1 of class k."""
        matrix, low_rank = self.of(k), self.low_ranks[k]
        used = (matrix if low_rank < 0 else matrix[:low_rank]).astype(np.float64)
        product: Array = used.T @ used
        return product if low_rank < 0 else (np.eye(len(matrix)) - product) / self.ridges[k]

    def update_late(self) -> None:
        """Make the update that is still to be made."""
        update_root(self.matrices, self.late, self.late_place)

    def insert_class(self, k: int) -> None:
        """Insert a new class at index k, at a free place."""
        free = np.setdiff1d(np.arange(len(self.matrices)), self.places)
        if not len(free):
            free = np.array([len(self.matrices)])
            n_columns = self.matrices.shape[1]
            more = _places(len(self.matrices), n_columns, self.matrices.dtype)
            for place, low_rank in zip(self.places, self.low_ranks, strict=True):
                used = slice(0, n_columns if low_rank < 0 else low_rank)
                more[place, used] = self.matrices[place, used]
            self.matrices = more
        axes.insert_class(self, k)
        self.places[k] = free[0]

    def refresh(self, k: int, gram: Array, reg: float) -> None:
        """Compute the root of class k from its Gram matrix, in float64: of low rank if there is room for more rows."""
        most = self.most_low_rank // 2 if float(np.diag(gram).max()) <= self.most_weight * reg else 0
        rows = _low_rank_rows(gram, reg, most, self.matrices.dtype)
        root, self.ranks[k], self.ridges[k] = self.of(k), 0, reg
        if rows is None:
            root[:] = inverse_of_lower(stream_gram_factor(gram, reg, self.matrices.dtype))
            self.low_ranks[k] = -1
        else:
            lower = cholesky(rows @ rows.T + reg * np.eye(len(rows)), lower=True, check_finite=False)
            root[: len(rows)] = solve_triangular(lower, rows, lower=True, check_finite=False)
            self.low_ranks[k] = len(rows)

    def start(self, k: int, reg: float) -> None:
        """Set the root of a class without rows."""
        self.ranks[k], self.ridges[k], self.low_ranks[k] = 0, reg, 0 if self.most_low_rank else -1
        if not self.most_low_rank:
            root = self.of(k)
            root[:] = 0.0
            np.fill_diagonal(root, 1.0 / np.sqrt(reg))

    def update(self, k: int, rows: Array, weights: Array) -> None:
        """Update the root of class k with a few rows; one of low rank is computed again when it is needed."""
        if self.low_ranks[k] >= 0:
            self.invalidate(k)
            return
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
            if self.low_ranks[one] < 0:
                root = self.of(one)
                root *= root.dtype.type(1.0 / np.sqrt(factor))
            self.ridges[one] *= factor

    def invalidate(self, k: int | Index) -> None:
        """Mark the root of class k to be computed again."""
        self.ranks[k] = _NEVER

    def outdated(self, k: int, reg: float) -> bool:
        """Whether the root of class k must be computed again, because of rounding errors or another ridge."""
        drift, full = reg / self.ridges[k], self.low_ranks[k] < 0
        most = self.matrices.shape[1] / 4 if full else max(1, self.most_low_rank)
        return bool(self.ranks[k] >= most or not 1 / _RIDGE_DRIFT < drift < _RIDGE_DRIFT)

    def overfull(self) -> Array:
        """Return the classes whose root of low rank has no room for another row."""
        return np.flatnonzero(self.low_ranks >= max(1, self.most_low_rank))

    def factor(self, k: int) -> Root | LowRankRoot:
        """Return the root of class k as a factor for the solver."""
        root, low_rank = self.of(k), self.low_ranks[k]
        return Root(root) if low_rank < 0 else LowRankRoot(root[:low_rank], float(self.ridges[k]))


def _places(n_classes: int, n_columns: int, dtype: np.dtype) -> Array:
    """Return room for the roots of so many classes and of new ones, which takes no memory before it is written to."""
    n_free = max(1, min(_FREE_PLACES, _FREE_BYTES // max(1, n_columns**2 * np.dtype(dtype).itemsize)))
    return np.empty((n_classes + n_free, n_columns, n_columns), dtype=dtype)


def most_low_rank(n_columns: int, dtype: np.dtype, reg: Array) -> int:
    """Return how many rows a root of low rank may have.

    That is 0 if rounding errors of a mapped row, whose norm is about one, would be large next to the ridge.
    """
    return n_columns // 3 if 20.0 * float(np.finfo(dtype).eps) < 1e-3 * float(np.min(reg)) else 0


def _low_rank_rows(gram: Array, reg: float, most: int, dtype: np.dtype) -> Array | None:
    """Return rows V with V'V = gram, but for what is small next to the ridge; None if more than `most` are needed."""
    if most < 1:
        return None
    rounding = 8.0 * float(np.finfo(dtype).eps) * float(np.diag(gram).max())
    rows = np.empty((most, len(gram)))
    n = low_rank_rows(gram, max(rounding, 1e-4 * reg), rows)
    return None if n < 0 else rows[:n]
