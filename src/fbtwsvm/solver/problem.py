"""Problem (P): the planes of every ordered pair of classes.

For each ordered pair (a, b) there is one plane.  It lies near class a and pushes class b away:

    min_u  1/2 reg ||u||^2  +  1/2 sum_{i in a} w_i (h_i.u)^2  +  sum_{i in b} C w_i s_i max(0, 1 + h_i.u)     (P)

    dual   0 <= alpha_i <= C w_i s_i,   u = -G_a^-1 sum alpha_i h_i,   G_a = reg I + sum_{i in a} w_i h_i h_i'

All planes near class a share G_a.  The symbols, with n rows, K classes and D columns (features and bias):

    symbol         array            shape          meaning
    h_i            rows             (n, D)         mapped row; its last column is 1
    w_i            weights          (n,)           weight of a row
    s_i            memberships      (n, K)         membership of the row against each class
    C w_i s_i      box              (n, K)         upper bound of the dual of row i in the plane near that class
    alpha_i        alpha            (n, K)         dual of row i in the plane near that class
    u_ab           planes           (K, K, D)      plane near a that pushes b
    G_a            gram, factor     (D, D)         Gram matrix with its ridge, and its factor L with L L' = G_a
    zeta_i         whitened         (n, D)         L^-1 h_i, so that zeta_i.zeta_j = h_i'G_a^-1 h_j
    Q              q                (n_b, n_b)     dual matrix of a plane, Q_ij = zeta_i.zeta_j
    sum alpha zeta dual_sums        (K, D)         dual-weighted sum of the rows; u = -L^-T sum alpha_i zeta_i
    sum C w s      primal_at_zero   (K,)           primal objective at u = 0; gaps are relative to it

Four methods solve the same problem.  `dual` works on mapped rows and whitens only those of a working set.  `kernel`
needs inner products only and is used where classes have fewer rows than features.  `newton` works in the primal and is
used where very many rows push a plane.  `finish` works on the rows near the margin, if rows are not held in memory.
`choose` picks the method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from .. import _threads
from .._arrays import Array
from . import _descent_loops
from .factors import LowRankWhitener, Whitener, gram_matrix

In = TypeVar("In")
Out = TypeVar("Out")
_FIRST_SET = 16  # rows of each pushed class in the first working set


@dataclass(frozen=True)
class SolverOptions:
    """When to stop, and how many threads to use: `tol`, `max_iter` and `n_jobs` of the classifier."""

    tol: float
    max_iter: int
    n_jobs: int | None


@dataclass(frozen=True)
class Outline:
    """What all planes share, without anything that is held for every row.

    Rows are sorted by class: class k is the block starts[k]:starts[k + 1].  `reg` is the ridge of the planes near each
    class.
    """

    starts: Array
    reg: Array
    options: SolverOptions

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.reg)

    @property
    def every_plane(self) -> Array:
        """Mark all planes [a, b] of classes that have rows."""
        present = np.diff(self.starts) > 0
        return np.outer(present, present) & ~np.eye(self.n_classes, dtype=bool)

    def block(self, k: int) -> slice:
        """Rows of class k."""
        return slice(int(self.starts[k]), int(self.starts[k + 1]))

    def each(self, function: Callable[[In], Out], items: Iterable[In]) -> list[Out]:
        """Call `function` on each item in threads, one BLAS thread each; the result does not depend on n_jobs."""
        return _threads.each(function, items, self.options.n_jobs)


@dataclass(frozen=True)
class Problem(Outline):
    """The part of problem (P) that all planes share; `wanted` marks the calibration rows, for left-out values."""

    weights: Array
    wanted: Array

    @staticmethod
    def large_blocks(starts: Array) -> Array:
        """Return the classes with too many rows to solve again without each of them."""
        return np.flatnonzero(np.diff(starts) > _descent_loops.SMALL_BLOCK)

    def wanted_rows(self, k: int) -> tuple[Array, slice]:
        """Return the wanted rows of class k, and their places among all wanted rows."""
        numbers = np.flatnonzero(self.wanted[self.block(k)]) + int(self.starts[k])
        first = int(np.count_nonzero(self.wanted[: int(self.starts[k])]))
        return numbers, slice(first, first + len(numbers))


@dataclass
class Solution:
    """Planes, duals and duality gaps; index [a, b] is the plane near a that pushes b.

    planes     (n_classes, n_classes, n_columns): u, or the coefficients of the rows (`kernel` without rows)
    alpha      (n, n_classes): dual of row i in the plane near that class; no rows if the solver holds nothing of them
    gaps       (n_classes, n_classes): duality gap, relative to the primal at u = 0
    sweeps     (n_classes, n_classes): sweeps of coordinate descent, or Newton steps
    box_sums   (n_classes, n_classes): sum of C w s over the pushed class, the primal at u = 0
    bounds     (n_classes, n_classes, 2): smallest and largest projected gradient (`dual` only)
    near, far  (n_wanted, n_classes): left-out values h_i.u of the i-th wanted row in the plane near its own class that
               pushes class k, and in the plane near class k that pushes its own
    """

    planes: Array
    alpha: Array
    gaps: Array
    sweeps: Array
    box_sums: Array
    bounds: Array
    near: Array
    far: Array

    @classmethod
    def empty(cls, problem: Problem, n_columns: int, dtype: Any = np.float64) -> Solution:
        """Return a solution of zeros; `dtype` is that of the planes."""
        return cls.zeros((len(problem.weights), int(problem.wanted.sum())), problem.n_classes, n_columns, dtype)

    @classmethod
    def zeros(cls, counts: tuple[int, int], k: int, n_columns: int, dtype: Any = np.float64) -> Solution:
        """Return a solution of zeros for so many rows whose duals are held, and so many wanted rows."""
        n_rows, n_wanted = counts
        return cls(
            planes=np.zeros((k, k, n_columns), dtype=dtype),
            alpha=np.zeros((n_rows, k)),
            gaps=np.zeros((k, k)),
            sweeps=np.zeros((k, k), dtype=np.int64),
            box_sums=np.zeros((k, k)),
            bounds=np.zeros((k, k, 2)),
            near=np.zeros((n_wanted, k)),
            far=np.zeros((n_wanted, k)),
        )


class Factor(Protocol):
    """A square root of G_a^-1, such as `factors.Whitener`; h_i'G_a^-1 h_j is sum_k signs_k zeta_ik zeta_jk."""

    signs: Array  # empty if all signs are one

    def rows(self, rows: Array) -> Array:
        """Return zeta_i for each row h_i."""

    def planes(self, dual_sums: Array) -> Array:
        """Return u for each sum of alpha_i zeta_i."""

    def near(self, whitened: Array, own: Array, chosen: Array) -> tuple[Array, Array]:
        """Return the products of whitened rows with the near rows `own`, sqrt(w_i) h_i, and the squares of these.

        `chosen` are the places of the near rows in their class.
        """


