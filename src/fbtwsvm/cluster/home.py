"""A home of rows on the workers of a cluster: what is read are sums, and rows by their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, tiles
from ..batch.row_homes import Home
from ..model.mapping import Mapping
from ..solver.row_reader import MappedRows, Result, Visit
from .partitions import one_at_a_time
from .rows import Layout, PartitionedRows, as_rows

_TILE = 2048  # rows mapped at a time


class ClusterHome(Home):
    """Rows of a collection, which are mapped when they are read, wherever they are."""

    def __init__(self, rows: PartitionedRows, mapping: Mapping) -> None:
        self.rows, self.mapping = rows, mapping
        self.starts, self.class_weights = rows.starts, rows.class_weights

    @property
    def n_columns(self) -> int:
        """Number of columns of a mapped row, with the bias."""
        return int(self.take(self.rows.held[:1]).rows.shape[1])

    def take(self, numbers: Array) -> MappedRows:
        """Return the rows with these numbers."""
        X, weights = self.rows.take(numbers)
        return MappedRows(numbers, self.mapping.rows(X), self.labels_of(numbers), weights)

    def fetch(self, numbers: Array) -> None:
        """Bring rows here at once, instead of those of the sample, to be taken later."""
        self.rows.fetch(numbers, "support rows that are kept")

    def raw(self, numbers: Array) -> Any:
        """Return the rows with these numbers as they are before the map."""
        return self.rows.take(numbers)[0]

    def reduce(self, function: Visit[Result], state: Any, name: str, classes: Sequence[int] | None = None) -> Result:
        """Pass over the rows of some classes, partition by partition."""
        task = _Task(function, state, self.mapping, self.rows.layout, None if classes is None else tuple(classes))
        total: Result = self.rows.partitions.reduce(_visit, task, name, self.rows.groups(classes))
        return total


@dataclass(frozen=True)
class _Task:
    """What is done with every partition."""

    function: Visit[Any]
    state: Any
    mapping: Mapping
    layout: Layout
    classes: tuple[int, ...] | None


def _visit(p: int, X: Any, y: Any, weights: Any, task: _Task) -> Any:
    """Call a function on the tiles of a partition."""
    return task.function(_tiles(p, X, y, weights, task), task.state)


def _tiles(p: int, X: Any, y: Any, weights: Any, task: _Task) -> Iterator[MappedRows]:
    """Yield the mapped rows of a partition, tile by tile."""
    rows = as_rows(X, task.layout.dtype)
    for k, own, own_weights in task.layout.by_class(p, y, weights):
        if task.classes is not None and k not in task.classes:
            continue
        first = int(task.layout.offsets[p, k])
        for part in tiles(0, len(own), _TILE):
            numbers = slice(first + part.start, first + part.stop)
            labels = np.full(part.stop - part.start, k)
            with one_at_a_time(task.mapping):
                mapped = task.mapping.rows(rows[own[part]])
            yield MappedRows(numbers, mapped, labels, own_weights[part])
