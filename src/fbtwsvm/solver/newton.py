"""Solve problem (P) for very many rows: Newton's method in the primal, on a hinge that is smooth near its corner.

If many rows of a class violate the margin, a dual method must change the dual of each of them; a Newton step changes
all duals at once.  With x_i = 1 + h_i.u, and phi the hinge smoothed over a zone of width delta:

    min_u  1/2 u'G_a u + sum_{i in b} box_i phi(x_i)          box_i = C w_i s_i
    alpha_i = box_i phi'(x_i),   gradient G_a u + sum alpha_i h_i,   Hessian G_a + sum_{zone} box_i / delta h_i h_i'

These alpha are feasible in the dual, so each pass over the rows gives a duality gap of the true hinge: the primal at u
minus the dual at alpha.  The zone narrows as long as that helps; what gap it leaves is for `finish`.

A step takes one pass, which adds up the sums of `newton_sums` at the end of a full step.  They also tell whether the
step was too long; it is then made shorter, which takes another pass.  Nothing is held for every row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, cast

import numpy as np

from .._arrays import Array, tiles
from .._linalg import at_once
from .._log import LOG
from .._namespace import copied, is_foreign, like, namespace, rows_at, to_numpy
from . import _newton_loops
from .left_out import left_out_newton, left_out_newton_pushed
from .newton_sums import Look, PushedSums, add_up, add_up_on_device, by_class, margins
from .plane_algebra import PlaneAlgebra, dots
from .problem import Outline, Solution, Start
from .row_reader import Boxes, MappedRows, RowReader

WIDEST, NARROWEST = 0.06, 0.02  # width of the zone at first, and at least
_NARROWER = 0.4  # factor by which the zone narrows
_SMALL_GAIN = 0.003  # the zone narrows when the next step gains less than this, relative to sum C w s
_SMALL_SHARE = 0.1  # and, in a course that trusts, less than this share of the gap
FEW_STEPS, MOST_STEPS = 12, 40  # passes over the rows of a plane: `finish` does the rest if all rows may come, or not
_LEAST_DECREASE = 1e-4  # share of the decrease that its slope promises, which a step must reach
_SHORTEST, _SHORTER = 0.02, 0.7  # a step that was too long becomes this many times as long
_ROUNDING = 1e-10  # a relative gain below this is rounding
_OF_ZONE = 0.9  # with the narrowest zone, steps end if this share of the gap is due to the zone
_HANDED_OVER = 3e-4  # gap at which `finish` goes on, which needs fewer passes from here
_MOST_PRODUCTS = 2**28  # bytes of Hessians that a pass adds up
_MOST_ON_DEVICE = 2**32  # the same on a device
_MOST_AT_ONCE = 2**30  # and of small Hessians there, which are factored together


@dataclass(frozen=True)
class Course:
    """How Newton's method begins and ends.

    enough     the gap at which steps end
    narrowest  width of the zone at least
    trusts     whether a step with a small gain, with which the zone narrows, is taken without a look at where it leads:
               where the zone is very wide, objectives of two widths cannot be compared
    """

    enough: float
    narrowest: float = NARROWEST
    trusts: bool = False

    @classmethod
    def before_finish(cls, tol: float) -> Course:
        """Return the course of planes whose gap `finish` makes smaller."""
        return cls(max(tol, _HANDED_OVER))


@dataclass(frozen=True)
class Task:
    """What Newton's method solves: the planes of `start.todo`, from those of `start.planes`.

    grams   Gram matrices of the classes, without the ridge
    wanted  the calibration rows
    steps   (n_classes,): most steps of the planes that push a class
    widths  (n_classes,): width of their zones at first
    """

    reader: RowReader
    boxes: Boxes
    problem: Outline
    grams: Sequence[Array]
    start: Start
    wanted: MappedRows
    steps: Array
    widths: Array
    course: Course


@dataclass(frozen=True)
class _Before:
    """The point before a step, to go back to: its objectives (true hinge and smoothed) and the slope of the latter."""

    u: Array
    direction: Array
    objectives: Array
    slope: float
    width: float


@dataclass
class _Plane:
    """One plane while it is solved; `u` is where the next pass looks, `length` that of the step which led there.

    `fixed` is the sum of alpha_i h_i over rows whose duals do not change, or None; `fixed_box` that of their boxes.
    """

    near: int
    pushed: int
    u: Array
    most_steps: int
    width: float
    fixed: Array | None
    fixed_box: float
    gap: float = np.inf
    factor: Array | None = None  # of the Hessian at u
    steps: int = 0
    box_sum: float = 0.0
    length: float = 1.0
    before: _Before | None = None
    best: tuple[float, Array, float, Array | None] | None = None  # gap, u, width, factor where the gap was least

    def remember_best(self) -> None:
        """Note this point if its gap is the least so far."""
        if self.best is None or self.gap < self.best[0]:
            self.best = self.gap, self.u, self.width, self.factor

    def go_back(self) -> None:
        """Go back to where the gap was least."""
        assert self.best is not None
        self.gap, self.u, self.width, factor = self.best
        self.factor = None if factor is None else copied(factor)  # it may be a part of those of many planes
        self.best = self.before = None

    def went_too_far(self, objectives: Array) -> bool:
        """Whether the last step was too long: the objective did not fall as it should have.

        If the zone has narrowed with the step, the smoothed objectives before and after it are not those of one
        function, and the true ones are compared.
        """
        before = self.before
        if before is None:
            return False
        which = int(self.width == before.width)
        allowed = before.objectives[which] + _LEAST_DECREASE * self.length * before.slope * which
        return bool(objectives[which] > allowed + _ROUNDING * self.box_sum)

    def shorten(self, slope: float) -> None:
        """Make the last step shorter; `slope` is that of the objective along it, at its end."""
        before = self.before
        assert before is not None
        share = before.slope / (before.slope - slope) if slope > 0 else 0.0
        self.length *= min(max(share, _SHORTEST), _SHORTER)
        self.u = before.u + self.length * before.direction

    def step(self, direction: Array, slope: float, objectives: Array, gain: float, course: Course) -> None:
        """Go to the end of the next step; `gain` is what it should gain, relative to sum C w s."""
        narrower = max(_NARROWER * self.width, course.narrowest)
        if course.trusts and gain <= min(_SMALL_GAIN, _SMALL_SHARE * self.gap) and self.width > course.narrowest:
            self.width, self.before = narrower, None
        else:
            self.before = _Before(self.u, direction, objectives, slope, self.width)
            if gain <= _SMALL_GAIN:
                self.width = narrower
        self.u, self.length = self.u + direction, 1.0


def solve_newton(task: Task, solution: Solution) -> Array:
    """Solve planes and write them into the solution; return the widths of the zones, from which the duals follow."""
    start, course, grams = task.start, task.course, task.grams
    assert start.planes is not None
    widths = np.full(start.todo.shape, course.narrowest)
    planes = [_begun(task, int(a), int(b)) for b, a in zip(*np.nonzero(start.todo.T), strict=True)]
    for group in tiles(0, len(planes), planes_at_once(grams[0])):
        _Group(task, planes[group]).descend()
        for plane in planes[group]:
            widths[plane.near, plane.pushed] = plane.width
            _store(plane, solution)
        _leave_out(task, planes[group], solution)
        for plane in planes[group]:
            plane.factor = None  # it takes much memory
        LOG.debug("%d of %d planes solved by Newton's method", group.stop, len(planes))
    return widths


def planes_at_once(gram: Array) -> int:
    """Return how many planes are solved together, by the memory of their Hessians; each is as large as `gram`."""
    n_columns, most = int(gram.shape[0]), _MOST_PRODUCTS
    if is_foreign(gram):
        most = _MOST_AT_ONCE if at_once(n_columns) else _MOST_ON_DEVICE
    return max(1, most // (8 * n_columns**2))


def _begun(task: Task, a: int, b: int) -> _Plane:
    """Return a plane where it starts."""
    start, gram = task.start, task.grams[a]
    assert start.planes is not None
    fixed = None if start.fixed_sums is None else like(start.fixed_sums[a, b], gram, np.float64)
    first = like(start.planes[a, b], gram, np.float64)
    return _Plane(a, b, first, int(task.steps[b]), float(task.widths[b]), fixed, float(start.fixed_box[a, b]))


class _Group:
    """Planes that are solved together, so that they share their passes over the rows."""

    def __init__(self, task: Task, planes: list[_Plane]) -> None:
        self.task, self.planes = task, planes
        near = sorted({plane.near for plane in planes})
        self.algebra = PlaneAlgebra(task.grams, task.problem.reg, near, task.problem.each)

    def descend(self) -> None:
        """Take Newton steps until every gap is small enough, or there are no steps left."""
        pending = self.planes
        while pending:
            pending = self._advance(pending, *self._look(pending))

    def _look(self, planes: list[_Plane]) -> tuple[Array, Array, list[Array]]:
        """Pass over the rows; return losses (m, 4), dual sums (m, D) and curvature of the planes.

        The planes are sorted by the class that they push.
        """
        task = self.task
        groups = {label: list(group) for label, group in groupby(planes, attrgetter("pushed"))}
        places = {
            label: (
                np.array([plane.near for plane in group]),
                namespace(group[0].u).stack([plane.u for plane in group]),
                np.array([plane.width for plane in group]),
            )
            for label, group in groups.items()
        }
        look = Look(task.boxes, places, np.diff(task.problem.starts))
        visit = add_up_on_device if is_foreign(task.grams[0]) else add_up
        found = task.reader.reduce(visit, look, "Newton step", list(places)).by_class
        # A class without rows has only what is fixed.
        sums = [found[label] if label in found else PushedSums.zero(places[label][1]) for label in groups]
        xp = namespace(sums[0].losses)
        losses = to_numpy(xp.concat([one.losses for one in sums], axis=0))
        dual_sums = xp.concat([one.dual_sums for one in sums], axis=0)
        return (
            *_with_fixed(planes, losses, dual_sums),
            [one.curvature[k, ...] for one in sums for k in range(one.curvature.shape[0])],
        )

    def _advance(self, planes: list[_Plane], losses: Array, dual_sums: Array, curvature: list[Array]) -> list[_Plane]:
        """Compute the gaps of planes and move each to the end of its next step; return those that are not solved."""
        near, u = np.array([plane.near for plane in planes]), namespace(dual_sums).stack([plane.u for plane in planes])
        slopes, whitened = self.algebra.times_gram(near, u), self.algebra.whiten(near, dual_sums)
        half_squares, dual_squares = 0.5 * dots(u, slopes), 0.5 * dots(whitened, whitened)
        objectives, gradients = half_squares[:, None] + losses[:, :2], slopes + dual_sums
        duals = losses[:, 2] - dual_squares
        shorter, going = [], []
        for place, plane in enumerate(planes):
            plane.box_sum = float(losses[place, 3])
            primal = float(objectives[place, 0])
            plane.gap = (primal - float(duals[place])) / plane.box_sum if plane.box_sum > 0 else 0.0
            plane.steps += 1
            if not self._is_last(plane) and plane.went_too_far(objectives[place]):
                shorter.append(place)
            else:
                going.append(place)
        self._shorten([planes[place] for place in shorter], rows_at(gradients, np.array(shorter, dtype=np.int64)))
        if not going:
            return planes
        some = np.array(going)
        factors = self.algebra.hessian_factors(near[some], [curvature[place] for place in going])
        stepping = self._step([planes[place] for place in going], factors, rows_at(gradients, some), objectives[some])
        left = {id(plane) for plane in stepping} | {id(planes[place]) for place in shorter}
        return [plane for plane in planes if id(plane) in left]

    def _is_last(self, plane: _Plane) -> bool:
        """Whether a plane is solved, or has no steps left."""
        most = min(plane.most_steps, self.task.problem.options.max_iter)
        return plane.gap <= self.task.course.enough or plane.steps >= most

    def _shorten(self, planes: list[_Plane], gradients: Array) -> None:
        if not planes:
            return
        directions = [plane.before.direction for plane in planes if plane.before is not None]
        for plane, slope in zip(planes, dots(gradients, namespace(gradients).stack(directions)), strict=True):
            plane.shorten(float(slope))

    def _step(
        self, planes: list[_Plane], factors: Sequence[Array], gradients: Array, objectives: Array
    ) -> list[_Plane]:
        """Take the next step of each plane that is not solved; return these planes."""
        near, narrowest = np.array([plane.near for plane in planes]), self.task.course.narrowest
        halves = self.algebra.solve(factors, gradients)
        gains = 0.5 * dots(halves, halves)
        # The gap is 1/2 g'G^-1 g, with the gradient g, and what each row in the zone adds: box max(0, x) - alpha x.
        whitened = self.algebra.whiten(near, gradients)
        of_gradient = 0.5 * dots(whitened, whitened)
        directions = -self.algebra.solve(factors, halves, transposed=True)
        slopes, stepping = dots(gradients, directions), []
        for place, plane in enumerate(planes):
            if len(self.task.wanted):  # it is needed for their left-out values only
                plane.factor = factors[place] if isinstance(factors, list) else cast(Any, factors)[place, ...]
            plane.remember_best()
            gain = float(gains[place]) / plane.box_sum if plane.box_sum > 0 else 0.0
            of_zone = of_gradient[place] <= (1.0 - _OF_ZONE) * plane.gap * plane.box_sum
            # The smoothed hinge allows no smaller gap where the narrowest zone is the reason for it.
            if self._is_last(plane) or (plane.width == narrowest and (gain <= _ROUNDING or of_zone)):
                plane.go_back()
                continue
            plane.step(directions[place, :], float(slopes[place]), objectives[place], gain, self.task.course)
            stepping.append(plane)
        return stepping


def _with_fixed(planes: list[_Plane], losses: Array, dual_sums: Array) -> tuple[Array, Array]:
    """Add what rows contribute whose duals are fixed: sum alpha_i (1 + h_i.u), and their boxes.

    The sum of their duals is part of the primal and of the dual, so it is left out of both.
    """
    if planes[0].fixed is None:
        return losses, dual_sums
    xp = namespace(dual_sums)
    fixed: Any = xp.stack([plane.fixed for plane in planes])
    slope = dots(fixed, xp.stack([plane.u for plane in planes]))
    boxes = np.array([plane.fixed_box for plane in planes])
    return losses + np.column_stack([slope, slope, np.zeros(len(planes)), boxes]), dual_sums + fixed


def _store(plane: _Plane, solution: Solution) -> None:
    """Write a plane and its gap into the solution."""
    a, b = plane.near, plane.pushed
    solution.planes[a, b] = to_numpy(plane.u)
    solution.gaps[a, b], solution.sweeps[a, b] = plane.gap, plane.steps
    solution.box_sums[a, b] = plane.box_sum


def _leave_out(task: Task, planes: list[_Plane], solution: Solution) -> None:
    """Write the left-out values of the wanted rows of both classes of some planes into the solution."""
    wanted = task.wanted
    if not len(wanted):
        return
    box, places = to_numpy(task.boxes(wanted)), dict(by_class(wanted))

    def write_near(a: int, group: list[_Plane]) -> None:
        own, others = places[a], np.array([plane.pushed for plane in group])
        weights = wanted.weights[own]
        values = left_out_newton(rows_at(wanted.rows, own), *_points(group), weights)
        solution.near[np.ix_(own, others)] = values.T

    def write_pushed(b: int, group: list[_Plane]) -> None:
        own, others = places[b], np.array([plane.near for plane in group])
        rows, (planes, factors) = rows_at(wanted.rows, own), _points(group)
        x = margins(rows, planes)
        own_box = np.ascontiguousarray(box[np.ix_(own, others)].T, dtype=x.dtype)
        _, duals, roots = _newton_loops.smooth_hinge(x, own_box, np.array([plane.width for plane in group]))
        solution.far[np.ix_(own, others)] = left_out_newton_pushed(rows, planes, factors, duals, roots**2).T

    writes: list[tuple[Callable[[int, list[_Plane]], None], str]] = [(write_near, "near"), (write_pushed, "pushed")]
    jobs = [
        (write, label, list(group))
        for write, side in writes
        for label, group in groupby(sorted(planes, key=attrgetter(side)), attrgetter(side))
        if label in places
    ]
    task.problem.each(lambda job: job[0](*job[1:]), jobs)


def _points(planes: list[_Plane]) -> tuple[Array, list[Array]]:
    """Return where planes are, (m, D), and the factors of their Hessians."""
    factors = [plane.factor for plane in planes if plane.factor is not None]
    return namespace(planes[0].u).stack([plane.u for plane in planes]), factors
