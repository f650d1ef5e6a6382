"""Where the mapped rows of a fit are read from: an array in memory, or unmapped rows that are mapped when read.

`fit` reads rows through `Home` only.  Functions for `reduce` are called as function(class, numbers, rows, state) for
each tile and must not change their arguments.  Tiles may be visited in threads, later perhaps on other machines, so all
that a function needs beside the rows is in `state`.  An array in memory is solved by any of the three solvers; every
other home by Newton's method, which reads rows tile by tile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, TypeVar

import numpy as np

from .._arrays import Array, Index, tiles
from .._threads import stream
from ..model.mapping import Mapping
from ..model.rows import TrainingRows

Result = TypeVar("Result")
Visit = Callable[[int, slice, Array, Any], Result]
Choose = Callable[[int, slice, Any], Array]


class Home(ABC):
    """Mapped training rows, sorted by class and numbered in that order."""

    tile: int  # rows of a tile

    def __init__(self, training: TrainingRows, n_jobs: int | None) -> None:
        self.training, self.n_jobs = training, n_jobs

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.training.n_classes

    def counts(self) -> Array:
        """Return the number of rows of each class."""
        return np.diff(self.training.starts)

    @property
    def n_columns(self) -> int:
        """Number of columns of a mapped row, with the bias."""
        return int(self.rows(slice(0, 1)).shape[1])

    @abstractmethod
    def rows(self, numbers: Index) -> Array:
        """Return the mapped rows with these numbers, with the bias column."""

    def tiles(self) -> list[tuple[int, slice]]:
        """Return class and row numbers of every tile, in order."""
        blocks = enumerate(pairwise(self.training.starts))
        return [(k, part) for k, (first, last) in blocks for part in tiles(first, last, self.tile)]

    def reduce(self, function: Visit[Result], state: Any) -> Result:
        """Return the sum of what a function returns for each tile."""
        return reduce(add, self._visit(function, state))

    def collect(self, function: Choose, state: Any) -> tuple[Array, Array]:
        """Return the rows that a function chooses, and their numbers; other rows are not read.

        The function is called as function(class, numbers, state) for each tile and returns which rows to take.
        """
        numbers = np.concatenate([np.flatnonzero(function(k, part, state)) + part.start for k, part in self.tiles()])
        return numbers, self.rows(numbers)

    def _visit(self, function: Visit[Result], state: Any) -> Iterator[Result]:
        """Call a function on every tile, in threads; yield the results in order."""
        return stream(lambda item: function(*item, self.rows(item[1]), state), self.tiles(), self.n_jobs)


class MemoryHome(Home):
    """All mapped rows in one array."""

    tile = 8192

    def __init__(self, training: TrainingRows, data: Array, n_jobs: int | None) -> None:
        super().__init__(training, n_jobs)
        self.data = data

    def rows(self, numbers: Index) -> Array:
        """Return the mapped rows with these numbers, with the bias column."""
        return self.data[numbers]


class UnmappedHome(Home):
    """Rows that do not fit into memory when mapped: they are mapped whenever they are read."""

    tile = 4096

    def __init__(self, training: TrainingRows, mapping: Mapping, n_jobs: int | None) -> None:
        super().__init__(training, n_jobs if mapping.threaded else 1)
        self.mapping = mapping

    def rows(self, numbers: Index) -> Array:
        """Return the mapped rows with these numbers, with the bias column."""
        return self.mapping.rows(self.training.X, self.training.index[numbers])
