"""Solve problem (P) for very many rows: Newton's method in the primal, on a hinge that is smooth near its corner.

If many rows of a class violate the margin, a dual method must change the dual of each of them; a Newton step changes
all duals at once.  With x_i = 1 + h_i.u, and phi the hinge smoothed over a zone of width delta:

    min_u  1/2 u'G_a u + sum_{i in b} box_i phi(x_i)          box_i = C w_i s_i
    alpha_i = box_i phi'(x_i),   gradient G_a u + sum alpha_i h_i,   Hessian G_a + sum_{zone} box_i / delta h_i h_i'

These alpha are feasible in the dual, so each pass over the rows gives a duality gap of the true hinge: the primal at u
minus the dual at alpha.  The zone narrows as long as that helps; what gap it leaves is for `finish`.

Rows on a device are read by `_add_up_on_device`, all other rows by the compiled `_add_up`; sums over the former, and
all that is computed from them, stay on the device.

A step takes one pass, which adds up the four sums at the end of a full step.  They also tell whether the step was too
long; it is then made shorter, which takes another pass.  Nothing is held for every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

import numpy as np

from .._arrays import Array, tiles
from .._linalg import lower_factor, solve_lower
from .._log import LOG
from .._namespace import as_float, is_foreign, like, namespace, rows_at, to_numpy
from . import _newton_loops, products
from .dual import values_of
from .left_out import left_out_newton, left_out_newton_pushed
from .problem import Outline, Solution, Start
from .row_reader import Boxes, ByClass, MappedRows, RowReader, Tiles

_ROWS_OF_PRODUCT = 4096  # rows in the zone that are multiplied at a time
_WIDEST, NARROWEST = 0.06, 0.02  # width of the zone at first, and at least
_NARROWER = 0.4  # factor by which the zone narrows
_SMALL_GAIN = 0.003  # the zone narrows when the next step gains less than this, relative to sum C w s
FEW_STEPS, MOST_STEPS = 12, 40  # passes over the rows of a plane: `finish` does the rest if all rows may come, or not
_LEAST_DECREASE = 1e-4  # share of the decrease that its slope promises, which a step must reach
_SHORTEST, _SHORTER = 0.02, 0.7  # a step that was too long becomes this many times as long
_SMALL_SHARE = 0.1  # and, in a course that trusts, less than this share of the gap
_ROUNDING = 1e-10  # a relative gain below this is rounding
_OF_ZONE = 0.9  # with the narrowest zone, steps end if this share of the gap is due to the zone
_HANDED_OVER = 3e-4  # gap at which `finish` goes on, which needs fewer passes from here
_MOST_PRODUCTS = 2**28  # bytes of Hessians that a pass adds up
_MOST_ON_DEVICE = 2**32  # the same on a device
_MOST_OF_ZONE = 60_000  # rows of a class from which a Hessian on a device is added up


@dataclass(frozen=True)
class Course:
    """How Newton's method begins and ends.

    enough     the gap at which steps end
    widest     width of the zone at first
    narrowest  and at least
    trusts     whether a step with a small gain, with which the zone narrows, is taken without a look at where it leads:
               where the zone is very wide, objectives of two widths cannot be compared
    """

    enough: float
    widest: float = _WIDEST
    narrowest: float = NARROWEST
    trusts: bool = False
    damped: bool = False

    @classmethod
    def before_finish(cls, tol: float) -> Course:
        """Return the course of planes whose gap `finish` makes smaller."""
        return cls(max(tol, _HANDED_OVER))


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
    """One plane while it is solved; `u` is where the next pass looks, `length` that of the step which led there."""

    near: int
    pushed: int
    u: Array
    most_steps: int
    width: float
    gap: float = np.inf
    factor: Array | None = None  # of the Hessian at u
    steps: int = 0
    box_sum: float = 0.0
    length: float = 1.0
    before: _Before | None = None
    best: tuple[float, Array, float, Array] | None = None  # gap, u, width and factor where the gap was least

    def remember_best(self) -> None:
        """Note this point if its gap is the least so far."""
        assert self.factor is not None
        if self.best is None or self.gap < self.best[0]:
            self.best = self.gap, self.u, self.width, self.factor

    def go_back(self) -> None:
        """Go back to where the gap was least."""
        assert self.best is not None
        self.gap, self.u, self.width, self.factor = self.best


@dataclass(frozen=True)
class _Look:
    """Where a pass looks: boxes, and for each pushed class the near classes, planes (m, D) and widths (m,)."""

    boxes: Boxes
    planes: dict[int, tuple[Array, Array, Array]]
    sizes: Array  # (n_classes,): rows of each class
    damped: bool


@dataclass
class _PushedSums:
    """Sums over the rows of one pushed class, for m planes.

    losses     (m, 4): true hinge loss, smoothed hinge loss, duals, boxes
    dual_sums  (m, D): sum of alpha_i h_i
    curvature  (m, D, D): sum of box_i / delta h_i h_i' over the zone
    """

    losses: Array
    dual_sums: Array
    curvature: Array
    waiting: list[list[Array]] = field(default_factory=list)  # rows in the zone that are not multiplied yet

    @classmethod
    def zero(cls, count: int, n_columns: int) -> _PushedSums:
        """Return sums over no rows."""
        shape = (count, n_columns, n_columns)
        return cls(np.zeros((count, 4)), np.zeros((count, n_columns)), np.zeros(shape), [[] for _ in range(count)])

    def add_zone(self, place: int, rows: Array) -> None:
        """Add h h' over rows; a product of many rows at a time is fast."""
        waiting = self.waiting[place]
        waiting.append(rows)
        if sum(map(len, waiting)) >= _ROWS_OF_PRODUCT:
            self._multiply(place)

    def _multiply(self, place: int) -> None:
        waiting = self.waiting[place]
        rows = np.concatenate(waiting) if len(waiting) > 1 else waiting[0]
        self.curvature[place] += rows.T @ rows
        self.waiting[place] = []

    def finish(self) -> None:
        """Multiply the rows that are left."""
        for place, waiting in enumerate(self.waiting):
            if waiting:
                self._multiply(place)

    def __add__(self, other: _PushedSums) -> _PushedSums:
        return _PushedSums(
            self.losses + other.losses, self.dual_sums + other.dual_sums, self.curvature + other.curvature
        )


