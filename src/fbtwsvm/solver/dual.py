"""Problem (P) on mapped rows: coordinate descent in the dual, on working sets of the rows that matter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from .._arrays import Array, tiles
from .._log import LOG
from . import _loops, _working_set_loops
from .left_out import left_out_features
from .problem import Problem, Solution, Start

_GROWTH = 0.5  # what a working set grows by in a round at most
_MAX_ROUNDS = 100
_FAR = -1.05  # plane value below which an idle row leaves the working set
_TILE = 1024  # rows whitened at a time
_FEW_PLANES = 8  # planes up to which values are found faster without BLAS
_STRIP = 512


def solve_features(rows: Array, box: Array, problem: Problem, start: Start) -> Solution:
    """Solve planes on mapped rows (bias column included)."""
    return solve_path(rows, box, problem, start, (1.0,))[0]


def solve_path(rows: Array, box: Array, problem: Problem, start: Start, multiples: Sequence[float]) -> list[Solution]:
    """Solve planes on mapped rows for several multiples of the boxes, each from the solution before it.

    Factors and whitened rows serve all of them.
    """
    solutions = []
    for _ in multiples:
        solution = Solution.empty(problem, rows.shape[1], rows.dtype)
        if start.alpha is not None:
            solution.alpha[:] = start.alpha
        solutions.append(solution)
    classes = np.flatnonzero(start.todo.any(axis=1))
    size = _classes_at_once(rows, problem)
    for first in range(0, len(classes), size):
        group = classes[first : first + size]
        solvers = problem.each(lambda a: _NearPlanes(rows, box[:, a], problem, int(a), start), group)
        for multiple, solution in zip(multiples, solutions, strict=True):
            for solver in solvers:
                solver.use_multiple(multiple)
            _run(rows, problem, solvers)
            problem.each(partial(_NearPlanes.store, solution=solution), solvers)
        del solvers  # factors and working sets are large: let them go before the next group starts
        LOG.debug("planes of %d of %d classes solved", first + len(group), len(classes))
    return solutions


def _run(rows: Array, problem: Problem, pending: list[_NearPlanes]) -> None:
    """Let working sets grow until every plane is solved."""
    for _ in range(_MAX_ROUNDS):
        values = _plane_values(rows, problem, pending)
        running = problem.each(lambda pair: pair[0].advance(pair[1]), zip(pending, values, strict=True))
        pending = [solver for solver, more in zip(pending, running, strict=True) if more]
        if not pending:
            return
    for solver, row in zip(pending, _plane_values(rows, problem, pending), strict=True):
        solver.certify(row)  # out of rounds: certify what there is


def _classes_at_once(rows: Array, problem: Problem) -> int:
    """How many classes may hold a factor and a working set at a time: half of the rows' memory, or 64 MB."""
    n, n_columns = rows.shape
    one_class = n_columns * (n_columns + min(n, 2000))
    room = max(6 * n * n_columns // 10, 16_000_000) // one_class
    return max(1, min(problem.n_classes, int(room)))


def _plane_values(rows: Array, problem: Problem, solvers: list[_NearPlanes]) -> Array:
    """h_i.u of every row in the plane near each of the solvers' classes that pushes the row's class: (solvers, n)."""
    values = np.empty((len(solvers), len(rows)), dtype=rows.dtype)

    def look(b: int) -> None:
        planes = np.stack([solver.planes[b] for solver in solvers])
        values_of(rows[problem.block(b)], planes, values[:, problem.block(b)])

    problem.each(look, range(problem.n_classes))
    return values


def values_of(rows: Array, planes: Array, out: Array) -> None:
    """Write h_i.u of every row in each of the planes into `out` (planes, rows)."""
    if len(planes) <= _FEW_PLANES:
        _working_set_loops.plane_values(rows, planes, out)
        return
    for strip in tiles(0, len(rows), _STRIP):  # so few rows that BLAS packs them in the cache
        out[:, strip] = (rows[strip] @ planes.T).T


class _NearPlanes:
    """The planes near one class while they are being solved: factor, working set, duals."""

    def __init__(self, rows: Array, box: Array, problem: Problem, near: int, start: Start) -> None:
        n_classes = problem.n_classes
        self.rows, self.problem, self.near = rows, problem, near
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
        self.in_set = np.zeros(len(rows), dtype=bool)
        self.working_set = np.empty(0, dtype=np.int64)
        self.whitened = np.empty((0, self.width), dtype=rows.dtype)
        self.values = np.empty(0)
        self.multiple = 1.0
        self._forget_progress()
        self._begin(start)

    def _forget_progress(self) -> None:
        """Nothing is solved yet."""
        n_classes = self.problem.n_classes
        self.sweeps = np.zeros(n_classes, dtype=np.int64)
        self.gaps = np.full(n_classes, np.inf)
        self.bounds = np.zeros((n_classes, 2))
        self.inner_tol = 0.5 * self.problem.options.tol

    def _begin(self, start: Start) -> None:
        """Set the first planes: those of the duals, those given, or a guess.

        Until there are duals, planes are only good enough to rank rows: `phase` says how the first working set is
        found from them, and there is no certificate.
        """
        has_duals = self.alpha.any() or (start.fixed_sums is not None and start.fixed_sums[self.near].any())
        if start.planes is not None:
            self.phase = "solved" if has_duals else "given"
            self.planes = start.planes[self.near].astype(self.rows.dtype, copy=False)
        elif has_duals:
            self.phase = "solved"
            self.in_set = (self.alpha > 0) & self._is_todo()
            self._whiten_joined()
            self._solve(sweeps=0)
        else:
            self.phase = "guessed"
            self.planes = self._guess(start.guess.astype(self.rows.dtype))

    def _guess(self, means: Array) -> Array:
        """Return u = -G^-1 m_b, scaled to -1 at the mean m_b of class b: one solve."""
        dual_sums = self.whitener.rows(means)
        signed = dual_sums * self.whitener.signs if len(self.whitener.signs) else dual_sums
        squares = np.einsum("ij,ij->i", signed, dual_sums)
        return self.whitener.planes(dual_sums / np.where(squares > 0, squares, 1.0)[:, None])

    def _is_todo(self) -> Array:
        """Mark the rows that push planes which are to be solved."""
        return np.repeat(self.todo, np.diff(self.problem.starts))

    def use_multiple(self, multiple: float) -> None:
        """Go over to so many times the first boxes; duals at their bound stay there."""
        if multiple == self.multiple:
            return
        growth = multiple / self.multiple
        box = self.box * growth
        self.alpha = _loops.carry_duals(self.alpha[:, None], self.box[:, None], box[:, None])[:, 0]
        self.box, self.primal_at_zero, self.multiple = box, self.primal_at_zero * growth, multiple
        self._forget_progress()
        if self.phase == "solved":
            self._solve(sweeps=0)

    def advance(self, values: Array) -> bool:
        """Take the worst violators in, solve on the working set; False when every gap is within tol."""
        problem, options, before = self.problem, self.problem.options, self.gaps.max()
        if self.phase == "given":
            self.in_set = (values > -1.0) & self._is_todo()
        elif self.phase == "guessed":
            _working_set_loops.first_set(values, problem.starts, self.todo, self.first_set, self.in_set)
        else:
            joined = self.certify(values, options.tol, _GROWTH, self.first_set)
            gaps = self.gaps
            stalled = not joined.any() and gaps.max() > 0.99 * before  # rounding lets nothing move
            if stalled or ((gaps <= options.tol) | (self.sweeps >= options.max_iter)).all():
                return False
            if joined.any():
                # Rows far beyond the margin that push nothing leave again; those near it may yet be needed.
                self.in_set &= (self.alpha > 0) | (values > _FAR)
            else:
                self.inner_tol *= 0.25
        self.phase = "solved"
        self._whiten_joined()
        self._solve(sweeps=options.max_iter)
        return True

    def _solve(self, sweeps: int) -> None:
        """Solve on the working set with at most so many sweeps in all; with none, only find the planes of the duals."""
        starts = np.searchsorted(self.working_set, self.problem.starts)
        alpha = self.alpha[self.working_set]
        dual_sums = np.zeros((self.problem.n_classes, self.width), dtype=self.rows.dtype)
        self.sweeps += _loops.solve_row_blocks(
            self.whitened, self.whitener.signs, starts, self.todo, self.primal_at_zero, self.box[self.working_set],
            alpha, self.fixed_sums, dual_sums, self.bounds, self.inner_tol, np.maximum(sweeps - self.sweeps, 0),
            self.near,
        )  # fmt: skip
        self.alpha[self.working_set] = alpha
        self.planes = self.whitener.planes(dual_sums)

    def certify(self, values: Array, tol: float = 0.0, growth: float = 0.0, at_least: int = 0) -> Array:
        """Set values and gaps, let violators join the working set; return how many of each class joined."""
        self.values = values
        self.gaps, joined = _working_set_loops.select_violators(
            values,
            self.box,
            self.alpha,
            self.in_set,
            self.problem.starts,
            self.todo,
            self.primal_at_zero,
            tol,
            growth,
            at_least,
        )
        return np.asarray(joined)

    def _whiten_joined(self) -> None:
        """Whiten the rows that joined and merge them in, keeping the working set sorted by class."""
        working_set = np.flatnonzero(self.in_set)
        was_in = np.zeros(len(self.in_set), dtype=bool)
        was_in[self.working_set] = True
        known = was_in[working_set]
        if not known.all() or len(working_set) < len(self.working_set):
            whitened = np.empty((len(working_set), self.width), dtype=self.rows.dtype)
            whitened[known] = self.whitened[self.in_set[self.working_set]]
            del self.whitened
            new = np.flatnonzero(~known)
            for part in tiles(0, len(new), _TILE):
                tile = new[part]
                place = slice(tile[0], tile[-1] + 1) if tile[-1] - tile[0] == len(tile) - 1 else tile
                whitened[place] = self.whitener.rows(self.rows[working_set[tile]])
            self.whitened = whitened
        self.working_set = working_set

    def store(self, solution: Solution) -> None:
        """Write planes, duals and certificates of what was to be solved into the solution, then left-out values."""
        a, done = self.near, self.todo
        solution.planes[a, done] = self.planes[done]
        solution.alpha[:, a] = self.alpha
        solution.gaps[a, done], solution.sweeps[a, done] = self.gaps[done], self.sweeps[done]
        solution.bounds[a, done] = self.bounds[done]
        solution.box_sums[a, done] = self.primal_at_zero[done]
        if self.problem.wanted.any():
            left_out_features(self, solution)
