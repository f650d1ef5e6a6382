"""Problem (P): the planes of every ordered pair of classes, solved and certified.

For an ordered pair (a, b), the plane that lies near class a and keeps class b away from it:

    min_u  1/2 reg ||u||^2  +  1/2 sum_{i in a} w_i (h_i.u)^2  +  sum_{i in b} C w_i s_i max(0, 1 + h_i.u)     (P)

    dual   0 <= alpha_i <= C w_i s_i,   u = -G_a^-1 sum alpha_i h_i,   G_a = reg I + sum_{i in a} w_i h_i h_i'

All planes near class a share G_a.  Two forms solve the same problem: the feature form whitens rows
with the Cholesky factor of G_a, and only those rows that matter; the kernel form needs inner
products alone (Woodbury) and is the cheaper one when classes have fewer rows than there are features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from threadpoolctl import threadpool_limits

from . import kernels
from .kernels import Array
from .moments import Whitener, gram_matrix, weighted

In = TypeVar("In")
Out = TypeVar("Out")

_FIRST_SET = 64  # rows of a pushed class that the first working set takes
_GROWTH = 1.0  # a working set at most doubles in a round
_MAX_ROUNDS = 100
_FAR = -1.25  # plane value below which an idle row leaves the working set
_TILE = 1024  # rows whitened at a time


@dataclass(frozen=True)
class Problem:
    """What all planes share.  Rows are sorted by class; block k is starts[k]:starts[k + 1].

    `box` (n, n_classes) is C w_i s_i of row i in the plane near that class; `reg` is one ridge per
    near class.  `judged` marks the rows whose left-out values are wanted.
    """

    starts: Array
    weights: Array
    box: Array
    reg: Array
    judged: Array
    tol: float
    max_iter: int
    n_jobs: int | None
    say: Callable[[str], None]

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
        return np.flatnonzero(np.diff(starts) > kernels.SMALL_BLOCK)

    def each(self, function: Callable[[In], Out], items: Iterable[In]) -> list[Out]:
        """Map `function` over classes with threads, one BLAS thread each: the same result for every n_jobs."""
        items = list(items)
        if len(items) == 1:  # nothing to run side by side: the threads are BLAS's
            return [function(items[0])]
        with threadpool_limits(limits=1, user_api="blas"):
            run = Parallel(n_jobs=self.n_jobs, require="sharedmem")
            results: list[Out] = run(delayed(function)(item) for item in items)
        return results


@dataclass
class Solution:
    """Planes, duals and their certificates; index [a, b] is the plane near a that pushes b.

    planes     (n_classes, n_classes, n_columns): u, or for the kernel form coefficients of the rows
    alpha      (n, n_classes): dual of row i in the plane near that class
    gaps       (n_classes, n_classes): duality gap over the primal at u = 0
    sweeps     (n_classes, n_classes)
    near, far  (n, n_classes): left-out values h_i.u of row i in the plane near its own class that pushes
               class k, and in the plane near class k that pushes its own; only `judged` rows are filled
    """

    planes: Array
    alpha: Array
    gaps: Array
    sweeps: Array
    near: Array
    far: Array

    @classmethod
    def empty(cls, problem: Problem) -> Solution:
        """All zeros, planes without columns."""
        n, k = len(problem.weights), problem.n_classes
        return cls(
            planes=np.zeros((k, k, 0)),
            alpha=np.zeros((n, k)),
            gaps=np.zeros((k, k)),
            sweeps=np.zeros((k, k), dtype=np.int64),
            near=np.zeros((n, k)),
            far=np.zeros((n, k)),
        )


def solve_kernel(kernel: Array, problem: Problem, rows: Array | None = None) -> Solution:
    """Solve every plane from the kernel matrix of all rows, with the bias's 1 already added to it.

    The planes come back as coefficients of the training rows, or as u when the mapped `rows` are given too.  In
    float64 always: Q is a difference of near equals divided by reg.
    """
    solution = Solution.empty(problem)

    def solve_near(a: int) -> None:
        own, reg = problem.block(a), float(problem.reg[a])
        root = np.sqrt(problem.weights[own])
        near_rows = kernel[own] * root[:, None]
        system = near_rows[:, own] * root
        system[np.diag_indices_from(system)] += reg
        factor = _factor(system)
        inverse_factor = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False)
        leverage = 1.0 - reg * np.einsum("ij,ij->j", inverse_factor, inverse_factor)
        whitened = near_rows.T @ inverse_factor.T
        crossed = whitened @ inverse_factor
        alpha, box = np.zeros(len(kernel)), np.ascontiguousarray(problem.box[:, a])
        # Q is a difference of near equals divided by reg: what rounding leaves in it.
        noise = 100.0 * np.finfo(np.float64).eps * len(factor) * float(np.abs(np.diag(kernel)).max()) / reg
        pulls, near_out, push_out, sweeps, gaps = kernels.solve_kernel_blocks(
            kernel, whitened, crossed, leverage, root, problem.starts, a, reg,
            problem.judged, box, alpha, _ridge(kernel.dtype), noise, problem.tol, problem.max_iter, a,
        )  # fmt: skip
        solution.alpha[:, a] = alpha
        for b in problem.large_blocks(problem.starts):
            if b != a:
                far = problem.block(b)
                used = np.flatnonzero(alpha[far] > 0)
                cross = crossed[far][used]
                q = (kernel[far][:, far][np.ix_(used, used)] - whitened[far][used] @ whitened[far][used].T) / reg
                near_out[:, b], push_out[far][used] = left_out_large(
                    q, cross, leverage, near_out[:, b], push_out[far][used], box[far][used], alpha[far][used], noise
                )
        solution.near[own] = near_out
        solution.far[:, a] = push_out
        solution.sweeps[a], solution.gaps[a] = sweeps, gaps
        near_coefficients[a] = pulls * root / reg

    near_coefficients: dict[int, Array] = {}
    problem.each(solve_near, range(problem.n_classes))
    solution.planes = _expand(near_coefficients, solution.alpha, problem, rows)
    return solution


def _expand(near: dict[int, Array], alpha: Array, problem: Problem, rows: Array | None) -> Array:
    """Planes from the coefficients of the kernel form, as u = H'c or, without rows, as the c themselves.

    c_a = sqrt(w) M^-1 K_ab alpha / reg on the near rows (given) and c_b = -alpha / reg on the pushed ones (Woodbury).
    """
    n_columns = len(alpha) if rows is None else rows.shape[1]
    planes = np.zeros((problem.n_classes, problem.n_classes, n_columns))
    for k in range(problem.n_classes):
        block = problem.block(k)
        pushed = -alpha[block].T / problem.reg[:, None]  # as class k is pushed by the planes near every other
        if rows is None:
            planes[k][:, block] += near[k]
            planes[:, k, block] += pushed
        else:
            planes[k] += near[k] @ rows[block]
            planes[:, k] += pushed @ rows[block]
    return planes


def solve_features(rows: Array, means: Array, problem: Problem) -> Solution:
    """Solve every plane on mapped rows (bias column included); `means` are those of the classes."""
    solution = Solution.empty(problem)
    solution.planes = np.zeros((problem.n_classes, problem.n_classes, rows.shape[1]), dtype=rows.dtype)
    size = _classes_at_once(len(rows), rows.shape[1], problem.n_classes)
    for first in range(0, problem.n_classes, size):
        group = range(first, min(first + size, problem.n_classes))
        states = problem.each(lambda a: _NearPlanes(rows, means, problem, a), group)
        pending = states
        for _ in range(_MAX_ROUNDS):
            values = _plane_values(rows, problem, pending)
            running = problem.each(lambda item: item[0].advance(item[1]), zip(pending, values.T, strict=True))
            pending = [state for state, more in zip(pending, running, strict=True) if more]
            if not pending:
                break
        else:  # out of rounds: certify what there is
            for state, column in zip(pending, _plane_values(rows, problem, pending).T, strict=True):
                state.certify(column)
        problem.each(lambda state: state.store(solution), states)
        problem.say(f"planes of {group.stop} of {problem.n_classes} classes solved")
    return solution


def _classes_at_once(n: int, n_columns: int, n_classes: int) -> int:
    """How many classes may hold a factor and a working set at a time: a sixth of the rows' memory, or 32 MB."""
    one_class = n_columns * (n_columns + min(n, 3000))
    return max(1, min(n_classes, max(n * n_columns // 6, 8_000_000) // one_class))


def _plane_values(rows: Array, problem: Problem, states: list[_NearPlanes]) -> Array:
    """h_i.u of every row in the plane near each of the states' classes that pushes the row's class."""
    values = np.empty((len(rows), len(states)), dtype=rows.dtype)
    for b in range(problem.n_classes):
        planes = np.stack([state.planes[b] for state in states])
        np.matmul(rows[problem.block(b)], planes.T, out=values[problem.block(b)])
    return values


class _NearPlanes:
    """The planes near one class while they are being solved: factor, working set, duals."""

    def __init__(self, rows: Array, means: Array, problem: Problem, near: int) -> None:
        self.rows, self.problem, self.near = rows, problem, near
        own = problem.block(near)
        self.whitener = Whitener(gram_matrix(rows[own], problem.weights[own]), float(problem.reg[near]), rows.dtype)
        self.box = np.ascontiguousarray(problem.box[:, near])
        self.scales = np.add.reduceat(self.box, problem.starts[:-1])
        self.alpha = np.zeros(len(rows))
        self.in_set = np.zeros(len(rows), dtype=bool)
        self.members = np.empty(0, dtype=np.int64)
        self.whitened = np.empty((0, rows.shape[1]), dtype=rows.dtype)
        self.sweeps = np.zeros(problem.n_classes, dtype=np.int64)
        self.gaps = np.full(problem.n_classes, np.inf)
        self.inner_tol = 0.5 * problem.tol
        self.values = np.empty(0)
        # A first guess that costs one solve: u = -G^-1 m_b, scaled to -1 at the mean m_b of class b.
        pulls = self.whitener.rows(means.astype(rows.dtype))
        self.planes = self.whitener.planes(pulls / np.einsum("ij,ij->i", pulls, pulls)[:, None])

    def advance(self, values: Array) -> bool:
        """Take the worst violators in, solve on the working set; False when every gap is within tol."""
        problem, first_round, before = self.problem, len(self.members) == 0, self.gaps.max()
        # The first values are those of a least-squares guess: they rank rows and certify nothing.
        joined = self.certify(values, -1.0 if first_round else problem.tol, _GROWTH, _FIRST_SET)
        if not first_round:
            gaps = self.gaps
            stalled = not joined.any() and gaps.max() > 0.99 * before  # rounding lets nothing move
            if stalled or ((gaps <= problem.tol) | (self.sweeps >= problem.max_iter)).all():
                return False
            if joined.any():
                # Rows far beyond the margin that push nothing leave again; those near it may yet be needed.
                self.in_set &= (self.alpha > 0) | (values > _FAR)
            else:
                self.inner_tol *= 0.25
        self._whiten_joined()
        starts = np.searchsorted(self.members, problem.starts)
        alpha = self.alpha[self.members]
        pulls = np.zeros((problem.n_classes, self.rows.shape[1]), dtype=self.rows.dtype)
        sweeps = kernels.solve_row_blocks(
            self.whitened, starts, self.near, self.scales, self.box[self.members], alpha, pulls,
            self.inner_tol, np.maximum(problem.max_iter - self.sweeps, 0), self.near,
        )  # fmt: skip
        self.alpha[self.members] = alpha
        self.sweeps += sweeps
        self.planes = self.whitener.planes(pulls)
        return True

    def certify(self, values: Array, tol: float = 0.0, growth: float = 0.0, at_least: int = 0) -> Array:
        """Set values and gaps, let violators join the working set; return how many of each class joined."""
        self.values = values
        self.gaps, joined = kernels.select_violators(
            values, self.box, self.alpha, self.in_set, self.problem.starts, self.near, tol, growth, at_least
        )
        return np.asarray(joined)

    def _whiten_joined(self) -> None:
        """Whiten the rows that joined and merge them in, keeping the working set sorted by class."""
        members = np.flatnonzero(self.in_set)
        known = np.isin(members, self.members, assume_unique=True)
        whitened = np.empty((len(members), self.rows.shape[1]), dtype=self.rows.dtype)
        whitened[known] = self.whitened[np.isin(self.members, members, assume_unique=True)]
        del self.whitened
        new = np.flatnonzero(~known)
        for first in range(0, len(new), _TILE):
            tile = new[first : first + _TILE]
            whitened[tile] = self.whitener.rows(self.rows[members[tile]])
        self.members, self.whitened = members, whitened

    def store(self, solution: Solution) -> None:
        """Write planes, duals, certificates and left-out values into the solution."""
        problem, a = self.problem, self.near
        planes = self.planes.copy()
        planes[a] = 0.0
        solution.planes[a] = planes
        solution.alpha[:, a] = self.alpha
        solution.gaps[a], solution.sweeps[a] = self.gaps, self.sweeps
        solution.gaps[a, a] = 0.0
        own = np.arange(problem.starts[a], problem.starts[a + 1])
        own = own[problem.judged[own]]
        near_values = self.rows[own] @ planes.T
        near_rows = self.whitener.rows(weighted(self.rows[own], problem.weights[own]))
        leverage = np.einsum("ij,ij->i", near_rows, near_rows)
        starts = np.searchsorted(self.members, problem.starts)
        box, alpha, wanted = self.box[self.members], self.alpha[self.members], problem.judged[self.members]
        values = self.values[self.members].astype(np.float64)
        near_out = near_values.astype(np.float64)
        kernels.left_out_blocks(
            self.whitened,
            starts,
            a,
            near_rows,
            leverage,
            near_values,
            wanted,
            box,
            alpha,
            _ridge(self.rows.dtype),
            values,
            near_out,
        )
        for b in problem.large_blocks(starts):
            if b != a:
                # Free points make the projection; of those at the bound only the wanted ones are needed.
                block = np.arange(starts[b], starts[b + 1])
                used = block[(alpha[block] > 0) & ((alpha[block] < box[block]) | wanted[block])]
                zeta = self.whitened[used]
                near_out[:, b], values[used] = left_out_large(
                    zeta @ zeta.T, zeta @ near_rows.T, leverage, near_values[:, b], values[used], box[used], alpha[used]
                )
        solution.near[own] = near_out
        far = self.values.astype(np.float64)
        far[self.members] = values
        solution.far[:, a] = far
        # The factor and the working set are large: let them go before the next group starts.
        del self.whitener, self.whitened


def _factor(system: Array) -> Array:
    """Cholesky factor of a system of inner products."""
    try:
        factor: Array = cholesky(system, lower=True, check_finite=False)
    except LinAlgError as error:
        raise ValueError(
            "The kernel matrix is not positive semi-definite. A kernel that is a function must be symmetric and have "
            "no negative eigenvalues; where it is only nearly singular, raise reg."
        ) from error
    return factor


def _definite_factor(system: Array) -> Array:
    """Cholesky factor for points that may depend on each other: the ridge grows until there is one."""
    for ridge in (0.0, 1e-6, 1e-4, 1e-2):
        try:
            ridged = system + ridge * np.diag(system).max() * np.eye(len(system))
            factor: Array = cholesky(ridged, lower=True, check_finite=False)
        except LinAlgError:
            continue
        return factor
    return _factor(system)  # raises


def _ridge(dtype: np.dtype) -> float:
    """Return what keeps the system of the free points definite, relative to its largest diagonal entry."""
    return max(1e-8, 100.0 * float(np.finfo(dtype).eps))


def left_out_large(
    q: Array,
    cross: Array,
    leverage: Array,
    near_values: Array,
    push_values: Array,
    box: Array,
    alpha: Array,
    noise: float = 0.0,
) -> tuple[Array, Array]:
    """Left-out values of a plane with many pushed rows, where one row more or less moves no other to the margin.

    The span estimate (Vapnik and Chapelle 2000): with the free points F held at the margin and M = I - P_F,

        row i of the near class:    h_i.u / (1 - w_i zeta_i'M zeta_i)
        row j of the pushed class:  h_j.u + alpha_j zeta_j'M zeta_j   (M without j itself if j is free)

    Arguments as in `kernels.left_out_near`, for pushed rows with alpha > 0.
    """
    span, projected = np.diag(q).astype(np.float64), leverage.astype(np.float64)
    free = np.flatnonzero((alpha > 1e-9 * box) & (alpha < (1.0 - 1e-9) * box))
    if len(free):
        system = q[np.ix_(free, free)].astype(np.float64)
        system[np.diag_indices_from(system)] += _ridge(q.dtype) * np.diag(system).max() + noise
        factor = _definite_factor(system)
        projected -= (solve_triangular(factor, cross[free], lower=True, check_finite=False) ** 2).sum(axis=0)
        span -= (solve_triangular(factor, q[free], lower=True, check_finite=False) ** 2).sum(axis=0)
        inverse = solve_triangular(factor, np.eye(len(free)), lower=True, check_finite=False)
        span[free] = 1.0 / np.einsum("ij,ij->j", inverse, inverse)
    near_out = near_values / np.maximum(1.0 - np.maximum(projected, 0.0), 1e-6)
    return near_out, push_values + alpha * np.maximum(span, 0.0)