def _add_up(rows: Tiles, look: _Look) -> ByClass[_PushedSums]:
    """Add up what the planes need to know of their pushed rows."""
    found: dict[int, _PushedSums] = {}
    for tile in rows:
        near, planes, widths = look.planes[tile.label]
        sums = found.setdefault(tile.label, _PushedSums.zero(*planes.shape))
        box = np.ascontiguousarray(look.boxes(tile)[:, near].T, dtype=tile.rows.dtype)
        losses, duals, roots = _newton_loops.smooth_hinge(margins(tile.rows, planes), box, widths)
        sums.losses += np.column_stack([losses, *(part.sum(axis=1, dtype=np.float64) for part in (duals, box))])
        sums.dual_sums += duals @ tile.rows
        for place in range(len(near)):
            inside = np.flatnonzero(roots[place])
            sums.add_zone(place, tile.rows[inside] * roots[place, inside, None])
    for sums in found.values():
        sums.finish()
    return ByClass(found)


def _add_up_on_device(rows: Tiles, look: _Look) -> ByClass[_PushedSums]:
    """Add up the same on a device; the Hessians of very many rows in the zone are those of a part of them."""
    found: dict[int, _PushedSums] = {}
    for tile in rows:
        near, planes, widths = look.planes[tile.label]
        if tile.label not in found:
            curvature = products.square_zeros(*planes.shape, tile.rows)
            found[tile.label] = _PushedSums(np.zeros((len(near), 4)), as_float(0.0 * planes, "float64"), curvature)
        sums = found[tile.label]
        box = rows_at(look.boxes(tile).T, near)
        x = products.row_values(tile.rows, planes) + 1.0
        losses, duals, roots = products.smooth_hinge(x, box, widths.tolist())
        xp = namespace(x)
        if look.damped:
            roots = products.damped_roots(x, box, widths.tolist())
        totals = xp.stack([xp.sum(part, axis=1, dtype=xp.float64) for part in (duals, box)], axis=1)
        sums.losses += to_numpy(xp.concat([losses, totals], axis=1))
        sums.dual_sums += products.weighted_sums(duals, tile.rows)
        most = max(1, int(_MOST_OF_ZONE * len(tile) / look.sizes[tile.label]))
        for place in range(len(near)):
            sums.curvature[place, ...] = products.zone_gram(
                sums.curvature[place, ...], tile.rows, roots[place, :], most
            )
    return ByClass(found)


