"""Learn a large chunk on a device: sums are added, planes are solved again from where they were.

Of the rows before, the model has sums and a few support rows.  The duals of all others are fixed: their share in the
planes stays as it is.  The result is a fitted model like the one before, so small chunks continue it as a stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import Array
from .._namespace import dtype_name, full_products, like, namespace, rows_at
from ..batch.fit import batch_model
from ..batch.model import BatchModel
from ..batch.prepare import Prepared
from ..batch.remember import sums_of
from ..batch.solve import Calibration
from ..model.fit_sums import FitSums, SupportRows
from ..model.mapping import Mapping
from ..model.rows import LARGE, calibration_rows
from ..model.settings import Parameters, Settings
from ..solver.problem import Solution
from ..solver.row_reader import GivenBoxes, MappedRows, Result, Visit
from .home import DeviceHome
from .keep import Here, host_state, support_on_device
from .maps import maps_on_device
from .rows import DeviceRows
from .solve import DeviceSolved, Sums, boxes_of, class_sums, definite, memberships, solve_planes

_LARGE_CHUNK = 10_000  # rows from which a chunk is learned on its device
_MOST_WANTED = 512  # calibration rows of each class


def learns_on_device(model: Any, parameters: Parameters, n: int) -> bool:
    """Whether a chunk of n rows is learned on its device: it is large, nothing fades, and the model is a fit."""
    if parameters.decay != 1.0 or parameters.half_life is not None or parameters.drift_detector is not None:
        return False
    if model is None:
        return n > LARGE
    if not isinstance(model, BatchModel) or model.sums is None or n < _LARGE_CHUNK:
        return False
    return parameters.statistics == "all" and maps_on_device(model.mapping.transformer)


def update_on_device(model: BatchModel, parameters: Parameters, rows: DeviceRows) -> BatchModel:
    """Return a fit that has learned more rows; their classes are those of the model."""
    with full_products(rows.place):
        return _update(model, parameters, rows)


def _update(model: BatchModel, parameters: Parameters, rows: DeviceRows) -> BatchModel:
    sums, settings, seed = model.sums, parameters.settings(len(model.classes)), parameters.seed()
    assert sums is not None
    counts = sums.counts + rows.class_weights
    factors = counts.sum() / (len(counts) * counts) if parameters.class_weight == "balanced" else np.ones(len(counts))
    if parameters.class_weight == "balanced":
        rows = rows.with_factors(factors)
    home = DeviceHome(rows, model.mapping, parameters.precision)
    home.hold()
    width, ratio = home.n_columns, factors / sums.factors
    support = replace(sums.support, box=sums.support.box * ratio[sums.support.labels][:, None])
    joined = _Joined(home, support)
    every = _added(class_sums(home), sums, factors, width)
    every = replace(every, grams=definite(every.grams, settings.reg, model.classes))
    class_weights = factors * counts
    means = every.totals / like(class_weights, every.totals, np.float64)[:, None]
    extremes, distances = memberships(home, means, settings)
    before = (sums.n_rows, sums.nearest, sums.farthest)
    ranges = extremes.ranges(settings.mu, settings.membership, before)
    boxes = joined.boxes(boxes_of(home, distances, ranges, settings))
    wanted = calibration_rows(rows.starts, np.empty(0, dtype=np.int64), seed, _MOST_WANTED)
    fixed = (_wide(sums.dual_sums * ratio[:, None], width), sums.box_sums * ratio)
    planes = _wide(model.planes.astype(np.float64), width)
    calibration = replace(home.take(wanted), numbers=joined.number(wanted))
    solution, widths = solve_planes(settings, joined, boxes, every.grams, calibration, planes, fixed)
    decision = _decide(settings, solution, home.labels_of(wanted), sums, class_weights)
    solved = DeviceSolved(solution, decision, every, extremes, ranges, boxes, widths)
    here = _JoinedHere(joined, rows, model.mapping, replace(support, weights=support.weights * factors[support.labels]))
    here.class_weights = class_weights
    sample = rows.subset(wanted[:0])
    numbers = joined.number(wanted)
    prepared = Prepared(model.classes, settings, model.gamma, sample, model.mapping, here, None, numbers, factors, seed)
    found = support_on_device(joined, solved, settings, parameters.memory)
    state = host_state(solved, here, settings, home.map.n_columns)
    fresh = sums_of(prepared, state, found, parameters)
    fresh = replace(
        fresh,
        n_rows=sums.n_rows + np.diff(rows.starts),
        n_condensed=fresh.n_condensed + sums.n_condensed,
        nearest=np.where(np.diff(rows.starts) > 0, np.minimum(fresh.nearest, sums.nearest), sums.nearest),
        farthest=np.maximum(fresh.farthest, sums.farthest),
    )
    updated = batch_model(prepared, state, model.dtype)
    return replace(updated, n_support=found.counts + sums.n_condensed, sums=fresh, lineage=model.lineage)


def _wide(values: Array, width: int) -> Array:
    """Return arrays with zeros behind their last column."""
    out = np.zeros((*values.shape[:-1], width))
    out[..., : values.shape[-1]] = values
    return out


def _added(new: Sums, old: FitSums, factors: Array, width: int) -> Sums:
    """Return the sums over new rows and those before, with the factors of class_weight."""
    n_columns = old.grams.shape[1]
    for k, gram in enumerate(new.grams):
        gram[:n_columns, :n_columns] += like(factors[k] * old.grams[k], gram, np.float64)
    totals = new.totals + like(_wide(factors[:, None] * old.sums, width), new.totals, np.float64)
    return Sums(totals, new.grams)


def _decide(settings: Settings, solution: Solution, labels: Array, sums: FitSums, class_weights: Array) -> Any:
    """Learn the decision rule from left-out values of new rows and of rows before."""
    every = np.concatenate([labels, sums.labels])
    order = np.argsort(every, kind="stable")
    near, far = np.concatenate([solution.near, sums.near])[order], np.concatenate([solution.far, sums.far])[order]
    both = replace(solution, near=near, far=far)
    return Calibration(every[order], np.ones(len(every)), class_weights).decide(both, settings)


class _Joined(DeviceHome):
    """New rows on the device, and behind those of each class the support rows that the model has kept."""

    def __init__(self, home: DeviceHome, support: SupportRows) -> None:
        self.home, self.map, self.rows, self.mapping = home, home.map, home.rows, home.mapping
        self.class_weights = home.class_weights
        self.held = None
        self.places = [np.flatnonzero(support.labels == k) for k in range(home.n_classes)]
        sizes = np.diff(home.starts) + np.array([len(own) for own in self.places])
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        place = home.rows.place
        kept = like(_wide(support.rows, home.n_columns), place)
        self.kept = namespace(place).astype(kept, home.map.dtype, copy=False)
        self.kept_boxes = support.box

    def number(self, numbers: Array) -> Array:
        """Return the numbers of new rows among all rows."""
        labels = self.home.labels_of(numbers)
        shifts: Array = self.starts[:-1] - self.home.starts[:-1]
        return np.asarray(numbers + shifts[labels])

    def boxes(self, new: Any) -> GivenBoxes:
        """Return the boxes of all rows, from those of new ones."""
        xp, parts = namespace(new), []
        dtype = dtype_name(new)
        for k, own in enumerate(self.places):
            parts.append(new[int(self.home.starts[k]) : int(self.home.starts[k + 1]), :])
            parts.append(like(self.kept_boxes[own], new, dtype))
        return GivenBoxes(xp.concat(parts, axis=0))

    def reduce(self, function: Visit[Result], state: Any, name: str, classes: Sequence[int] | None = None) -> Result:
        """Pass over the rows of some classes."""
        return function(self._both(range(self.n_classes) if classes is None else classes), state)

    def _both(self, classes: Sequence[int]) -> Iterator[MappedRows]:
        for tile in self.home._tiles(classes):
            shift = int(self.starts[tile.label] - self.home.starts[tile.label])
            assert isinstance(tile.numbers, slice)
            yield replace(tile, numbers=slice(tile.numbers.start + shift, tile.numbers.stop + shift))
        for k in classes:
            if len(self.places[k]):
                numbers = slice(int(self.starts[k + 1]) - len(self.places[k]), int(self.starts[k + 1]))
                yield MappedRows(numbers, rows_at(self.kept, self.places[k]), np.array([k]), None)


class _JoinedHere(Here):
    """The same rows, brought here."""

    def __init__(self, joined: _Joined, rows: DeviceRows, mapping: Mapping, support: SupportRows) -> None:
        super().__init__(rows, mapping)
        self.joined, self.support, self.starts = joined, support, joined.starts

    def take(self, numbers: Array) -> MappedRows:
        """Return the rows with these numbers."""
        labels = self.labels_of(numbers)
        new, own, kept = self._split(numbers, labels)
        first = super().take(own)
        rows = np.empty((len(numbers), self.support.rows.shape[1]), dtype=first.rows.dtype)
        weights = np.empty(len(numbers))
        rows[new], rows[~new] = first.rows, self.support.rows[kept]
        weights[new] = first.weights
        weights[~new] = self.support.weights[kept]
        return MappedRows(numbers, rows, labels, weights)

    def raw(self, numbers: Array) -> Any:
        """Return the rows with these numbers as they are before the map."""
        new, own, kept = self._split(numbers, self.labels_of(numbers))
        rows = np.empty((len(numbers), self.rows.n_columns), dtype=self.rows.dtype)
        rows[new] = super().raw(own)
        if len(kept):
            rows[~new] = self.support.raw[kept]
        return rows

    def _split(self, numbers: Array, labels: Array) -> tuple[Array, Array, Array]:
        """Mark the new rows; return also their numbers among new rows, and the places of the others among kept ones."""
        home = self.joined.home
        inside = numbers - self.starts[:-1][labels]
        sizes = np.diff(home.starts)[labels]
        new = inside < sizes
        kept = [self.joined.places[k][i] for k, i in zip(labels[~new], (inside - sizes)[~new], strict=True)]
        return new, (inside + home.starts[:-1][labels])[new], np.array(kept, dtype=np.int64)
