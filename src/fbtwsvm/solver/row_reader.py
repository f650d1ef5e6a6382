"""How the solver reads very many rows: it never holds them all, and knows nothing of where they are.

A pass over the rows calls a function with an iterator over tiles of mapped rows, once for each piece of the rows, and
adds up what it returns.  Pieces may be visited in threads, in other processes or on other machines, so the function and
its state can be pickled, and neither is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from .._arrays import Array, Index
from .._namespace import is_foreign, rows_at

Result = TypeVar("Result")


@dataclass(frozen=True)
class MappedRows:
    """Some mapped rows: their numbers among all rows (sorted by class), class indices and weights.

    The rows of a tile are all of one class; only there has `label` a meaning.
    """

    numbers: Index
    rows: Array
    labels: Array
    weights: Any  # on a device None where all are one

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def label(self) -> int:
        """The class of the rows of a tile."""
        return int(self.labels[0])

    @property
    def each_number(self) -> Array:
        """The numbers as an array."""
        numbers = self.numbers
        return np.arange(numbers.start, numbers.stop) if isinstance(numbers, slice) else numbers

    def take(self, chosen: Array) -> MappedRows:
        """Return some of the rows."""
        return MappedRows(self.each_number[chosen], self.rows[chosen], self.labels[chosen], self.weights[chosen])


@dataclass(frozen=True)
class ByClass(Generic[Result]):
    """What a pass finds of each class; results of the same class are added up."""

    by_class: dict[int, Result]

    def __add__(self, other: ByClass[Result]) -> ByClass[Result]:
        both: dict[int, Any] = dict(self.by_class)
        for label, found in other.by_class.items():
            both[label] = both[label] + found if label in both else found
        return ByClass(both)


Tiles = Iterator[MappedRows]
Visit = Callable[[Tiles, Any], Result]
Boxes = Callable[[MappedRows], Array]


class RowReader(Protocol):
    """Where mapped rows are read from."""

    def take(self, numbers: Array) -> MappedRows:
        """Return the rows with these numbers, which are sorted."""

    def reduce(self, function: Visit[Result], state: Any, name: str, classes: Sequence[int] | None = None) -> Result:
        """Pass over the rows of some classes (None: all), and return the sum of what a function returns for a piece.

        `name` says what the pass is for.
        """


@dataclass(frozen=True)
class GivenBoxes:
    """Boxes C w s that were computed before for all rows: (n, n_classes)."""

    box: Array

    def __call__(self, rows: MappedRows) -> Array:
        """Return the boxes of rows."""
        if is_foreign(self.box):
            return self.box[rows.numbers, ...] if isinstance(rows.numbers, slice) else rows_at(self.box, rows.numbers)
        return np.asarray(self.box[rows.numbers])