def margins(rows: Array, planes: Array) -> Array:
    """Return 1 + h.u (n_planes, n) of rows, as an array of NumPy."""
    if is_foreign(rows):
        return to_numpy(products.row_values(rows, planes)) + 1.0
    x = np.empty((len(planes), len(rows)), dtype=rows.dtype)
    values_of(rows, planes.astype(rows.dtype), x)
    x += rows.dtype.type(1.0)
    return x


def solve_newton(
    reader: RowReader,
    boxes: Boxes,
    problem: Outline,
    grams: Sequence[Array],
    start: Start,
    steps: Array,
    wanted: MappedRows,
    solution: Solution,
    course: Course,
) -> Array:
    """Solve the planes of `start.todo` from those of `start.planes`, and write them into the solution.

    `grams` are the Gram matrices without the ridge, `wanted` the calibration rows, `steps` (n_classes,) the largest
    number of steps of planes that push each class.  Returns the widths of the zones, from which the duals follow.
    """
    first = start.planes
    assert first is not None
    widths = np.full(start.todo.shape, course.narrowest)
    places = zip(*np.nonzero(start.todo.T), strict=True)
    planes = [
        _Plane(int(a), int(b), like(first[a, b], grams[a], np.float64), int(steps[b]), course.widest) for b, a in places
    ]
    most = _MOST_ON_DEVICE if is_foreign(grams[0]) else _MOST_PRODUCTS
    at_once = max(1, most // (8 * first.shape[2] ** 2))
    for group in tiles(0, len(planes), at_once):
        _Group(reader, boxes, problem, grams, planes[group], start, course).descend()
        for plane in planes[group]:
            widths[plane.near, plane.pushed] = plane.width
            _store(plane, solution)
        _leave_out(problem, boxes, planes[group], wanted, solution)
        for plane in planes[group]:
            plane.factor = plane.best = None  # they take much memory
        LOG.debug("%d of %d planes solved by Newton's method", group.stop, len(planes))
    return widths


def smooth_duals(rows: MappedRows, box: Array, planes: Array, widths: Array) -> tuple[Array, Array]:
    """Return 1 + h.u and the duals (n_planes, n) of rows in some planes that push their class.

    `box` (n, n_planes) are the boxes, `widths` those of the zones.
    """
    x = margins(rows.rows, planes)
    return x, _newton_loops.smooth_hinge(x, np.ascontiguousarray(box.T, dtype=x.dtype), widths)[1]


def by_class(rows: MappedRows) -> list[tuple[int, Array]]:
    """Return each class among rows, and the places of its rows."""
    return [(int(label), np.flatnonzero(rows.labels == label)) for label in np.unique(rows.labels)]


class _Group:
    """Planes that are solved together, so that they share their passes over the rows."""

    def __init__(
        self,
        reader: RowReader,
        boxes: Boxes,
        problem: Outline,
        grams: Sequence[Array],
        planes: list[_Plane],
        start: Start,
        course: Course,
    ) -> None:
        self.reader, self.boxes, self.problem, self.grams = reader, boxes, problem, grams
        self.planes, self.start, self.course = planes, start, course
        near = sorted({plane.near for plane in planes})
        found = problem.each(lambda a: _factor(grams[a], float(problem.reg[a])), near)
        self.factors = dict(zip(near, found, strict=True))

    def descend(self) -> None:
        """Take Newton steps until every gap is within tol, or small enough for `finish`, or there are no steps left."""
        pending = self.planes
        while pending:
            sums = self._look(pending)
            going = self.problem.each(lambda pair: self._advance(*pair), zip(pending, sums, strict=True))
            pending = [plane for plane, goes_on in zip(pending, going, strict=True) if goes_on]

    def _look(self, planes: list[_Plane]) -> list[tuple[Array, Array, Array]]:
        """Pass over the rows; return losses, dual sums and curvature of each plane.

        The planes are sorted by the class that they push.
        """
        groups = {label: list(group) for label, group in groupby(planes, attrgetter("pushed"))}
        places = {
            label: (
                np.array([plane.near for plane in group]),
                namespace(group[0].u).stack([plane.u for plane in group]),
                np.array([plane.width for plane in group]),
            )
            for label, group in groups.items()
        }
        look = _Look(self.boxes, places, np.diff(self.problem.starts), self.course.damped)
        visit = _add_up_on_device if is_foreign(self.grams[0]) else _add_up
        found = self.reader.reduce(visit, look, "Newton step", list(places)).by_class
        sums = [found[label] for label in groups]
        return [
            (one.losses[k], one.dual_sums[k, ...], one.curvature[k, ...]) for one in sums for k in range(len(one.losses))
        ]

    def _times_gram(self, a: int, vector: Array) -> Array:
        """Return G_a times a vector."""
        product: Array = self.grams[a] @ vector + float(self.problem.reg[a]) * vector
        return product

    def _with_fixed(self, plane: _Plane, losses: Array, dual_sums: Array) -> tuple[Array, Array]:
        """Add what rows contribute whose duals are fixed: sum alpha_i (1 + h_i.u), and their boxes.

        The sum of their duals is part of the primal and of the dual, so it is left out of both.
        """
        a, b = plane.near, plane.pushed
        if self.start.fixed_sums is None:
            return losses, dual_sums
        fixed = like(self.start.fixed_sums[a, b], dual_sums, np.float64)
        slope = float(fixed @ plane.u)
        return losses + np.array([slope, slope, 0.0, self.start.fixed_box[a, b]]), dual_sums + fixed

    def _hessian_factor(self, plane: _Plane, curvature: Array) -> Array:
        """Return the factor of the Hessian of a plane."""
        rounding = float(np.finfo(np.float32).eps) * float(namespace(curvature).linalg.trace(curvature))
        return _factor(self.grams[plane.near] + curvature, float(self.problem.reg[plane.near]), rounding)

    def _advance(self, plane: _Plane, sums: tuple[Array, Array, Array]) -> bool:
        """Compute the gap of a plane and move it to the end of the next step; return False if it is solved."""
        losses, dual_sums = self._with_fixed(plane, *sums[:2])
        hinge, smooth, duals, plane.box_sum = losses.tolist()
        curvature, options = sums[2], self.problem.options
        slope = self._times_gram(plane.near, plane.u)
        half_square = 0.5 * float(plane.u @ slope)
        whitened = solve_lower(self.factors[plane.near], dual_sums)
        dual = duals - 0.5 * float(whitened @ whitened)
        plane.gap = (half_square + hinge - dual) / plane.box_sum if plane.box_sum > 0 else 0.0
        plane.steps += 1
        last = plane.gap <= self.course.enough or plane.steps >= min(plane.most_steps, options.max_iter)
        objectives, gradient = half_square + np.array([hinge, smooth]), slope + dual_sums
        if not last and _was_too_long(plane, objectives):
            _shorten(plane, float(gradient @ plane.before.direction))  # type: ignore[union-attr]
            return True
        plane.factor = self._hessian_factor(plane, curvature)
        plane.remember_best()
        if last:
            plane.go_back()
            return False
        step = solve_lower(plane.factor, gradient)
        gain = 0.5 * float(step @ step) / plane.box_sum
        narrowest = self.course.narrowest
        if plane.width == narrowest and (gain <= _ROUNDING or self._is_of_zone(plane, gradient)):
            plane.go_back()
            return False  # the smoothed hinge allows no smaller gap
        direction = -solve_lower(plane.factor, step, transposed=True)
        if self.course.trusts and gain <= min(_SMALL_GAIN, _SMALL_SHARE * plane.gap) and plane.width > narrowest:
            plane.width, plane.before = max(_NARROWER * plane.width, narrowest), None
            plane.u, plane.length = plane.u + direction, 1.0
            return True
        plane.before = _Before(plane.u, direction, objectives, float(gradient @ direction), plane.width)
        plane.length = 1.0
        if gain <= _SMALL_GAIN:
            plane.width = max(_NARROWER * plane.width, narrowest)
        plane.u = plane.u + direction
        return True

    def _is_of_zone(self, plane: _Plane, gradient: Array) -> bool:
        """Whether the gap of a plane is due to its zone.

        The gap is 1/2 g'G^-1 g, with the gradient g, and what each row in the zone adds: box max(0, x) - alpha x.
        """
        whitened = solve_lower(self.factors[plane.near], gradient)
        return bool(0.5 * float(whitened @ whitened) <= (1.0 - _OF_ZONE) * plane.gap * plane.box_sum)


def _was_too_long(plane: _Plane, objectives: Array) -> bool:
    """Whether the last step of a plane went too far: the objective did not fall as it should have.

    If the zone has narrowed with the step, the smoothed objectives before and after it are not those of one function,
    and the true ones are compared.
    """
    before = plane.before
    if before is None:
        return False
    which = int(plane.width == before.width)
    allowed = before.objectives[which] + _LEAST_DECREASE * plane.length * before.slope * which
    return bool(objectives[which] > allowed + _ROUNDING * plane.box_sum)


def _shorten(plane: _Plane, slope: float) -> None:
    """Make the last step of a plane shorter; `slope` is that of the objective along it, at its end."""
    before = plane.before
    assert before is not None
    share = before.slope / (before.slope - slope) if slope > 0 else 0.0
    plane.length *= min(max(share, _SHORTEST), _SHORTER)
    plane.u = before.u + plane.length * before.direction


def _store(plane: _Plane, solution: Solution) -> None:
    """Write a plane and its gap into the solution."""
    a, b = plane.near, plane.pushed
    solution.planes[a, b] = to_numpy(plane.u)
    solution.gaps[a, b], solution.sweeps[a, b] = plane.gap, plane.steps
    solution.box_sums[a, b] = plane.box_sum


def _leave_out(problem: Outline, boxes: Boxes, planes: list[_Plane], wanted: MappedRows, solution: Solution) -> None:
    """Write the left-out values of the wanted rows of both classes of some planes into the solution."""
    if not len(wanted):
        return
    box, places = to_numpy(boxes(wanted)), dict(by_class(wanted))
    none = np.empty(0, dtype=np.int64)

    def write(plane: _Plane) -> None:
        assert plane.factor is not None
        a, b = plane.near, plane.pushed
        near, pushed = places.get(a, none), places.get(b, none)
        if len(near):
            weights = wanted.weights[near]
            rows = rows_at(wanted.rows, near)
            solution.near[near, b] = left_out_newton(rows, plane.u, plane.factor, weights)
        if len(pushed):
            rows = rows_at(wanted.rows, pushed)
            x = margins(rows, plane.u[None, :])
            own_box = np.ascontiguousarray(box[pushed, a][None], dtype=x.dtype)
            _, duals, roots = _newton_loops.smooth_hinge(x, own_box, np.array([plane.width]))
            solution.far[pushed, a] = left_out_newton_pushed(rows, plane.u, plane.factor, duals[0], roots[0] ** 2)

    problem.each(write, planes)


def _factor(matrix: Array, reg: float, rounding: float = 0.0) -> Array:
    """Return the Cholesky factor of a matrix plus reg I.

    If `rounding`, the error of its sums, makes the matrix indefinite, it is added as well.  A Newton step is then a
    little shorter; the gap does not depend on the factor.
    """
    message = "A Hessian is not positive definite: raise reg, or pass float64."
    return lower_factor(matrix, message, ridges=(reg, reg + rounding) if rounding else (reg,))
