"""The newest rows of each class that were tested before they were learned: what a stream learns its offsets from."""

from __future__ import annotations

import numpy as np

from .._arrays import Array
from ..model.decision import Decision

_PER_CLASS = 512
_MOST_VALUES = 4_000_000  # numbers kept in all: many classes keep fewer rows of each


class CalibrationRows:
    """Plane values that rows got from planes which did not know them, newest first to go over the oldest."""

    __test__ = False  # not a test, whatever pytest makes of the name

    def __init__(self, n_classes: int) -> None:
        self.near = np.zeros((n_classes, _size(n_classes), n_classes))
        self.far = np.zeros_like(self.near)
        self.times = np.full(self.near.shape[:2], -1, dtype=np.int64)
        self.next = np.zeros(n_classes, dtype=np.int64)
        self.new_rows = 0  # rows since the offsets were last learned

    def add(self, labels: Array, times: Array, near: Array, far: Array) -> None:
        """Remember rows, over the oldest of their class; those of a class without planes say nothing."""
        size = self.near.shape[1]
        known = np.flatnonzero(near.any(axis=1) & far.any(axis=1))
        for k in np.unique(labels[known]):
            rows = known[labels[known] == k][-size:]
            places = (self.next[k] + np.arange(len(rows))) % size
            self.near[k, places], self.far[k, places], self.times[k, places] = near[rows], far[rows], times[rows]
            self.next[k] = (self.next[k] + len(rows)) % size
            self.new_rows += len(rows)

    def remove(self, times: Array) -> None:
        """Forget the rows that came at these times."""
        found = np.isin(self.times, times)
        self.times[found] = -1
        self.near[found], self.far[found] = 0.0, 0.0

    def due(self) -> bool:
        """Whether enough rows have come to learn the offsets anew."""
        return 4 * self.new_rows >= min(self.times.size, max(16, int((self.times >= 0).sum())))

    def decide(self, totals: Array, rule: str, multiclass: str) -> Decision:
        """Learn offsets and slopes; `totals` is the weight of each class."""
        filled = self.times >= 0
        starts = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
        self.new_rows = 0
        weights = np.ones(starts[-1])
        return Decision.fit(self.near[filled], self.far[filled], starts, weights, totals, rule, multiclass)

    def rearranged(self, source: Array) -> CalibrationRows:
        """Return a store for other classes: class k there is class source[k] here, or new where that is -1."""
        clone = CalibrationRows(len(source))
        size = min(self.near.shape[1], clone.near.shape[1])
        old = np.flatnonzero(source >= 0)
        for k in old:
            newest = (self.next[source[k]] - size + np.arange(size)) % self.near.shape[1]
            for mine, theirs in ((clone.near, self.near), (clone.far, self.far)):
                mine[k, :size, old] = theirs[source[k], newest][:, source[old]].T
            clone.times[k, :size] = self.times[source[k], newest]
            clone.next[k] = size % clone.near.shape[1]
        return clone


def _size(n_classes: int) -> int:
    """Rows remembered of each class."""
    return int(max(16, min(_PER_CLASS, _MOST_VALUES // max(1, 2 * n_classes**2))))
