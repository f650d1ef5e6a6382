"""Solve problem (P) for very many rows: Newton's method in the primal, on a hinge that is smooth near its corner.

If many rows of a class violate the margin, a dual method must change the dual of each of them; a Newton step changes
all duals at once.  With x_i = 1 + h_i.u, and phi the hinge smoothed over a zone of width delta:

    min_u  1/2 u'G_a u + sum_{i in b} box_i phi(x_i)          box_i = C w_i s_i
    alpha_i = box_i phi'(x_i),   gradient G_a u + sum alpha_i h_i,   Hessian G_a + sum_{zone} box_i / delta h_i h_i'

These alpha are feasible in the dual, so each pass over the rows gives a duality gap of the true hinge: the primal at u
minus the dual at alpha.  The zone narrows until the gap is within tol.  Rows are mapped and read piece by piece, never
all at once; only x, box and alpha are held for every row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from .._arrays import Array, Index, tiles
from .._linalg import lower_factor
from .._log import LOG
from . import _newton_loops
from .dual import values_of
from .left_out import left_out_newton, left_out_newton_pushed
from .problem import Problem, Solution

_TILE = 4096  # rows mapped at a time
_PIECE = 8 * _TILE  # rows of one task of a thread
_WIDEST, _NARROWEST = 0.06, 0.02  # width of the zone at first, and at least
_NARROWER = 0.4  # factor by which the zone narrows
_SMALL_GAIN = 0.003  # the zone narrows when the next step gains less than this, relative to sum C w s
_MOST_STEPS = 100
_LONGEST = 2.0  # longest step, as a multiple of Newton's
_ROUNDING = 1e-10  # a relative gain below this is rounding
_MOST_FACTORS = 2**30  # bytes of factors held at a time


@dataclass(frozen=True)
class RowReader:
    """Functions that read rows, sorted by class as in `Problem`, and map them when they are read.

    rows    returns the mapped rows of a slice or of an index
    boxes   returns C w s (n, n_classes) of these
    """

    rows: Callable[[Index], Array]
    boxes: Callable[[Index, Array], Array]


@dataclass
class _Plane:
    """One plane while it is solved."""

    near: int
    u: Array
    width: float = _WIDEST
    gap: float = np.inf
    factor: Array | None = None  # of the Hessian at u
    steps: int = 0


def solve_newton(
    reader: RowReader, problem: Problem, grams: Sequence[Array], todo: Array, first: Array, solution: Solution
) -> None:
    """Solve the planes marked in `todo`, starting from `first`, and write them into the solution.

    `grams` are the Gram matrices without the ridge.
    """
    near = np.flatnonzero(todo.any(axis=1))
    at_once = max(1, _MOST_FACTORS // (8 * first.shape[2] ** 2))
    for group in (near[part] for part in tiles(0, len(near), at_once)):
        ridged = {int(a): (grams[int(a)], float(problem.reg[a])) for a in group}
        factors = dict(zip(ridged, problem.each(lambda system: _factor(*system), ridged.values()), strict=True))
        wanted = np.zeros_like(todo)
        wanted[group] = todo[group]
        pushed = np.flatnonzero(wanted.any(axis=0))
        for done, b in enumerate(pushed, 1):
            planes = [_Plane(int(a), first[a, b].astype(np.float64)) for a in np.flatnonzero(wanted[:, b])]
            block = problem.block(int(b))
            pushed_class = _PushedClass(reader, problem, planes, block, ridged, factors, solution.alpha[block])
            pushed_class.descend()
            pushed_class.store(int(b), solution)
            LOG.debug("planes against %d of %d classes solved by Newton's method", done, len(pushed))


class _Zone:
    """The sum of h h' over rows in the zone of a plane; a product of many rows at a time is fast."""

    def __init__(self, n_columns: int) -> None:
        self.products = np.zeros((n_columns, n_columns))
        self.parts: list[Array] = []

    def add(self, rows: Array) -> None:
        """Add some rows."""
        self.parts.append(rows)
        if sum(map(len, self.parts)) >= _TILE:
            self.total()

    def total(self) -> Array:
        """Return the sum over all rows so far."""
        if self.parts:
            rows = np.concatenate(self.parts) if len(self.parts) > 1 else self.parts[0]
            self.products += rows.T @ rows
            self.parts = []
        return self.products


