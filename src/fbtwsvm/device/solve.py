"""From mapped rows on a device to planes: sums of the classes, memberships, Newton's method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arrays import Array
from .._log import LOG
from .._namespace import as_float, like, namespace, rows_at, zeros
from ..batch.solve import Calibration
from ..model.decision import Decision
from ..model.membership import Extremes, Ranges, memberships_on_device
from ..model.settings import Settings
from ..solver import products
from ..solver.newton import MOST_STEPS, Course, solve_newton
from ..solver.problem import Factor, Outline, Solution, Start
from ..solver.row_reader import GivenBoxes, MappedRows, Tiles
from .home import DeviceHome

_SAMPLED = 100_000  # rows of each class from which first planes are found
_WIDEST = 8.0  # width of the zone of first planes at first: all rows are in it, so that the first steps are short
_MOST_FIRST_STEPS = 200  # on these rows, where a step takes little time
_WIDTH = 0.06  # width of the zone at first, on all rows
_OF_TOL, _NARROWEST = 0.5, 1e-5  # the zone narrows to so many times tol at most, and never below the second


@dataclass
class Sums:
    """Sums over the rows of each class, on the device: `totals` (n_classes, D) and `grams`."""

    totals: Any
    grams: list[Any]


@dataclass
class DeviceSolved:
    """Solved planes, the decision rule, and what both follow from.

    `boxes` and `widths` of the zones give the duals of rows; `ranges` and `extremes` are those of the memberships.
    """

    solution: Solution
    decision: Decision
    sums: Sums
    extremes: Extremes
    ranges: Ranges
    boxes: GivenBoxes
    widths: Array


def class_sums(home: DeviceHome) -> Sums:
    """Return the sums over the rows of each class, by one pass."""
    return home.reduce(_add_sums, home, "sums of the classes")


def _add_sums(rows: Tiles, home: DeviceHome) -> Sums:
    place, width = home.rows.place, home.n_columns
    grams = [zeros((width, width), place) for _ in range(home.n_classes)]
    for tile in rows:
        roots = None if tile.weights is None else namespace(tile.weights).sqrt(tile.weights)
        grams[tile.label] = products.add_gram(grams[tile.label], tile.rows, roots)
    bias = home.map.n_columns - 1
    totals = namespace(place).stack([gram[bias, :] for gram in grams])  # the column of the bias holds ones
    return Sums(totals, grams)


def memberships(home: DeviceHome, means: Any, settings: Settings) -> tuple[Extremes, Any]:
    """Return the extremes of the distances to the class means, and these distances, (n, n_classes) on the device."""
    n_classes = home.n_classes
    distances = zeros((home.rows.n, n_classes), home.rows.place, _working(home))
    extremes = Extremes(n_classes)
    if settings.membership == "none":
        return extremes, distances
    home.reduce(_write_distances, (means, distances), "distances to the class means")
    for k in range(n_classes):
        _add_extremes(extremes, k, distances[int(home.starts[k]) : int(home.starts[k + 1]), :])
    return extremes, distances


def _working(home: DeviceHome) -> str:
    return home.rows.dtype


def _write_distances(rows: Tiles, state: tuple[Any, Any]) -> None:
    """Write the squared distances of rows to the means; rounding errors become zero, as in `membership.clean`."""
    means, distances = state
    xp = namespace(means)
    norms = as_float(xp.sum(means * means, axis=1), str(distances.dtype).rpartition(".")[2])
    for tile in rows:
        sizes = products.row_squares(tile.rows)[:, None] + norms
        found = sizes - 2.0 * products.row_values(tile.rows, means).T
        noise = 16.0 * float(np.finfo(str(found.dtype).rpartition(".")[2]).eps)
        distances[tile.numbers, :] = xp.where(found < noise * sizes, xp.zeros_like(found), found)


def _add_extremes(extremes: Extremes, k: int, distances: Any) -> None:
    """Note the extremes of the rows of class k."""
    xp = namespace(distances)
    extremes.counts[k] = distances.shape[0]
    if not distances.shape[0]:
        return
    own = distances[:, k][:, None]
    noisy = own >= distances
    infinity = xp.full_like(distances, np.inf)
    for group, chosen in enumerate((noisy, xp.logical_not(noisy))):
        extremes.nearest[group, k] = _here(xp.min(xp.where(chosen, own, infinity), axis=0))
        extremes.farthest[group, k] = _here(xp.max(xp.where(chosen, own, -infinity), axis=0))


def _here(values: Any) -> list[float]:
    return [float(value) for value in values]


def boxes_of(home: DeviceHome, distances: Any, ranges: Ranges, settings: Settings) -> Any:
    """Return C w s (n, n_classes) of all rows, on the device."""
    xp, parts = namespace(distances), []
    C = like(settings.C, distances, home.rows.dtype)
    for k in range(home.n_classes):
        block = slice(int(home.starts[k]), int(home.starts[k + 1]))
        own = distances[block, :]
        shares = xp.ones_like(own)
        if settings.membership != "none" and own.shape[0]:
            shares = memberships_on_device(own[:, k], own, k, ranges)
        if home.rows.weights is not None:
            shares = shares * as_float(home.rows.weights[block], home.rows.dtype)[:, None]
        parts.append(shares * C)
    return xp.concat(parts, axis=0)


def solve_on_device(
    settings: Settings, home: DeviceHome, wanted: Array, sums: Sums | None = None, first: Array | None = None
) -> DeviceSolved:
    """Solve every plane; `wanted` are the numbers of the calibration rows, `first` are planes to start from."""
    sums = class_sums(home) if sums is None else sums
    means = sums.totals / like(home.class_weights, sums.totals, np.float64)[:, None]
    extremes, distances = memberships(home, means, settings)
    ranges = extremes.ranges(settings.mu, settings.membership)
    LOG.info("class means and memberships found")
    boxes = GivenBoxes(boxes_of(home, distances, ranges, settings))
    solution, widths = solve_planes(settings, home, boxes, sums.grams, home.take(wanted), first)
    decision = decide(settings, home, wanted, solution)
    return DeviceSolved(solution, decision, sums, extremes, ranges, boxes, widths)


def decide(settings: Settings, home: DeviceHome, wanted: Array, solution: Solution) -> Decision:
    """Return the decision rule, learned from the left-out values of the calibration rows."""
    calibration = Calibration(home.labels_of(wanted), home.rows.weights_of(wanted), home.class_weights)
    return calibration.decide(solution, settings)


def solve_planes(
    settings: Settings,
    home: DeviceHome,
    boxes: GivenBoxes,
    grams: Sequence[Any],
    wanted: MappedRows,
    first: Array | None = None,
    fixed: tuple[Array, Array] | None = None,
) -> tuple[Solution, Array]:
    """Solve every plane by Newton's method; return the solution and the widths of the zones.

    Unless `first` planes are given, they are found on some rows of each class.  `fixed` are the sum of alpha_i h_i and
    that of the boxes of rows whose duals do not change, as in `Start`.
    """
    n_classes, width = home.n_classes, home.n_columns
    options = replace(settings.options, n_jobs=1)
    problem = Outline(home.starts, settings.reg, options)
    sums, box = (None, np.zeros((n_classes, n_classes))) if fixed is None else fixed
    pushed = np.diff(home.starts) > 0
    todo = ~np.eye(n_classes, dtype=bool) & (pushed | (box.sum(axis=0) > 0))
    start = Start(_no_factor, np.empty(0), todo, box, fixed_sums=sums, planes=first)
    narrowest = min(max(_OF_TOL * options.tol, _NARROWEST), _WIDTH)
    steps = np.full(n_classes, MOST_STEPS)
    if first is None:
        start = replace(start, planes=_first_planes(home, boxes, problem, grams, start, narrowest))
    solution = Solution.zeros((0, len(wanted)), n_classes, width)
    course = Course(options.tol, widest=_WIDTH, narrowest=narrowest, trusts=True)
    widths = solve_newton(home, boxes, problem, grams, start, steps, wanted, solution, course)
    LOG.info("planes solved in at most %d steps", int(solution.sweeps.max()))
    return solution, widths


def _no_factor(_: int) -> Factor:
    raise NotImplementedError  # Newton's method factors Gram matrices itself


def _first_planes(
    home: DeviceHome, boxes: GivenBoxes, problem: Outline, grams: Sequence[Any], start: Start, narrowest: float
) -> Array:
    """Return planes of evenly spaced rows of each class, from which all rows need few steps."""
    n_classes, width = home.n_classes, home.n_columns
    sample = _Sample(home, boxes)
    outline = replace(problem, starts=sample.starts)
    solution = Solution.zeros((0, 0), n_classes, width)
    nothing = MappedRows(np.empty(0, dtype=np.int64), np.empty((0, width)), np.empty(0, dtype=np.int64), np.empty(0))
    planes = np.zeros((n_classes, n_classes, width))
    course = Course(0.5 * problem.options.tol, widest=_WIDTH, narrowest=_WIDTH, damped=True)
    begin, steps = replace(start, planes=planes), np.full(n_classes, _MOST_FIRST_STEPS)
    solve_newton(sample, sample.boxes, outline, grams, begin, steps, nothing, solution, course)
    return solution.planes


class _Sample:
    """Evenly spaced rows of each class, whose boxes are as many times larger."""

    def __init__(self, home: DeviceHome, boxes: GivenBoxes) -> None:
        numbers, self.starts, shares = [], [0], []
        for k, size in enumerate(np.diff(home.starts).tolist()):
            every = max(1, size // _SAMPLED)
            numbers.append(np.arange(home.starts[k], home.starts[k + 1], every))
            self.starts.append(self.starts[-1] + len(numbers[-1]))
            shares.append(np.full(len(numbers[-1]), size / max(len(numbers[-1]), 1)))
        self.starts = np.array(self.starts)
        chosen = np.concatenate(numbers)
        self.rows = home.take(chosen).rows
        box = rows_at(boxes.box, chosen)
        self.boxes = GivenBoxes(box * like(np.concatenate(shares), box, home.rows.dtype)[:, None])

    def take(self, numbers: Array) -> MappedRows:
        """Return the rows with these numbers."""
        labels = np.searchsorted(self.starts, numbers, side="right") - 1
        return MappedRows(numbers, rows_at(self.rows, numbers), labels, np.ones(len(numbers)))

    def reduce(self, function: Any, state: Any, name: str, classes: Sequence[int] | None = None) -> Any:
        """Pass over the rows of some classes."""
        wanted = range(len(self.starts) - 1) if classes is None else classes
        return function((self._tile(k) for k in wanted if self.starts[k + 1] > self.starts[k]), state)

    def _tile(self, k: int) -> MappedRows:
        part = slice(int(self.starts[k]), int(self.starts[k + 1]))
        return MappedRows(part, self.rows[part, :], np.array([k]), np.ones(part.stop - part.start))


