"""Solve problem (P) on mapped rows: coordinate descent in the dual, on working sets that grow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from .._arrays import Array, tiles
from .._log import LOG
from .._threads import stop_if_interrupted
from . import _descent_loops, _working_set_loops
from .left_out import left_out_features
from .problem import Problem, Solution, Start, few_rows

_USUAL_SET = 1000  # rows in the working set of a class, for an estimate of memory
_GROWTH = 0.5  # largest growth of a working set in one round
_MAX_ROUNDS = 100
_FAR = -1.05  # a row with a zero dual leaves the working set if its plane value is below this
_TILE = 1024  # rows whitened at a time
_FEW_PLANES = 8  # for at most so many planes, a loop is faster than BLAS
_FEW_ROWS = 20_000  # for at most so many rows, one loop is faster than threads
_STRIP = 512  # rows of one BLAS product: few enough that BLAS packs them in the cache


def solve_features(rows: Array, box: Array, problem: Problem, start: Start) -> Solution:
    """Solve planes on mapped rows (bias column included)."""
    return solve_path(rows, box, problem, start, (1.0,))[0]


def solve_path(rows: Array, box: Array, problem: Problem, start: Start, multiples: Sequence[float]) -> list[Solution]:
    """Solve planes on mapped rows for several multiples of the boxes, each from the solution before it.

    All multiples share the factors and the whitened rows.
    """
    solutions = []
    for _ in multiples:
        solution = Solution.empty(problem, rows.shape[1], rows.dtype)
        if start.alpha is not None:
            solution.alpha[:] = start.alpha
        solutions.append(solution)
    classes = np.flatnonzero(start.todo.any(axis=1))
    size = _classes_at_once(rows, problem, start.first)
    for first in range(0, len(classes), size):
        group = classes[first : first + size]
        solvers = problem.each(lambda a: _NearPlanes(rows, box[:, a], problem, int(a), start), group)
        for multiple, solution in zip(multiples, solutions, strict=True):
            for solver in solvers:
                solver.use_multiple(multiple)
            _run(rows, problem, solvers)
            problem.each(partial(_NearPlanes.store, solution=solution), solvers)
        del solvers  # free the factors and working sets, which are large, before the next group
        LOG.debug("planes of %d of %d classes solved", first + len(group), len(classes))
    return solutions


def _run(rows: Array, problem: Problem, pending: list[_NearPlanes]) -> None:
    """Let the working sets grow until every plane is solved."""
    for _ in range(_MAX_ROUNDS):
        values = _plane_values(rows, problem, pending)
        running = problem.each(lambda pair: pair[0].advance(pair[1]), zip(pending, values, strict=True))
        pending = [solver for solver, more in zip(pending, running, strict=True) if more]
        if not pending:
            return
    for solver, row in zip(pending, _plane_values(rows, problem, pending), strict=True):
        solver.certify(row)  # no rounds left: only compute the gaps


def _classes_at_once(rows: Array, problem: Problem, first_set: int) -> int:
    """Return how many classes are solved at a time.

    Their factors and working sets need about half as much memory as the rows, or 16 million numbers.
    """
    n, n_columns = rows.shape
    sizes = np.diff(problem.starts)
    largest = int(sizes.max())
    if few_rows(sizes, int(sizes.argmax()), rows, float(problem.reg.min())):
        factor, width = largest * (n_columns + largest), n_columns + largest
    else:
        factor, width = n_columns**2, n_columns
    working_set = min(n, max(_USUAL_SET, first_set * problem.n_classes))
    room = max(n * n_columns // 2, 16_000_000)
    return max(1, min(problem.n_classes, int(room // max(1, factor + working_set * width))))


def _plane_values(rows: Array, problem: Problem, solvers: list[_NearPlanes]) -> Array:
    """Return h_i.u (n_solvers, n) of every row in the plane near each solver's class that pushes the row's class."""
    values = np.empty((len(solvers), len(rows)), dtype=rows.dtype)
    if len(solvers) <= _FEW_PLANES and len(rows) <= _FEW_ROWS:
        planes = np.stack([solver.planes for solver in solvers], axis=1)
        _working_set_loops.pushing_plane_values(rows, problem.starts, planes, values)
        return values

    def values_of_class(b: int) -> None:
        planes = np.stack([solver.planes[b] for solver in solvers])
        values_of(rows[problem.block(b)], planes, values[:, problem.block(b)])

    problem.each(values_of_class, range(problem.n_classes))
    return values


def values_of(rows: Array, planes: Array, out: Array) -> None:
    """Write h_i.u of every row in each of the planes into `out` (n_planes, n)."""
    if len(planes) <= _FEW_PLANES:
        _working_set_loops.plane_values(rows, planes, out)
        return
    for strip in tiles(0, len(rows), _STRIP):
        out[:, strip] = (rows[strip] @ planes.T).T


class _NearPlanes:
    """The planes near one class while they are solved: factor, working set, duals."""

    def __init__(self, rows: Array, box: Array, problem: Problem, near: int, start: Start) -> None:
        n_classes = problem.n_classes
        self.rows = rows
        self.problem = problem
        self.near = near
        self.whitener = start.factor(near)
        self.width = len(self.whitener.signs) or rows.shape[1]  # columns of a whitened row
        self.todo = np.ascontiguousarray(start.todo[near])
        self.first_set = start.first
        self.box = np.ascontiguousarray(box)
        self.primal_at_zero = np.array([self.box[problem.block(b)].sum() for b in range(n_classes)])
        self.primal_at_zero += start.fixed_box[near]
        self.alpha = np.zeros(len(rows)) if start.alpha is None else np.ascontiguousarray(start.alpha[:, near])
        self.fixed_sums = np.zeros((n_classes, self.width), dtype=rows.dtype)
        if start.fixed_sums is not None:
            self.fixed_sums = self.whitener.rows(start.fixed_sums[near].astype(rows.dtype))
        self.dual_sums = np.zeros((n_classes, self.width), dtype=rows.dtype)
        self.in_set = np.zeros(len(rows), dtype=bool)
        self.working_set = np.empty(0, dtype=np.int64)
        self.whitened = np.empty((0, self.width), dtype=rows.dtype)
        self.values = np.empty(0)
        self.multiple = 1.0
        self._forget_progress()
        self._begin(start)

    def _forget_progress(self) -> None:
        """Reset sweeps, gaps and bounds: no plane is solved yet."""
        n_classes = self.problem.n_classes
        self.sweeps = np.zeros(n_classes, dtype=np.int64)
        self.gaps = np.full(n_classes, np.inf)
        self.bounds = np.zeros((n_classes, 2))
        self.inner_tol = 0.5 * self.problem.options.tol

    def _begin(self, start: Start) -> None:
        """Set the first planes: the given ones, those of the given duals, or a guess.

        Without duals the first planes have no duality gap; they only rank the rows.  `phase` decides how the first
        working set is chosen from them.
        """
        has_duals = self.alpha.any() or (start.fixed_sums is not None and start.fixed_sums[self.near].any())
        if start.planes is not None:
            self.phase = "solved" if has_duals else "given"
            self.planes = start.planes[self.near].astype(self.rows.dtype, copy=False)
        elif has_duals:
            self.phase = "solved"
            self.in_set = (self.alpha > 0) & self._is_todo()
            self._whiten_joined()
            self._solve(self.todo, sweeps=0)
        else:
            self.phase = "guessed"
            self.planes = self._guess(start.guess.astype(self.rows.dtype))

    def _guess(self, means: Array) -> Array:
        """Guess u = -G^-1 m_b, scaled so that it is -1 at the mean m_b of class b."""
        dual_sums = self.whitener.rows(means)
        signed = dual_sums * self.whitener.signs if len(self.whitener.signs) else dual_sums
        squares = np.einsum("ij,ij->i", signed, dual_sums)
        return self.whitener.planes(dual_sums / np.where(squares > 0, squares, 1.0)[:, None])

    def _is_todo(self) -> Array:
        """Mark the rows that push a plane to be solved."""
        return np.repeat(self.todo, np.diff(self.problem.starts))

    def use_multiple(self, multiple: float) -> None:
        """Multiply the first boxes by `multiple`; duals at their bound stay at their bound."""
        if multiple == self.multiple:
            return
        growth = multiple / self.multiple
        box = self.box * growth
        self.alpha = _descent_loops.carry_duals(self.alpha[:, None], self.box[:, None], box[:, None])[:, 0]
        self.box = box
        self.primal_at_zero = self.primal_at_zero * growth
        self.multiple = multiple
        self._forget_progress()
        if self.phase == "solved":
            self._solve(self.todo, sweeps=0)

    def advance(self, values: Array) -> bool:
        """Add the worst violators to the working set and solve on it; return False when every gap is within tol."""
        options = self.problem.options
        gap_before = self.gaps.max()
        unsolved = self.todo
        if self.phase == "given":
            self.in_set = (values > -1.0) & self._is_todo()
        elif self.phase == "guessed":
            _working_set_loops.first_set(values, self.problem.starts, self.todo, self.first_set, self.in_set)
        else:
            joined = self.certify(values, options.tol, _GROWTH, self.first_set)
            gaps = self.gaps
            stalled = not joined.any() and gaps.max() > 0.99 * gap_before  # limited by rounding
            if stalled or ((gaps <= options.tol) | (self.sweeps >= options.max_iter)).all():
                return False
            unsolved = self.todo & ((joined > 0) | (gaps > options.tol))
            if joined.any():
                # Rows with a zero dual leave if they are far beyond the margin; those near it may be needed later.
                self.in_set &= (self.alpha > 0) | (values > _FAR)
            else:
                self.inner_tol *= 0.25
        self.phase = "solved"
        self._whiten_joined()
        self._solve(unsolved, sweeps=options.max_iter)
        return True

    def _solve(self, classes: Array, sweeps: int) -> None:
        """Solve the planes that push some classes on the working set, with at most `sweeps` sweeps in total.

        Zero sweeps only compute the planes of the duals.
        """
        starts = np.searchsorted(self.working_set, self.problem.starts)
        alpha, box = self.alpha[self.working_set], self.box[self.working_set]
        todo = classes.copy()
        while todo.any():  # calls are short, so that Ctrl-C ends a long solve
            stop_if_interrupted()
            _descent_loops.solve_row_blocks(
                self.whitened, self.whitener.signs, starts, todo, self.primal_at_zero, box, alpha, self.fixed_sums,
                self.dual_sums, self.bounds, self.inner_tol, sweeps, self.near, self.sweeps,
            )  # fmt: skip
        self.alpha[self.working_set] = alpha
        self.planes = self.whitener.planes(self.dual_sums)

    def certify(self, values: Array, tol: float = 0.0, growth: float = 0.0, at_least: int = 0) -> Array:
        """Compute the gaps and let violators join the working set; return how many rows of each class joined."""
        self.values = values
        self.gaps, joined = np.zeros(len(self.todo)), np.zeros(len(self.todo), dtype=np.int64)
        _working_set_loops.select_violators(
            values, self.box, self.alpha, self.in_set, self.problem.starts, self.todo, self.primal_at_zero, tol,
            growth, at_least, self.gaps, joined,
        )  # fmt: skip
        return joined

    def _whiten_joined(self) -> None:
        """Whiten the rows that joined and merge them in; the working set stays sorted by class."""
        working_set = np.flatnonzero(self.in_set)
        was_in = np.zeros(len(self.in_set), dtype=bool)
        was_in[self.working_set] = True
        has_whitened = was_in[working_set]
        if not has_whitened.all() or len(working_set) < len(self.working_set):
            whitened = np.empty((len(working_set), self.width), dtype=self.rows.dtype)
            whitened[has_whitened] = self.whitened[self.in_set[self.working_set]]
            del self.whitened
            new = np.flatnonzero(~has_whitened)
            for part in tiles(0, len(new), _TILE):
                tile = new[part]
                place = slice(tile[0], tile[-1] + 1) if tile[-1] - tile[0] == len(tile) - 1 else tile
                whitened[place] = self.whitener.rows(self.rows[working_set[tile]])
            self.whitened = whitened
        self.working_set = working_set

    def store(self, solution: Solution) -> None:
        """Write the solved planes, their duals, gaps and left-out values into the solution."""
        a, done = self.near, self.todo
        solution.planes[a, done] = self.planes[done]
        solution.alpha[:, a] = self.alpha
        solution.gaps[a, done], solution.sweeps[a, done] = self.gaps[done], self.sweeps[done]
        solution.bounds[a, done] = self.bounds[done]
        solution.box_sums[a, done] = self.primal_at_zero[done]
        if self.problem.wanted.any():
            left_out_features(self, solution)
