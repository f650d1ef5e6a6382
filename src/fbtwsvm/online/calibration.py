"""Calibration rows of a stream: the newest rows of each class, tested before they were learned."""

from __future__ import annotations

import numpy as np

from .._arrays import Array
from ..model.decision import Decision

_PER_CLASS = 512  # most rows of each class
_MOST_VALUES = 250_000  # most plane values of all classes; with many classes, fewer rows of each are kept


class CalibrationRows:
    """Ring buffers, one for each class, of plane values of rows that were tested before they were learned.

    near, far  (n_classes, size, n_classes): left-out values, as in `absorb.Tested`
    times      (n_classes, size): position of the row in the stream; -1 is an empty place
    next       (n_classes,): place of the next row
    """

    def __init__(self, n_classes: int) -> None:
        self.near = np.zeros((n_classes, _size(n_classes), n_classes))
        self.far = np.zeros_like(self.near)
        self.times = np.full(self.near.shape[:2], -1, dtype=np.int64)
        self.next = np.zeros(n_classes, dtype=np.int64)
        self.new_rows = 0  # rows added since the offsets were last learned

    def add(self, labels: Array, times: Array, near: Array, far: Array) -> None:
        """Add rows in place of the oldest of their class; rows of a class without planes are ignored."""
        size = self.near.shape[1]
        tested = np.flatnonzero(near.any(axis=1) & far.any(axis=1))
        for k in np.unique(labels[tested]):
            rows = tested[labels[tested] == k][-size:]
            places = (self.next[k] + np.arange(len(rows))) % size
            self.near[k, places] = near[rows]
            self.far[k, places] = far[rows]
            self.times[k, places] = times[rows]
            self.next[k] = (self.next[k] + len(rows)) % size
            self.new_rows += len(rows)

    def remove(self, times: Array) -> None:
        """Remove the rows that came at these times."""
        removed = np.isin(self.times, times)
        self.times[removed] = -1
        self.near[removed], self.far[removed] = 0.0, 0.0

    def due(self, waiting: int = 0) -> bool:
        """Whether enough rows are new, with `waiting` rows to be added, to learn the offsets again."""
        return 4 * (self.new_rows + waiting) >= min(self.times.size, max(16, int((self.times >= 0).sum())))

    def decide(self, totals: Array, rule: str, multiclass: str) -> Decision:
        """Return the decision rule that is learned from the rows; `totals` is the weight of each class."""
        filled = self.times >= 0
        starts = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
        self.new_rows = 0
        weights = np.ones(starts[-1])
        return Decision.fit(self.near[filled], self.far[filled], starts, weights, totals, rule, multiclass)

    def rearranged(self, source: Array) -> CalibrationRows:
        """Return the rows for other classes: new class k is old class source[k], or has no rows if that is -1."""
        clone = CalibrationRows(len(source))
        size = min(self.near.shape[1], clone.near.shape[1])
        old = np.flatnonzero(source >= 0)
        for k in old:
            newest = (self.next[source[k]] - size + np.arange(size)) % self.near.shape[1]
            for values, old_values in ((clone.near, self.near), (clone.far, self.far)):
                values[k, :size, old] = old_values[source[k], newest][:, source[old]].T
            clone.times[k, :size] = self.times[source[k], newest]
            clone.next[k] = size % clone.near.shape[1]
        return clone


def _size(n_classes: int) -> int:
    """Return how many rows of each class are kept."""
    return int(max(16, min(_PER_CLASS, _MOST_VALUES // max(1, 2 * n_classes**2))))