@dataclass(frozen=True)
class Start:
    """Where the solver starts on mapped rows: from zero in `fit`, from the last solution on a stream.

    factor      function that returns the factor of the Gram matrix of a class
    guess       (n_classes, n_columns): class means, for a first guess of the planes
    todo        (n_classes, n_classes): which planes [a, b] to solve
    fixed_box   (n_classes, n_classes): sum of C w s over the forgotten rows that plane [a, b] pushes
    alpha       (n, n_classes): first duals; None is zero
    fixed_sums  (n_classes, n_classes, n_columns): sum of alpha_i h_i over forgotten rows; None is zero
    first       most rows of each class in the first working set
    planes      (n_classes, n_classes, n_columns): first planes, which select the first working set; None guesses them
    """

    factor: Callable[[int], Factor]
    guess: Array
    todo: Array
    fixed_box: Array
    alpha: Array | None = None
    fixed_sums: Array | None = None
    first: int = _FIRST_SET
    planes: Array | None = None

    @classmethod
    def cold(cls, rows: Array, means: Array, problem: Problem, grams: Sequence[Array] | None = None) -> Start:
        """Start from the rows alone; `grams` are their Gram matrices without the ridge, if already computed."""

        def factor_of(a: int) -> Factor:
            own, reg = problem.block(a), float(problem.reg[a])
            if few_rows(np.diff(problem.starts), a, rows, reg):
                return LowRankWhitener(rows[own], problem.weights[own], reg)
            gram = gram_matrix(rows[own], problem.weights[own]) if grams is None else grams[a].copy()
            return Whitener(gram, reg, rows.dtype)

        todo = problem.every_plane
        return cls(factor_of, means, todo, np.zeros(todo.shape))


def few_rows(sizes: Array, a: int, rows: Array, reg: float) -> bool:
    """Whether class a has so few rows that G_a need not be formed.

    All pushed classes then work on their dual matrix, so they must be small too.  The difference (h.h' - t.t') / reg
    must stay well above the rounding error of h.
    """
    n_columns = rows.shape[1]
    rounding = 20.0 * float(np.finfo(rows.dtype).eps) / reg
    return bool(2 * sizes[a] < n_columns and sizes.max() <= 2 * n_columns and rounding < 1e-3)