class _PushedClass:
    """State of Newton's method for all planes that push one class."""

    def __init__(
        self,
        reader: RowReader,
        problem: Problem,
        planes: list[_Plane],
        block: slice,
        ridged: dict[int, tuple[Array, float]],
        factors: dict[int, Array],
        alpha: Array,
    ) -> None:
        self.reader = reader
        self.problem = problem
        self.planes = planes
        self.first = block.start
        self.ridged, self.factors = ridged, factors
        shape = (len(planes), block.stop - block.start)
        self.near = np.array([plane.near for plane in planes])
        self.box = np.empty(shape, dtype=np.float32)
        self.alpha = alpha  # (n, n_classes): that of the solution, in place
        self.x = np.empty(shape, dtype=np.float32)
        self.dual_sums = np.zeros((len(planes), len(planes[0].u)))
        self._values(first=True)
        self.primal_at_zero = self.box.sum(axis=1, dtype=np.float64)

    def _pieces(self) -> list[slice]:
        return tiles(0, self.x.shape[1], _PIECE)

    def _values(self, *, first: bool = False, points: Array | None = None, of: Array | None = None) -> Array:
        """Return 1 + h.u of the pushed rows at the points (default: planes numbered `of`); `first` sets the boxes."""
        of = np.arange(len(self.planes)) if of is None else of
        points = np.stack([self.planes[k].u for k in of]) if points is None else points
        values = self.x if first else np.empty((len(of), self.x.shape[1]), dtype=np.float32)

        def visit(piece: slice) -> None:
            for tile in tiles(piece.start, piece.stop, _TILE):
                part = slice(tile.start + self.first, tile.stop + self.first)
                rows = self.reader.rows(part)
                products = np.empty((len(points), len(rows)), dtype=rows.dtype)
                values_of(rows, points.astype(rows.dtype), products)
                np.add(products, 1.0, out=values[:, tile], casting="same_kind")
                if first:
                    self.box[:, tile] = self.reader.boxes(part, rows)[:, self.near].T

        self.problem.each(visit, self._pieces())
        return values

    def descend(self) -> None:
        """Take Newton steps until the gap of every plane is within tol."""
        pending = np.arange(len(self.planes))
        while len(pending):
            curvature, sums = self._add_up(pending)
            targets = self.problem.each(self._step, zip(pending.tolist(), curvature, sums, strict=True))
            going = [k for k, target in enumerate(targets) if target is not None]
            pending, points = pending[going], [target for target in targets if target is not None]
            if points:
                ahead = self._values(points=np.stack(points), of=pending)
                self.problem.each(self._walk, zip(pending.tolist(), points, ahead, strict=True))

    def _walk(self, move: tuple[int, Array, Array]) -> None:
        """Search along the line from u to the target of a Newton step; `ahead` are the values 1 + h.u at the target.

        Overwrites `ahead`.
        """
        place, target, ahead = move
        plane = self.planes[place]
        direction = target - plane.u
        slope = float(direction @ self._times_gram(plane.near, plane.u))
        bend = float(direction @ self._times_gram(plane.near, direction))
        length = _newton_loops.hinge_search(self.x[place], ahead, self.box[place], plane.width, slope, bend)
        length = min(length, _LONGEST)  # near the solution u and the target differ by rounding only
        plane.u = plane.u + length * direction
        ahead -= self.x[place]
        ahead *= np.float32(length)
        self.x[place] += ahead

    def _times_gram(self, a: int, vector: Array) -> Array:
        """Return G_a times a vector."""
        gram, reg = self.ridged[a]
        return np.asarray(gram @ vector + reg * vector)

    def _add_up(self, pending: Array) -> tuple[Array, Array]:
        """Sum over the rows: curvature in the zone, hinge loss and duals (returned), and the dual sums (in place)."""
        n_columns = self.dual_sums.shape[1]
        curvature = np.zeros((len(pending), n_columns, n_columns))
        widths = np.array([self.planes[k].width for k in pending])
        totals = np.zeros((len(pending), 2))

        def visit(piece: slice) -> tuple[Array, Array, Array]:
            losses, duals, roots = _newton_loops.smooth_hinge(self.x[pending, piece], self.box[pending, piece], widths)
            moved = duals - self.alpha[piece, self.near[pending]].T.astype(np.float32, copy=False)
            self.alpha[piece, self.near[pending]] = duals.T
            needed = np.flatnonzero(_newton_loops.any_column(moved) | _newton_loops.any_column(roots))
            if 2 * len(needed) > piece.stop - piece.start:
                needed = np.arange(piece.stop - piece.start)  # a slice is faster than a long index
            dual_sums = np.zeros((len(pending), n_columns))
            zones = [_Zone(n_columns) for _ in pending]
            for start in range(0, len(needed), _TILE):
                some = needed[start : start + _TILE]
                offset = piece.start + self.first
                adjacent = some[-1] - some[0] == len(some) - 1
                rows = self.reader.rows(slice(some[0] + offset, some[-1] + offset + 1) if adjacent else some + offset)
                dual_sums += moved[:, some].astype(rows.dtype) @ rows
                for k, zone in enumerate(zones):
                    inside = np.flatnonzero(roots[k, some])
                    zone.add(rows[inside] * roots[k, some[inside], None].astype(rows.dtype))
            products = np.stack([zone.total() for zone in zones])
            return products, dual_sums, np.column_stack([losses, duals.sum(axis=1, dtype=np.float64)])

        for products, dual_sums, sums in self.problem.stream(visit, self._pieces()):
            curvature += products
            self.dual_sums[pending] += dual_sums
            totals += sums
        return curvature, totals

    def _step(self, state: tuple[int, Array, Array]) -> Array | None:
        """Compute the gap of a plane; return the target of the next Newton step, or None if the plane is solved."""
        place, curvature, sums = state
        plane = self.planes[place]
        primal_at_zero, options = self.primal_at_zero[place], self.problem.options
        slope = self._times_gram(plane.near, plane.u)
        whitened = solve_triangular(self.factors[plane.near], self.dual_sums[place], lower=True, check_finite=False)
        primal = 0.5 * float(plane.u @ slope) + sums[0]
        dual = sums[1] - 0.5 * float(whitened @ whitened)
        plane.gap = (primal - dual) / primal_at_zero if primal_at_zero > 0 else 0.0
        gram, reg = self.ridged[plane.near]
        plane.factor = _factor(gram + curvature, reg, float(np.finfo(np.float32).eps) * float(np.trace(curvature)))
        plane.steps += 1
        if plane.gap <= options.tol or plane.steps >= min(_MOST_STEPS, options.max_iter):
            return None
        step = solve_triangular(plane.factor, slope + self.dual_sums[place], lower=True, check_finite=False)
        gain = 0.5 * float(step @ step) / primal_at_zero
        if gain <= _ROUNDING and plane.width == _NARROWEST:
            return None  # the smoothed hinge allows no smaller gap
        if gain <= _SMALL_GAIN:
            plane.width = max(_NARROWER * plane.width, _NARROWEST)
        target: Array = plane.u - solve_triangular(plane.factor, step, lower=True, trans="T", check_finite=False)
        return target

    def store(self, b: int, solution: Solution) -> None:
        """Write planes, gaps and left-out values into the solution; the duals are there already."""
        for k, plane in enumerate(self.planes):
            solution.planes[plane.near, b] = plane.u
            solution.gaps[plane.near, b], solution.sweeps[plane.near, b] = plane.gap, plane.steps
            solution.box_sums[plane.near, b] = self.primal_at_zero[k]
        if self.problem.wanted.any():
            self.problem.each(lambda k: self._leave_out(k, b, solution), range(len(self.planes)))

    def _leave_out(self, place: int, b: int, solution: Solution) -> None:
        """Write the left-out values of the wanted rows of both classes of a plane into the solution."""
        plane = self.planes[place]
        assert plane.factor is not None  # `_step` sets it together with the gap
        near, lines = self.problem.wanted_rows(plane.near)
        if len(near):
            weights = self.problem.weights[near]
            solution.near[lines, b] = left_out_newton(self.reader.rows(near), plane.u, plane.factor, weights)
        pushed, lines = self.problem.wanted_rows(b)
        if len(pushed):
            in_block = pushed - self.first
            x, box = self.x[place : place + 1, in_block], self.box[place : place + 1, in_block]
            _, duals, roots = _newton_loops.smooth_hinge(x, box, np.array([plane.width]))
            rows = self.reader.rows(pushed)
            solution.far[lines, plane.near] = left_out_newton_pushed(
                rows, plane.u, plane.factor, duals[0], roots[0] ** 2
            )


def _factor(matrix: Array, reg: float, rounding: float = 0.0) -> Array:
    """Return the Cholesky factor of a matrix plus reg I.

    If `rounding`, the error of its sums, makes the matrix indefinite, it is added as well.  A Newton step is then a
    little shorter; the gap does not depend on the factor.
    """
    message = "A Hessian is not positive definite: raise reg, or pass float64."
    return lower_factor(matrix, message, ridges=(reg, reg + rounding) if rounding else (reg,))
