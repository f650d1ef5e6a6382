"""Problem (P): the planes of every ordered pair of classes.

For an ordered pair (a, b), the plane that lies near class a and keeps class b away from it:

    min_u  1/2 reg ||u||^2  +  1/2 sum_{i in a} w_i (h_i.u)^2  +  sum_{i in b} C w_i s_i max(0, 1 + h_i.u)     (P)

    dual   0 <= alpha_i <= C w_i s_i,   u = -G_a^-1 sum alpha_i h_i,   G_a = reg I + sum_{i in a} w_i h_i h_i'

All planes near class a share G_a.  The symbols, with n rows, K classes and D columns (features and bias):

    symbol         array            shape          what it is
    h_i            rows             (n, D)         mapped row, the last column is 1
    w_i            weights          (n,)           weight of a row
    s_i            memberships      (n, K)         how much the row counts against each class
    C w_i s_i      box              (n, K)         upper bound of the dual of row i in the plane near that class
    alpha_i        alpha            (n, K)         dual of row i in the plane near that class
    u_ab           planes           (K, K, D)      plane near a that pushes b
    G_a            gram, factor     (D, D)         Gram matrix with its ridge; L L' = G_a
    zeta_i         whitened         (n, D)         L^-1 h_i, so that zeta_i.zeta_j = h_i'G_a^-1 h_j
    Q              q                (n_b, n_b)     dual matrix of a plane, Q_ij = zeta_i.zeta_j
    sum alpha zeta dual_sums        (K, D)         what the duals add up to; u = -L^-T sum alpha_i zeta_i
    sum C w s      primal_at_zero   (K,)           the primal at u = 0, by which gaps are divided

Three ways solve the same problem: `dual`, on mapped rows, of which only those that matter are whitened; `kernel`, from
inner products alone, where classes have fewer rows than there are features; `newton`, in the primal, where very many
rows push a plane.  `choose` says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from .. import _threads
from .._arrays import Array
from . import _loops
from .factors import LowRankWhitener, Whitener, gram_matrix

In = TypeVar("In")
Out = TypeVar("Out")
_FIRST_SET = 16  # rows of a pushed class that the first working set takes


@dataclass(frozen=True)
class SolverOptions:
    """When a plane is solved, and in how many threads: `tol`, `max_iter` and `n_jobs` of the classifier."""

    tol: float
    max_iter: int
    n_jobs: int | None


@dataclass(frozen=True)
class Problem:
    """What all planes share.  Rows are sorted by class; block k is starts[k]:starts[k + 1].

    `reg` is one ridge per near class.  `wanted` marks the rows whose left-out values are wanted.
    """

    starts: Array
    weights: Array
    reg: Array
    wanted: Array
    options: SolverOptions

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.reg)

    def block(self, k: int) -> slice:
        """Rows of class k."""
        return slice(int(self.starts[k]), int(self.starts[k + 1]))

    @staticmethod
    def large_blocks(starts: Array) -> Array:
        """Blocks whose left-out values are too many for solving again."""
        return np.flatnonzero(np.diff(starts) > _loops.SMALL_BLOCK)

    def wanted_rows(self, k: int) -> tuple[Array, slice]:
        """Wanted rows of class k, and their lines among all wanted rows."""
        numbers = np.flatnonzero(self.wanted[self.block(k)]) + int(self.starts[k])
        first = int(np.count_nonzero(self.wanted[: int(self.starts[k])]))
        return numbers, slice(first, first + len(numbers))

    def each(self, function: Callable[[In], Out], items: Iterable[In]) -> list[Out]:
        """Map `function` over classes with threads, one BLAS thread each: the same result for every n_jobs."""
        return _threads.each(function, items, self.options.n_jobs)

    def stream(self, function: Callable[[In], Out], items: Iterable[In]) -> Iterator[Out]:
        """Like `each`, but hand the results over one by one, in order."""
        return _threads.stream(function, items, self.options.n_jobs)


@dataclass
class Solution:
    """Planes, duals and their certificates; index [a, b] is the plane near a that pushes b.

    planes     (n_classes, n_classes, n_columns): u, or for the kernel form coefficients of the rows
    alpha      (n, n_classes): dual of row i in the plane near that class
    gaps       (n_classes, n_classes): duality gap over the primal at u = 0
    sweeps     (n_classes, n_classes)
    box_sums   (n_classes, n_classes): sum of C w s over the pushed class, the primal at u = 0
    bounds     (n_classes, n_classes, 2): smallest and largest projected gradient of the feature form's descent
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
    def empty(cls, problem: Problem, n_columns: int, dtype: Any = np.float64, precision: Any = np.float64) -> Solution:
        """All zeros; `dtype` is that of the planes, `precision` that of the duals."""
        n, n_wanted, k = len(problem.weights), int(problem.wanted.sum()), problem.n_classes
        return cls(
            planes=np.zeros((k, k, n_columns), dtype=dtype),
            alpha=np.zeros((n, k), dtype=precision),
            gaps=np.zeros((k, k)),
            sweeps=np.zeros((k, k), dtype=np.int64),
            box_sums=np.zeros((k, k)),
            bounds=np.zeros((k, k, 2)),
            near=np.zeros((n_wanted, k)),
            far=np.zeros((n_wanted, k)),
        )


