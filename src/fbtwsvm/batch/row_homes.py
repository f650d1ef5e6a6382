"""Where the mapped rows of a fit are read from: an array in memory, or unmapped rows that are mapped when read.

`fit` reads rows through `Home` only, as `solver.row_reader` describes it.  An array in memory is solved by any of the
solvers; every other home in passes over the rows.  `fbtwsvm.cluster` has a home on other processes or machines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np

from .._arrays import Array, Index, tiles
from .._threads import stream
from ..model.mapping import Mapping
from ..model.rows import TrainingRows
from ..solver.row_reader import MappedRows, Result, Visit

_PIECE = 32768  # rows that a thread adds up before their sums are added to those of others


class Home(ABC):
    """Mapped training rows, sorted by class and numbered in that order.

    starts         where each class starts, and where the last one ends
    class_weights  (n_classes,): sum of the weights of each class
    in_memory      whether all mapped rows are held
    """

    starts: Array
    class_weights: Array
    in_memory: bool = False

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.starts) - 1

    def given_counts(self) -> Array:
        """Return how many given rows each class has, duplicates included."""
        return np.diff(self.starts)

    def labels_of(self, numbers: Array) -> Array:
        """Return the class indices of rows."""
        return np.searchsorted(self.starts, numbers, side="right") - 1

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number of columns of a mapped row, with the bias."""

    @abstractmethod
    def take(self, numbers: Array) -> MappedRows:
        """Return the rows with these numbers."""

    def fetch(self, numbers: Array) -> None:
        """Get ready to read some rows several times; there is nothing to do for rows that are here."""
        return

    @abstractmethod
    def raw(self, numbers: Array) -> Any:
        """Return the rows with these numbers as they are before the map."""

    @abstractmethod
    def reduce(self, function: Visit[Result], state: Any, name: str, classes: Sequence[int] | None = None) -> Result:
        """Pass over the rows of some classes (None: all), and return the sum of what a function returns for a piece.

        `name` says what the pass is for.
        """


class LocalHome(Home):
    """Rows of this process."""

    tile: int  # rows that are mapped together

    def __init__(self, training: TrainingRows, n_jobs: int | None) -> None:
        self.training, self.n_jobs = training, n_jobs
        self.starts = training.starts
        self.class_weights = training.class_weights

    def given_counts(self) -> Array:
        """Return how many given rows each class has, duplicates included."""
        return self.training.given_counts()

    @property
    def n_columns(self) -> int:
        """Number of columns of a mapped row, with the bias."""
        return int(self.rows(slice(0, 1)).shape[1])

    @abstractmethod
    def rows(self, numbers: Index) -> Array:
        """Return the mapped rows with these numbers, with the bias column."""

    def take(self, numbers: Array) -> MappedRows:
        """Return the rows with these numbers."""
        return MappedRows(numbers, self.rows(numbers), self.labels_of(numbers), self.training.weights[numbers])

    def raw(self, numbers: Array) -> Any:
        """Return the rows with these numbers as they are before the map."""
        return self.training.X[self.training.index[numbers]]

    def reduce(self, function: Visit[Result], state: Any, name: str, classes: Sequence[int] | None = None) -> Result:
        """Pass over the rows of some classes, in threads."""
        return reduce(add, self.visit(function, state, classes))

    def visit(self, function: Visit[Result], state: Any, classes: Sequence[int] | None = None) -> Iterator[Result]:
        """Call a function on the tiles of every piece, in threads; yield the results in order."""
        return stream(lambda piece: function(self._tiles(*piece), state), self.pieces(classes), self.n_jobs)

    def pieces(self, classes: Sequence[int] | None = None) -> list[tuple[int, slice]]:
        """Return class and numbers of the rows of every piece, in order."""
        blocks = enumerate(pairwise(self.starts))
        wanted = range(self.n_classes) if classes is None else classes
        return [(k, part) for k, (first, last) in blocks if k in wanted for part in tiles(first, last, _PIECE)]

    def _tiles(self, label: int, piece: slice) -> Iterator[MappedRows]:
        for part in tiles(piece.start, piece.stop, self.tile):
            labels = np.full(part.stop - part.start, label)
            yield MappedRows(part, self.rows(part), labels, self.training.weights[part])


class MemoryHome(LocalHome):
    """All mapped rows in one array."""

    tile = 8192
    in_memory = True

    def __init__(self, training: TrainingRows, data: Array, n_jobs: int | None) -> None:
        super().__init__(training, n_jobs)
        self.data = data

    def rows(self, numbers: Index) -> Array:
        """Return the mapped rows with these numbers, with the bias column."""
        return self.data[numbers]


class UnmappedHome(LocalHome):
    """Rows that do not fit into memory when mapped: they are mapped whenever they are read."""

    tile = 2048

    def __init__(self, training: TrainingRows, mapping: Mapping, n_jobs: int | None) -> None:
        super().__init__(training, n_jobs if mapping.threaded else 1)
        self.mapping = mapping

    def rows(self, numbers: Index) -> Array:
        """Return the mapped rows with these numbers, with the bias column."""
        return self.mapping.rows(self.training.X, self.training.index[numbers])
