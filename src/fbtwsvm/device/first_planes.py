"""First planes on a device: an interior-point method, on some rows of each class.

From planes of zero, Newton's method would need many short steps if only a few rows push a plane.  The number of steps
of an interior-point method hardly depends on that.  Each plane solves, with the hinge smoothed over a zone of width d
as in `solver.newton`, x_i = 1 + h_i.u, and duals alpha_i = c_i t_i with c_i = C w_i s_i:

    G u + sum c_i t_i h_i = 0                       u is a stationary point
    x_i + d / 2 - d t_i + p_i - q_i = 0             so are the t_i
    p_i t_i = 0,  q_i s_i = 0,  s_i = 1 - t_i       with p, q, s, t >= 0

A step is one of Newton's method on these equations, with a small number in place of both zeros, and keeps p, q, s, t
above zero.  Eliminating all but u leaves a system with G + sum c_i h_i h_i' / (d + p_i / t_i + q_i / s_i).  Each matrix
is used twice: first for a step towards zero, which tells how small the number may be and what the products p t and q s
become (Mehrotra's predictor and corrector), then for the step that is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, tiles
from .._namespace import as_float, free_bytes, namespace, rows_at, to_numpy, zeros
from ..solver import products
from ..solver.newton import planes_at_once
from ..solver.plane_algebra import PlaneAlgebra
from ..solver.problem import Outline
from ..solver.row_reader import GivenBoxes
from .home import DeviceHome

SAMPLED = 50_000  # rows of each class
_MOST_STEPS = 100  # few planes need so many: those near a small class that push a very large one
_BYTES = 200  # that a row takes in a plane while it is solved
_OF_WAY = 0.99  # share of the way to where a first variable becomes zero, which a step may go
_OF_TOL, _OF_TOL_OF_ALL = 0.2, 0.01  # planes of a sample are solved to so many times tol, and those of all rows


@dataclass(frozen=True)
class FirstTask:
    """The planes to find, and from what: `widths` (n_classes,) are those of the zones of planes that push a class."""

    home: DeviceHome
    boxes: GivenBoxes
    problem: Outline
    grams: Sequence[Any]
    widths: Array


def first_planes(task: FirstTask, todo: Array, *, on_all_rows: bool = False) -> Array:
    """Return planes (n_classes, n_classes, D), those that are to do, of evenly spaced rows of each class, or of all."""
    home, problem, grams = task.home, task.problem, task.grams
    planes = np.zeros((*todo.shape, home.n_columns))
    near = np.flatnonzero(todo.any(axis=1)).tolist()
    algebra = PlaneAlgebra(grams, problem.reg, near, problem.each)
    for b, size in enumerate(np.diff(home.starts).tolist()):
        others = np.flatnonzero(todo[:, b])
        if not size or not len(others):
            continue
        every = 1 if on_all_rows else max(1, size // SAMPLED)
        rows, box = _some(home, task.boxes, b, every)
        at_once = min(planes_at_once(grams[0]), free_bytes(box) // (_BYTES * box.shape[0]))
        for group in tiles(0, len(others), max(1, at_once)):
            some = others[group]
            pushed = _Pushed(algebra, some, rows, rows_at(box.T, some), float(task.widths[b]))
            share = _OF_TOL if every > 1 else _OF_TOL_OF_ALL
            planes[some, b] = pushed.solved(max(share * problem.options.tol, 1e-8))
    return planes


def _some(home: DeviceHome, boxes: GivenBoxes, b: int, every: int) -> tuple[Any, Any]:
    """Return each so many rows of class b, and their boxes, as many times larger."""
    first, last = int(home.starts[b]), int(home.starts[b + 1])
    if every == 1 and home.held is not None:
        return home.held[b], boxes.box[first:last, :]
    chosen = np.arange(first, last, every)
    return home.take(chosen).rows, rows_at(boxes.box, chosen) * ((last - first) / len(chosen))


@dataclass
class _Direction:
    """A step of u and of all that belongs to the rows, for m planes: u (m, D), and (m, n)."""

    u: Any
    x: Any
    t: Any
    p: Any
    q: Any


class _Pushed:
    """Some planes that push the same rows, and where they are."""

    def __init__(self, algebra: PlaneAlgebra, near: Array, rows: Any, box: Any, width: float) -> None:
        self.algebra, self.near, self.rows, self.width = algebra, near, rows, width
        self.box = as_float(box, "float64")
        xp = namespace(self.box)
        self.total = xp.sum(self.box, axis=1, keepdims=True)
        self.u = zeros((len(near), rows.shape[1]), rows)
        self.x = xp.ones_like(self.box)
        self.t, self.s = 0.5 * self.x, 0.5 * self.x
        self.p, self.q = 0.5 * self.x, 1.5 * self.x

    def solved(self, tol: float) -> Array:
        """Take steps until every plane is solved to `tol`; return the planes (m, D), as an array of NumPy."""
        found, places = np.zeros(self.u.shape), np.arange(len(self.near))
        for step in range(_MOST_STEPS + 1):
            gradient = self.algebra.times_gram(self.near, self.u) + self._sum(self.t)
            whitened = self.algebra.whiten(self.near, gradient)
            product = self._mean_product(self.t, self.s, self.p, self.q)
            lacks = (
                2.0 * product + 0.5 * namespace(whitened).sum(whitened * whitened, axis=1, keepdims=True) / self.total
            )
            going = to_numpy(lacks)[:, 0] > tol
            if step == _MOST_STEPS:
                going[:] = False
            if not going.all():
                found[places[~going]] = to_numpy(rows_at(self.u, np.flatnonzero(~going)))
                left = np.flatnonzero(going)
                if not len(left):
                    break
                places, gradient, product = places[left], rows_at(gradient, left), rows_at(product, left)
                self._keep(left)
            self._step(gradient, product)
        return found

    def _keep(self, places: Array) -> None:
        """Go on with some of the planes."""
        self.near = self.near[places]
        for name in ("box", "total", "u", "x", "t", "s", "p", "q"):
            setattr(self, name, rows_at(getattr(self, name), places))

    def _sum(self, shares: Any) -> Any:
        """Return sum_i c_i share_i h_i (m, D)."""
        return products.weighted_sums(self.box * shares, self.rows)

    def _mean_product(self, t: Any, s: Any, p: Any, q: Any) -> Any:
        """Return the mean of all p_i t_i and q_i s_i (m, 1), weighted by c."""
        return namespace(t).sum(self.box * (p * t + q * s), axis=1, keepdims=True) / (2.0 * self.total)

    def _step(self, gradient: Any, product: Any) -> None:
        """Take a step of every plane."""
        xp = namespace(gradient)
        share = 1.0 / (self.width + self.p / self.t + self.q / self.s)
        curvature = zeros((len(self.near), self.rows.shape[1], self.rows.shape[1]), self.rows)
        products.add_zone_grams(curvature, self.rows, products.vectors_like(self.rows, xp.sqrt(self.box * share)))
        factors = self.algebra.hessian_factors(self.near, [curvature[k, ...] for k in range(len(self.near))])
        nothing = xp.zeros_like(self.t)
        towards_zero = self._direction(gradient, share, factors, nothing, nothing)
        length = self._longest(towards_zero)
        t, p, q = (getattr(self, name) + length * getattr(towards_zero, name) for name in "tpq")
        small = product * (self._mean_product(t, self.s - length * towards_zero.t, p, q) / product) ** 3
        low, high = small - towards_zero.t * towards_zero.p, small + towards_zero.t * towards_zero.q
        step = self._direction(gradient, share, factors, low, high)
        length = xp.clip(_OF_WAY * self._longest(step), 0.0, 1.0)
        self.u = self.u + length * step.u
        self.x, self.t, self.s = self.x + length * step.x, self.t + length * step.t, self.s - length * step.t
        self.p, self.q = self.p + length * step.p, self.q + length * step.q

    def _direction(self, gradient: Any, share: Any, factors: Any, low: Any, high: Any) -> _Direction:
        """Return the step after which p t = low and q s = high, if the products of two changes are left out."""
        lack = self.x + self.width * (0.5 - self.t) + low / self.t - high / self.s
        right = gradient + self._sum(share * lack)
        half = self.algebra.solve(factors, right)
        u = -self.algebra.solve(factors, half, transposed=True)
        x = as_float(products.row_values(self.rows, u), "float64")
        t = share * (x + lack)
        p = low / self.t - self.p - self.p / self.t * t
        q = high / self.s - self.q + self.q / self.s * t
        return _Direction(u, x, t, p, q)

    def _longest(self, step: _Direction) -> Any:
        """Return how far each plane (m, 1) may go until a first variable becomes zero, at most 1 / _OF_WAY."""
        xp = namespace(step.t)
        most = xp.full_like(self.total, 1.0 / _OF_WAY)
        for values, change in ((self.t, step.t), (self.s, -step.t), (self.p, step.p), (self.q, step.q)):
            ways = xp.where(change < 0.0, -values / change, xp.full_like(values, np.inf))
            most = xp.minimum(most, xp.min(ways, axis=1, keepdims=True))
        return most
