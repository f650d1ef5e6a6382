"""Solve planes on rows that are not held: only rows near the margin are brought together.

From a good plane on, a row far on one side of the margin stays on its side: its dual is at its bound, or zero.  So a
pass adds up the rows beyond a margin of width w and brings back the few within it, and problem (P) is solved in the
dual on these, with the sums held fixed.  The next pass finds the true primal at the new plane, and with it the true
gap.  Rows that have changed sides meanwhile are brought back with the next ones.

This is for planes that few rows push, where Newton's method takes many steps, and for tolerances that the smoothed
hinge of Newton's method does not reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from .._arrays import Array, class_starts
from .._log import LOG
from .dual import solve_features
from .factors import gram_factor, weighted
from .left_out import MOST_FREE, left_out_large
from .newton import NARROWEST
from .newton_sums import by_class, margins
from .plane_duals import PlaneDuals, SharpDuals
from .problem import Factor, Outline, Problem, Solution, Start
from .row_reader import Boxes, ByClass, MappedRows, RowReader, Tiles

MOST_ROUNDS = 12  # each takes a pass over the rows, and reads those near the margin
_MOST_BYTES = 2**28  # of mapped rows that are brought together
_MOST_ROWS = 2**17
_RECENT = 3  # planes of the last rounds: rows between them are near the margin
_WIDTHS = 2.0 ** np.arange(3, -14, -1)  # widths that are tried
_SHARPER = 1e-3  # the rows near the margin are solved to this share of tol, and no sharper than the least
_LEAST_TOL = 1e-10
_PATIENCE = 5  # rounds without a smaller gap after which there are no more


@dataclass(frozen=True)
class _Look:
    """Where a pass looks: for each pushed class the near classes (m,), and the planes of the last rounds (r, m, D).

    width  half of the width of the margin: a row is near it if any of these planes has it within, or if it lies on
           different sides of two of them
    """

    boxes: Boxes
    planes: dict[int, tuple[Array, Array]]
    width: float


@dataclass
class _Found:
    """What a pass finds of one pushed class, for m planes.

    losses    (m, 3): true hinge loss at the newest planes, boxes, boxes of the rows beyond the margin
    beyond    (m, D): sum of box_i h_i of these
    counts    (len(_WIDTHS),): number of rows nearer than each width to any of the newest planes
    classes   (m,): the classes that the planes are near to
    numbers   rows near the margin of any plane, with their boxes (n, m); zero where a row is not near that margin
    """

    losses: Array
    beyond: Array
    counts: Array
    classes: Array
    numbers: Array
    boxes: Array

    def __add__(self, other: _Found) -> _Found:
        return _Found(
            self.losses + other.losses,
            self.beyond + other.beyond,
            self.counts + other.counts,
            self.classes,
            np.concatenate([self.numbers, other.numbers]),
            np.concatenate([self.boxes, other.boxes]),
        )


_Pass = ByClass[_Found]


def _sort_out(rows: Tiles, look: _Look) -> _Pass:
    """Sort rows into those near the margin, which are brought back, and those beyond it, which are added up."""
    total: _Pass = ByClass({})
    for tile in rows:
        near, planes = look.planes[tile.label]
        rounds, count, n_columns = planes.shape
        x = margins(tile.rows, planes.reshape(-1, n_columns)).reshape(rounds, count, -1)
        box = np.ascontiguousarray(look.boxes(tile)[:, near].T)
        within = (x.min(axis=0) < look.width) & (x.max(axis=0) > -look.width)
        bound = np.where(~within & (x[-1] > 0), box, 0.0)
        losses = [(box * np.maximum(x[-1], 0.0)).sum(axis=1), box.sum(axis=1), bound.sum(axis=1)]
        some = np.flatnonzero(within.any(axis=0))
        found = _Found(
            np.column_stack(losses),
            (bound.astype(tile.rows.dtype) @ tile.rows).astype(np.float64),
            (np.abs(x[-1]).min(axis=0)[:, None] < _WIDTHS).sum(axis=0),
            near,
            tile.each_number[some],
            np.where(within, box, 0.0)[:, some].T,
        )
        total = total + ByClass({tile.label: found})
    return total


def finish(
    reader: RowReader,
    boxes: Boxes,
    problem: Outline,
    grams: Sequence[Array],
    start: Start,
    wanted: MappedRows,
    solution: Solution,
) -> SharpDuals:
    """Solve the planes of `start.todo` from those of `start.planes`; write them into the solution and return the duals.

    `grams` are the Gram matrices without the ridge, `start` has their factors, `wanted` are the calibration rows.
    """
    assert start.planes is not None
    sharp, n_classes = [], problem.n_classes
    sizes = np.diff(problem.starts)
    most = most_rows(start.planes.shape[2], wanted.rows.dtype)
    for group in _groups(sizes, np.flatnonzero(start.todo.any(axis=0)), most):
        todo = start.todo & np.isin(np.arange(n_classes), group)
        rounds = _Rounds(reader, boxes, problem, grams, replace(start, todo=todo), wanted, solution)
        rounds.run(most)
        sharp.append(rounds.sharp_duals())
    return SharpDuals.joined(sharp, n_classes)


def most_rows(n_columns: int, dtype: np.dtype) -> int:
    """Return how many mapped rows may be brought together."""
    return min(_MOST_ROWS, _MOST_BYTES // (dtype.itemsize * n_columns))


def _groups(sizes: Array, classes: Array, most: int) -> list[list[int]]:
    """Return groups of pushed classes that are solved together: small ones, as long as all of their rows may come."""
    groups: list[list[int]] = []
    room = 0
    for b in classes.tolist():
        if sizes[b] > room:
            groups.append([])
            room = most
        groups[-1].append(b)
        room -= int(sizes[b])
    return groups


class _Rounds:
    """Planes that are not solved yet, and the rounds in which they are."""

    def __init__(
        self,
        reader: RowReader,
        boxes: Boxes,
        problem: Outline,
        grams: Sequence[Array],
        start: Start,
        wanted: MappedRows,
        solution: Solution,
    ) -> None:
        assert start.planes is not None
        self.reader, self.boxes, self.problem, self.start = reader, boxes, problem, start
        self.grams, self.wanted, self.solution = grams, wanted, solution
        self.todo, todo = start.todo.copy(), start.todo
        self.recent = [start.planes.astype(np.float64)]
        self.newest: dict[tuple[int, int], tuple[Array, Array, Array]] = {}  # numbers, duals and boxes of the newest
        self.taken: dict[tuple[int, int], tuple[Array, Array, Array]] = {}  # the same of the planes in the solution
        self.progress: list[float] = []  # sums of the gaps after each round
        self.duals = np.full(todo.shape, -np.inf)  # the largest dual objectives that are known
        near = np.flatnonzero(todo.any(axis=1)).tolist()
        factors = problem.each(lambda a: gram_factor(grams[a], float(problem.reg[a]), solution.planes.dtype), near)
        self.factors = dict(zip(near, factors, strict=True))

    def run(self, most: int) -> None:
        """Take rounds until every gap is within tol; at most so many rows are brought together in each."""
        few = np.diff(self.problem.starts)[self.todo.any(axis=0)].sum() <= most
        width = np.inf if few else 0.0
        for number in range(MOST_ROUNDS + 1):
            found = self._look(width)
            self._certify(found)
            if number:
                LOG.info("rows near the margin: largest gap %.2g", self.solution.gaps[self.start.todo].max())
            if not self.todo.any() or number == MOST_ROUNDS or self._stalls():
                break
            if not few:
                count = sum(len(one.numbers) for one in found.by_class.values())
                width = self._width(found, most)
                if number == 0 or count > 2 * most:  # no margin yet, or one that holds too many rows
                    self.recent = self.recent[-1:]
                    found = self._look(width)
            self._take(self._solve(found))
        if len(self.wanted) and self.taken:
            self._leave_out()

    def _stalls(self) -> bool:
        """Whether the last rounds have not made any gap smaller."""
        self.progress.append(float(np.minimum(self.solution.gaps[self.start.todo], 1e300).sum()))
        return len(self.progress) > _PATIENCE and self.progress[-1] >= self.progress[-1 - _PATIENCE]

    def _width(self, found: _Pass, most: int) -> float:
        """Return the largest width with which not too many rows come back."""
        counts = np.sum([one.counts for one in found.by_class.values()], axis=0)
        return float(_WIDTHS[np.append(np.flatnonzero(counts <= most), len(_WIDTHS) - 1)[0]])

    def _look(self, width: float) -> _Pass:
        """Pass over the rows of the classes that are pushed."""
        places = {}
        for b in np.flatnonzero(self.todo.any(axis=0)).tolist():
            near = np.flatnonzero(self.todo[:, b])
            places[b] = (near, np.stack([planes[near, b] for planes in self.recent]))
        return self.reader.reduce(_sort_out, _Look(self.boxes, places, width), "rows near the margin", list(places))

    def _certify(self, found: _Pass) -> None:
        """Compute the gaps of the newest planes; planes that are solved are left out of later rounds."""
        newest, solution = self.recent[-1], self.solution
        for b, one in found.by_class.items():
            for a, (hinge, box_sum, _) in zip(one.classes.tolist(), one.losses, strict=True):
                solution.box_sums[a, b] = box_sum
                if box_sum <= 0.0:  # nothing pushes the plane
                    solution.planes[a, b], solution.gaps[a, b] = 0.0, 0.0
                    continue
                u = newest[a, b]
                primal = 0.5 * float(u @ (self.grams[a] @ u) + self.problem.reg[a] * (u @ u)) + hinge
                gap = max(primal - self.duals[a, b], 0.0) / box_sum
                if gap < solution.gaps[a, b] and (a, b) in self.newest:
                    solution.planes[a, b], solution.gaps[a, b] = u, gap
                    self.taken[a, b] = self.newest[a, b]
        self.todo &= solution.gaps > self.problem.options.tol

    def _solve(self, found: _Pass) -> _Solved:
        """Solve planes on the rows near the margin, with the sums over all others held fixed."""
        n_classes = self.problem.n_classes
        numbers = np.sort(np.concatenate([one.numbers for one in found.by_class.values()]))
        if not len(numbers):  # a row without a box will do
            numbers = self.problem.starts[:1]
        rows = self.reader.take(numbers)
        box, fixed = np.zeros((len(rows), n_classes)), _Fixed.zero(n_classes, self.solution.planes.shape[2])
        for b, one in found.by_class.items():
            # Boxes as the pass has computed them: the memberships of rows that are equally near to two means depend on
            # rounding errors, and so on the tile.
            places = np.ix_(np.searchsorted(numbers, one.numbers), one.classes)
            box[places] = one.boxes
            fixed.sums[one.classes, b], fixed.duals[one.classes, b] = one.beyond, one.losses[:, 2]
            fixed.box[one.classes, b] = one.losses[:, 1] - box[places].sum(axis=0)
        options = self.problem.options
        problem = Problem(
            starts=class_starts(rows.labels, n_classes),
            reg=self.problem.reg,
            options=replace(options, tol=max(_SHARPER * options.tol, min(_LEAST_TOL, options.tol))),
            weights=rows.weights,
            wanted=np.zeros(len(rows), dtype=bool),
        )
        start = replace(
            self.start,
            todo=self.todo,
            fixed_box=np.maximum(fixed.box, 0.0),
            fixed_sums=fixed.sums,
            planes=None,
            alpha=self._first_duals(rows, box, problem),
        )
        return _Solved(rows, box, fixed, problem, solve_features(rows.rows, box, problem, start))

    def _take(self, solved: _Solved) -> None:
        """Go on with the planes that were solved, and note their duals and dual objectives."""
        rows, problem, solution = solved.rows, solved.problem, solved.solution
        for a, b in zip(*np.nonzero(self.todo), strict=True):
            block = problem.block(b)
            box = solved.box[block, a]
            alpha = np.minimum(solution.alpha[block, a], box)
            sums = solved.fixed.sums[a, b] + alpha @ rows.rows[block].astype(np.float64)
            whitened = solve_triangular(self.factors[a], sums, lower=True, check_finite=False)
            dual = alpha.sum() + solved.fixed.duals[a, b] - 0.5 * float(whitened @ whitened)
            self.duals[a, b] = max(self.duals[a, b], dual)
            inside = box > 0
            self.newest[a, b] = rows.each_number[block][inside], alpha[inside], box[inside]
        self.solution.sweeps[self.todo] += solution.sweeps[self.todo]
        planes = np.where(self.todo[..., None], solution.planes.astype(np.float64), self.recent[-1])
        self.recent = [*self.recent, planes][-_RECENT:]

    def _first_duals(self, rows: MappedRows, box: Array, problem: Problem) -> Array:
        """Return duals to start from: those of the last round, or what the newest planes say."""
        duals, numbers = np.zeros(box.shape), rows.each_number
        for a, b in zip(*np.nonzero(self.todo), strict=True):
            block = problem.block(b)
            x = margins(rows.rows[block], self.recent[-1][a, b][None])[0]
            found = box[block, a] * np.clip(x / NARROWEST + 0.5, 0.0, 1.0)
            if (a, b) in self.newest:
                before, alpha, _ = self.newest[a, b]
                _, old, new = np.intersect1d(before, numbers[block], assume_unique=True, return_indices=True)
                found[new] = alpha[old]
            duals[block, a] = np.minimum(found, box[block, a])
        return duals

    def _leave_out(self) -> None:
        """Write the left-out values of the calibration rows into the solution, as `left_out_large` estimates them."""
        free = {}
        for plane, (numbers, alpha, box) in self.taken.items():
            inside = np.minimum(alpha, box - alpha) / box
            most = np.sort(np.argsort(-inside, kind="stable")[:MOST_FREE])
            free[plane] = tuple(part[most] for part in (numbers, alpha, box))
        numbers = np.unique(np.concatenate([part for part, _, _ in free.values()]))
        rows = self.reader.take(numbers)
        wanted, box = self.wanted, self.boxes(self.wanted)
        duals = PlaneDuals(
            self.boxes, self.solution.planes.astype(np.float64), np.full(self.todo.shape, NARROWEST), self.sharp_duals()
        )(wanted)
        places = dict.fromkeys(range(self.problem.n_classes), np.empty(0, dtype=np.int64)) | dict(by_class(wanted))

        def write(plane: tuple[int, int], whitener: Factor) -> None:
            a, b = plane
            u, near, pushed = self.solution.planes[a, b], places[a], places[b]
            others = ~np.isin(free[plane][0], wanted.each_number[pushed])
            margin = np.searchsorted(numbers, free[plane][0][others])
            pushing = pushed[duals[pushed, a] > 0]
            zeta = whitener.rows(np.concatenate([rows.rows[margin], wanted.rows[pushing]]))
            cross, leverage = whitener.near(zeta, weighted(wanted.rows[near], wanted.weights[near]), near)
            near_out, push_out = left_out_large(
                zeta @ zeta.T,
                cross,
                leverage,
                wanted.rows[near] @ u,
                np.concatenate([rows.rows[margin], wanted.rows[pushing]]) @ u,
                np.concatenate([free[plane][2][others], box[pushing, a]]),
                np.concatenate([free[plane][1][others], duals[pushing, a]]),
            )
            self.solution.near[near, b] = near_out
            self.solution.far[pushed, a] = wanted.rows[pushed] @ u
            self.solution.far[pushing, a] = push_out[len(margin) :]

        def write_near(a: int) -> None:
            whitener = self.start.factor(a)
            for plane in self.taken:
                if plane[0] == a:
                    write(plane, whitener)

        self.problem.each(write_near, sorted({a for a, _ in self.taken}))

    def sharp_duals(self) -> SharpDuals:
        """Return the duals of the planes that were solved here."""
        planes = np.zeros(self.todo.shape, dtype=bool)
        none = [np.empty(0, dtype=np.int64)]
        numbers = np.unique(np.concatenate([*none, *(numbers for numbers, _, _ in self.taken.values())]))
        alpha = np.full((len(numbers), self.problem.n_classes), np.nan)
        for (a, b), (own, duals, _) in self.taken.items():
            planes[a, b] = True
            alpha[np.searchsorted(numbers, own), a] = duals
        return SharpDuals(planes, numbers, alpha)


@dataclass
class _Fixed:
    """What rows beyond the margin add to each plane [a, b]: sums of alpha_i h_i, of their duals and of their boxes."""

    sums: Array
    duals: Array
    box: Array

    @classmethod
    def zero(cls, n_classes: int, n_columns: int) -> _Fixed:
        """Return sums over no rows."""
        shape = (n_classes, n_classes)
        return cls(np.zeros((*shape, n_columns)), np.zeros(shape), np.zeros(shape))


@dataclass(frozen=True)
class _Solved:
    """A solution on the rows near the margin, with their boxes and what all other rows add."""

    rows: MappedRows
    box: Array
    fixed: _Fixed
    problem: Problem
    solution: Solution