class Factor(Protocol):
    """A square root of G_a^-1, as `factors.Whitener` is one; h_i G_a^-1 h_j is sum_k signs_k zeta_ik zeta_jk."""

    signs: Array  # empty where all are one

    def rows(self, rows: Array) -> Array:
        """Return zeta_i for each row h_i."""

    def planes(self, dual_sums: Array) -> Array:
        """Return u for each sum of alpha_i zeta_i."""

    def near(self, whitened: Array, own: Array, chosen: Array) -> tuple[Array, Array]:
        """Return products of whitened rows with near rows `own` (sqrt(w_i) h_i), and these rows' own products.

        `chosen` are the places of the near rows in their class.
        """


@dataclass(frozen=True)
class Start:
    """Where the feature form begins: nowhere (in `fit`), or at what a stream knows already.

    factor   gives the factor of a class's Gram matrix
    guess    (n_classes, n_columns): class means, from which cold planes are guessed
    todo     (n_classes, n_classes): which planes [a, b] to solve
    fixed_box     (n_classes, n_classes): sum of C w s over pushed rows that are gone, [a, b] as planes
    alpha    (n, n_classes): the duals to start from; None is zero
    fixed_sums   (n_classes, n_classes, n_columns): what rows that are gone pull, sum of alpha_i h_i; None is nothing
    first    rows of a class that the first working set takes at most
    planes   (n_classes, n_classes, n_columns): first planes, whose violators make the first working set; None guesses
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
        """Start from nothing but the rows, and their Gram matrices (without the ridge) where these are known."""

        def factor_of(a: int) -> Factor:
            own, reg = problem.block(a), float(problem.reg[a])
            if _few_rows(np.diff(problem.starts), a, rows, reg):
                return LowRankWhitener(rows[own], problem.weights[own], reg)
            gram = gram_matrix(rows[own], problem.weights[own]) if grams is None else grams[a].copy()
            return Whitener(gram, reg, rows.dtype)

        sizes = np.diff(problem.starts) > 0
        todo = np.outer(sizes, sizes) & ~np.eye(len(sizes), dtype=bool)
        return cls(factor_of, means, todo, np.zeros(todo.shape))


def _few_rows(sizes: Array, a: int, rows: Array, reg: float) -> bool:
    """Whether class a has so few rows that G_a need not be formed.

    Then every block works on its dual matrix, so other classes must not be large either; and (h.h' - t.t') / reg must
    not drown in the rounding of h.
    """
    n_columns = rows.shape[1]
    rounding = 20.0 * float(np.finfo(rows.dtype).eps) / reg
    return bool(2 * sizes[a] < n_columns and sizes.max() <= 2 * n_columns and rounding < 1e-3)
