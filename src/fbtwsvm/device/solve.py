"""From mapped rows on a device to planes: sums of the classes, memberships, Newton's method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arrays import Array
from .._linalg import lower_factor
from .._log import LOG, warn
from .._namespace import as_float, device_of, dtype_name, like, namespace, to_numpy, zeros
from ..batch.solve import Calibration
from ..model.decision import Decision
from ..model.membership import Extremes, Ranges, memberships_on_device
from ..model.settings import Settings
from ..solver import products
from ..solver.newton import FEW_STEPS, MOST_STEPS, WIDEST, Course, Task, solve_newton
from ..solver.problem import Factor, Outline, Solution, Start
from ..solver.row_reader import GivenBoxes, MappedRows, Tiles
from .first_planes import SAMPLED, FirstTask, first_planes
from .home import DeviceHome

_OF_SMALL = 10.0  # width of the zone of a class whose rows are all among those of first planes, relative to tol
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
        grams[tile.label] = products.add_gram(grams[tile.label], tile.rows, tile.weights)
    bias = home.map.n_columns - 1
    totals = namespace(place).stack([gram[bias, :] for gram in grams])  # the column of the bias holds ones
    return Sums(totals, grams)


def definite(grams: Sequence[Any], reg: Array, names: Array, *, aloud: bool = True) -> list[Any]:
    """Return Gram matrices that are positive definite with half of their ridge, whatever the rounding of their sums.

    Where they are not, the least multiple of the ridge that helps is added to the diagonal, and told `aloud`.
    """
    found = []
    for gram, ridge, name in zip(grams, reg.tolist(), names.tolist(), strict=True):
        added = 0.0
        while not _is_definite(gram, 0.5 * ridge + added):
            added = max(4.0 * added, ridge)
        if not added:
            found.append(gram)
            continue
        xp = namespace(gram)
        found.append(gram + added * xp.eye(gram.shape[0], dtype=gram.dtype, device=device_of(gram)))
        message = (
            f"The rounding of sums over the rows of class {name!r} exceeds reg={ridge:g}: {added:g} was added to reg "
            "for this class. Raise reg, take fewer features, or use precision='highest'."
        )
        if aloud:
            warn(message, UserWarning)
        else:
            LOG.info(message)
    return found


def _is_definite(gram: Any, ridge: float) -> bool:
    if not ridge < np.inf:
        raise ValueError("A Gram matrix holds NaN or infinity: scale the columns.")
    try:
        lower_factor(gram, "", ridges=(ridge,))
    except ValueError:
        return False
    return True


def memberships(home: DeviceHome, means: Any, settings: Settings) -> tuple[Extremes, Any]:
    """Return the extremes of the distances to the class means, and these distances, (n, n_classes) on the device."""
    n_classes = home.n_classes
    distances = zeros((home.rows.n, n_classes), home.rows.place, home.rows.dtype)
    extremes = Extremes(n_classes)
    if settings.membership == "none":
        return extremes, distances
    home.reduce(_write_distances, (means, distances), "distances to the class means")
    for k in range(n_classes):
        _add_extremes(extremes, k, distances[int(home.starts[k]) : int(home.starts[k + 1]), :])
    return extremes, distances


def _write_distances(rows: Tiles, state: tuple[Any, Any]) -> None:
    """Write the squared distances of rows to the means; rounding errors become zero, as in `membership.clean`."""
    means, distances = state
    xp = namespace(means)
    norms = as_float(xp.sum(means * means, axis=1), dtype_name(distances))
    for tile in rows:
        sizes = products.row_squares(tile.rows)[:, None] + norms
        found = sizes - 2.0 * products.row_values(tile.rows, means).T
        noise = 16.0 * float(np.finfo(dtype_name(found)).eps)
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
        extremes.nearest[group, k] = to_numpy(xp.min(xp.where(chosen, own, infinity), axis=0))
        extremes.farthest[group, k] = to_numpy(xp.max(xp.where(chosen, own, -infinity), axis=0))


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


def solve_on_device(settings: Settings, home: DeviceHome, wanted: Array) -> DeviceSolved:
    """Solve every plane; `wanted` are the numbers of the calibration rows."""
    sums = class_sums(home)
    means = sums.totals / like(home.class_weights, sums.totals, np.float64)[:, None]
    extremes, distances = memberships(home, means, settings)
    ranges = extremes.ranges(settings.mu, settings.membership)
    LOG.info("class means and memberships found")
    boxes = GivenBoxes(boxes_of(home, distances, ranges, settings))
    sums = replace(sums, grams=definite(sums.grams, settings.reg, home.rows.classes))
    solution, widths = solve_planes(settings, home, boxes, sums.grams, home.take(wanted))
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
    narrowest = min(max(_OF_TOL * options.tol, _NARROWEST), WIDEST)
    # From planes of other settings more steps pay than first planes of all rows.
    steps = np.full(n_classes, FEW_STEPS if first is None and home.held is not None else MOST_STEPS)
    zones, narrow = np.full(n_classes, WIDEST), min(_OF_SMALL * options.tol, WIDEST)
    begin = FirstTask(home, boxes, problem, grams, zones)
    rest = todo
    if first is None:
        # Planes of all rows of a class are solved with a narrow zone at once; those of a sample are not that precise.
        rest = todo & (np.diff(home.starts) > SAMPLED)
        zones[np.diff(home.starts) <= SAMPLED] = narrow
        start = replace(start, planes=first_planes(begin, todo))
    solution = Solution.zeros((0, len(wanted)), n_classes, width)
    course = Course(options.tol, narrowest=narrowest, trusts=True)
    task = Task(home, boxes, problem, grams, start, wanted, steps, zones, course)
    widths = solve_newton(task, solution)
    rest = rest & (solution.gaps > options.tol)
    if fixed is None and home.held is not None and rest.any():  # first planes were too far from the solution
        LOG.info("%d planes are solved on all rows of their class", int(rest.sum()))
        begin = replace(begin, widths=np.full(n_classes, narrow))
        again = replace(start, todo=rest, planes=first_planes(begin, rest, on_all_rows=True))
        better = Solution.zeros((0, len(wanted)), n_classes, width)
        found = solve_newton(replace(task, start=again, widths=begin.widths), better)
        _take_better(solution, widths, better, found, wanted.labels, rest)
    LOG.info("planes solved in at most %d steps", int(solution.sweeps.max()))
    return solution, widths


def _take_better(
    solution: Solution, widths: Array, other: Solution, other_widths: Array, labels: Array, todo: Array
) -> None:
    """Take those planes over whose gap is smaller in another solution, with all that belongs to them."""
    for a, b in zip(*np.nonzero(todo & (other.gaps < solution.gaps)), strict=True):
        widths[a, b] = other_widths[a, b]
        for name in ("planes", "gaps", "sweeps", "box_sums"):
            getattr(solution, name)[a, b] = getattr(other, name)[a, b]
        solution.near[labels == a, b] = other.near[labels == a, b]
        solution.far[labels == b, a] = other.far[labels == b, a]


def _no_factor(_: int) -> Factor:
    raise NotImplementedError  # Newton's method factors Gram matrices itself
