"""Labels that come later than their rows."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np


class Waiting(NamedTuple):
    """A row that waits for its label: when that is known, its number, the answer when it came, and its options."""

    known: int
    number: int
    X: Any
    y: Any
    answer: Any
    options: dict[str, Any]


class LateLabels:
    """Rows that were predicted and wait for their labels, by when these are known.

    Parameters
    ----------
    delay : int or array-like of int
        Rows after which the label of a row is known, or for each row the number of rows that have come by then.
    """

    def __init__(self, delay: Any) -> None:
        numbers = np.asarray(delay)
        if numbers.ndim > 1 or numbers.dtype.kind not in "iu" or (numbers.ndim == 0 and numbers < 0):
            raise ValueError(
                "delay must be a number of rows, 0 or more, or for each row the number of rows that have come when its "
                f"label is known; got {str(delay)[:80]}."
            )
        early = np.flatnonzero(numbers <= np.arange(numbers.size)) if numbers.ndim else np.empty(0)
        if len(early):
            row = int(early[0])
            raise ValueError(
                f"delay[{row}] is {int(numbers[row])}, but with row {row} itself {row + 1} rows have come: its label "
                f"can be known after {row + 1} rows at the earliest."
            )
        self.delay = numbers
        self._rows: list[Waiting] = []  # a heap

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, number: int, X: Any, y: Any, answer: Any, options: dict[str, Any]) -> None:
        """Add a row that has come, with the answer that it got and the options with which it is to be learned."""
        if self.delay.ndim == 0:
            known = number + 1 + int(self.delay)
        elif number < len(self.delay):
            known = int(self.delay[number])
        else:
            raise ValueError(f"delay has {len(self.delay):,} entries, and the stream has more rows.")
        X, y = (part.copy() if hasattr(part, "copy") else part for part in (X, y))  # the caller may use the array again
        heappush(self._rows, Waiting(known, number, X, y, answer, options))

    def known_at(self, n_rows: int) -> list[Waiting]:
        """Return the rows whose labels are known when so many rows have come, in the order of their labels."""
        found = []
        while self._rows and self._rows[0].known <= n_rows:
            found.append(heappop(self._rows))
        return found

    def rest(self) -> list[Waiting]:
        """Return all rows that still wait."""
        return [heappop(self._rows) for _ in range(len(self._rows))]
