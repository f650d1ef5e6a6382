"""The newest rows of a stream as they were given, and when a metric is learned from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import Array

_MOST, _MOST_VALUES = 4000, 2**20  # rows that are kept, and numbers in them
MOST_COLUMNS = 2000  # with more, no metric is learned
_ROOM = 1000  # places for the rows of one call, so that it can be undone
_AGES = (200, 500, 1000, 2000, 4000)  # rows since a change after which a metric is learned
_OFTEN = 500  # rows between two studies of rows that have moved
MOST_STUDIES = len(_AGES)  # after a change
LEAST_ROWS, ROWS_OF_COLUMN = 200, 5  # fewer rows, or fewer for each column, tell too little


class NewestRows:
    """A ring of rows and their class indices.

    There are more places than rows: those for the rows of one call hold none of the newest rows before it, so to undo
    a call is to set the count back.
    """

    def __init__(self, n_columns: int, dtype: np.dtype) -> None:
        self.most = max(1, min(_MOST, _MOST_VALUES // max(n_columns, 1)))
        self.X = np.zeros((self.most + _ROOM, n_columns), dtype=dtype)
        self.labels = np.zeros(len(self.X), dtype=np.int64)
        self.count = 0  # rows that have come

    def __len__(self) -> int:
        return min(self.count, self.most)

    def __getstate__(self) -> dict[str, Any]:
        """Return the newest rows only, whatever the other places hold."""
        X, labels = self.last(len(self))
        return {**vars(self), "X": _padded(X, len(self.X)), "labels": _padded(labels, len(self.X)), "count": len(self)}

    def __deepcopy__(self, memo: dict[int, Any]) -> NewestRows:
        """Return rows to change."""
        clone = NewestRows(0, self.X.dtype)
        vars(clone).update(vars(self), X=self.X.copy(), labels=self.labels.copy())
        return clone

    @classmethod
    def of(cls, X: Array, labels: Array) -> NewestRows:
        """Return rows as a model file holds them."""
        rows = cls(X.shape[1], X.dtype)
        rows.add(X, labels)
        return rows

    def add(self, X: Any, labels: Array) -> None:
        """Add rows in place of the oldest ones."""
        if len(labels) == 1:
            place = self.count % len(self.X)
            self.X[place], self.labels[place] = X.toarray()[0] if sp.issparse(X) else X[0], labels[0]
            self.count += 1
            return
        n = min(len(labels), self.most)
        places = (self.count + np.arange(n)) % len(self.X)
        self.X[places] = X[-n:].toarray() if sp.issparse(X) else X[-n:]
        self.labels[places] = labels[-n:]
        self.count += n

    def last(self, n: int) -> tuple[Array, Array]:
        """Return the newest rows and their class indices."""
        places = (self.count - min(n, len(self)) + np.arange(min(n, len(self)))) % len(self.X)
        return self.X[places], self.labels[places]

    def insert_class(self, k: int) -> None:
        """Insert a new class at index k."""
        self.labels = self.labels + (self.labels >= k)

    def delete_class(self, k: int) -> None:
        """Remove class k and its rows."""
        self._keep(lambda X, labels: labels != k)
        self.labels = self.labels - (self.labels > k)

    def remove(self, X: Any, labels: Array) -> None:
        """Remove rows, each of them once, if they are here."""
        dense = (X.toarray() if sp.issparse(X) else X).astype(self.X.dtype)
        wanted = [(row.tobytes(), int(label)) for row, label in zip(np.ascontiguousarray(dense), labels, strict=True)]

        def stays(rows: Array, own: Array) -> Array:
            left = np.ones(len(own), dtype=bool)
            places: dict[Any, list[int]] = {}
            for i, (row, label) in enumerate(zip(rows, own, strict=True)):
                places.setdefault((row.tobytes(), int(label)), []).append(i)
            for key in wanted:
                if places.get(key):
                    left[places[key].pop()] = False
            return left

        self._keep(stays)

    def _keep(self, stays: Any) -> None:
        """Keep the newest rows that `stays` marks, and nothing of the others."""
        X, labels = self.last(len(self))
        marked = stays(X, labels)
        self.X, self.labels = (_padded(part[marked], len(self.X)) for part in (X, labels))
        self.count = int(marked.sum())


def _padded(part: Array, size: int) -> Array:
    """Return an array with so many rows, the last ones zero."""
    padded = np.zeros((size, *part.shape[1:]), dtype=part.dtype)
    padded[: len(part)] = part
    return padded


@dataclass(frozen=True)
class Studies:
    """When a metric is learned from the newest rows: some time after a change, and again when there are more rows.

    changed  the clock at the last change, or when the stream began
    done     how many studies there were since then
    last     the clock at the last study
    """

    changed: int = 0
    done: int = 0
    last: int = 0

    @property
    def next(self) -> int | None:
        """The clock at which the next study is due; None if there is none."""
        return None if self.done >= MOST_STUDIES else self.changed + _AGES[self.done]

    def after_warm_up(self, n_rows: int, *, again: bool) -> Studies:
        """Return the state after a warm-up, which was a study itself; others follow only if `again`, or after a change.

        A single member that never fades would have to carry over all of its sums.
        """
        done = int(np.searchsorted(_AGES, n_rows, side="right")) if again else MOST_STUDIES
        return Studies(0, done, n_rows)

    def after_change(self, clock: int) -> Studies:
        """Return the state after a change was detected."""
        return replace(self, changed=clock, done=0)

    def after_study(self, clock: int) -> Studies:
        """Return the state after a study."""
        age = clock - self.changed
        return Studies(self.changed, max(self.done, int(np.searchsorted(_AGES, age, side="right"))), clock)

    def worthwhile(self, clock: int) -> bool:
        """Whether so many rows have come since the last study that another one may find something new."""
        due = self.next is not None and clock >= self.next
        return due or clock - self.last >= _OFTEN
