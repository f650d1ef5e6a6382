"""Where a fit reads its mapped rows from: memory, or unmapped rows that are mapped whenever they are read.

`fit` is written once, against `Home`.  `reduce` and `collect` call function(class, numbers, rows, state) for each tile,
in threads.  The function must not change its arguments, and gets all that it needs beside the rows in `state`.
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

    def collect(self, function: Visit[Array], state: Any) -> tuple[Array, Array]:
        """Return the numbers of the rows that a function marks, and these rows."""

        def pick(k: int, numbers: slice, rows: Array, state: Any) -> tuple[Array, Array]:
            marked = np.flatnonzero(function(k, numbers, rows, state))
            return marked + numbers.start, rows[marked]

        numbers, rows = zip(*self._visit(pick, state), strict=True)
        return np.concatenate(numbers), np.concatenate(rows)

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
