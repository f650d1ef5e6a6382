"""What a fit on a device leaves here: planes, support rows and sums, as arrays of NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arrays import Array
from .._namespace import like, namespace, to_numpy
from ..batch.row_homes import Home
from ..batch.solve import ClassState, MembershipBoxes, Solved
from ..batch.support import LEAST_DUAL, Support
from ..model.mapping import Mapping
from ..model.settings import Settings
from ..solver import products
from ..solver.plane_duals import PlaneDuals, SharpDuals
from ..solver.problem import Solution
from ..solver.row_reader import GivenBoxes, MappedRows, Result, Tiles, Visit
from .home import DeviceHome
from .rows import DeviceRows
from .solve import DeviceSolved

_CANDIDATES = 20  # for each support row that is kept, so many are compared


class Here(Home):
    """A few rows of a device, brought here and mapped here."""

    def __init__(self, rows: DeviceRows, mapping: Mapping) -> None:
        self.rows, self.mapping = rows, mapping
        self.starts, self.class_weights = rows.starts, rows.class_weights

    @property
    def n_columns(self) -> int:
        """Number of columns of a mapped row, with the bias."""
        return int(self.mapping.rows(np.zeros((1, self.rows.n_columns), dtype=self.rows.dtype)).shape[1])

    def take(self, numbers: Array) -> MappedRows:
        """Return the rows with these numbers."""
        rows = self.mapping.rows(self.rows.take_here(numbers))
        return MappedRows(numbers, rows, self.labels_of(numbers), self.rows.weights_of(numbers))

    def raw(self, numbers: Array) -> Any:
        """Return the rows with these numbers as they are before the map."""
        return self.rows.take_here(numbers)

    def reduce(self, function: Visit[Result], state: Any, name: str, classes: Sequence[int] | None = None) -> Result:
        """Refuse to pass over all rows, which are on the device."""
        raise NotImplementedError


def trimmed(solution: Solution, n_columns: int) -> Solution:
    """Return a solution without the columns of zeros behind the bias."""
    return replace(solution, planes=np.ascontiguousarray(solution.planes[..., :n_columns]))


def host_state(solved: DeviceSolved, here: Home, settings: Settings, n_columns: int) -> Solved:
    """Return solved planes, with sums of the classes and functions for boxes and duals, as arrays of NumPy."""
    solution = trimmed(solved.solution, n_columns)
    totals = to_numpy(solved.sums.totals)[:, :n_columns]
    grams = [to_numpy(gram[:n_columns, :n_columns]) for gram in solved.sums.grams]
    boxes = MembershipBoxes(totals / here.class_weights[:, None], solved.ranges, settings.C)
    duals = PlaneDuals(boxes, solution.planes, solved.widths, SharpDuals.joined([], here.n_classes))
    state = ClassState(totals, grams, solved.extremes, solved.ranges, boxes, duals)
    return Solved(solved.decision, solution, None, state)


@dataclass(frozen=True)
class _Search:
    """What the duals of rows follow from, and the least dual that makes a support row."""

    planes: Array
    widths: Array
    boxes: GivenBoxes
    least: float
    most: int | None


def support_on_device(home: DeviceHome, solved: DeviceSolved, settings: Settings, memory: int | None) -> Support:
    """Find the support rows by a pass over the rows, and candidates for those that are kept."""
    most = None if memory is None else _CANDIDATES * memory
    least = LEAST_DUAL * float(settings.C.min())
    search = _Search(solved.solution.planes, solved.widths, solved.boxes, least, most)
    return home.reduce(_find, search, "support rows")


def _find(rows: Tiles, search: _Search) -> Support:
    n_classes = len(search.planes)
    nothing, none = np.zeros(n_classes, dtype=np.int64), np.empty(0, dtype=np.int64)
    total = Support(nothing, nothing, none, np.empty((0, 2), np.uint64), np.empty(0), none, search.most)
    for tile in rows:
        near = np.flatnonzero(np.arange(n_classes) != tile.label)
        xp = namespace(tile.rows)
        x = products.row_values(tile.rows, like(search.planes[near, tile.label], tile.rows, np.float64)) + 1.0
        box = xp.take(search.boxes(tile), like(near, tile.rows, np.int64), axis=1).T
        duals = products.smooth_hinge(x, box, search.widths[near, tile.label])[1]
        largest = xp.max(duals, axis=0)
        weights = 1.0 if tile.weights is None else tile.weights
        counts, pushing = nothing.copy(), nothing.copy()
        counts[tile.label] = int(xp.sum(xp.astype(largest > search.least * weights, xp.int64)))
        pushing[tile.label] = int(xp.sum(xp.astype(largest > 0, xp.int64)))
        free = xp.sum(xp.where((duals > 0) & (duals < box), duals, xp.zeros_like(duals)), axis=0)
        (places,) = xp.nonzero(free > 0) if bool(xp.any(free > 0)) else xp.nonzero(largest > 0)
        every = 1 if search.most is None else max(1, int(places.shape[0]) // search.most)
        some = places[::every]
        numbers = to_numpy(some).astype(np.int64) + _first(tile)
        candidates = np.column_stack([numbers, np.arange(len(numbers))]).astype(np.uint64)
        values = to_numpy(xp.take(free, some)).astype(np.float64)
        labels = np.full(len(numbers), tile.label)
        total = total + Support(counts, pushing, none, candidates, values, labels, search.most)
    return total


def _first(tile: MappedRows) -> int:
    """Return the number of the first row of a tile."""
    assert isinstance(tile.numbers, slice)
    return int(tile.numbers.start)
