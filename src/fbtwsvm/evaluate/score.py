"""Counts of correct and wrong answers, over all rows and over a sliding window."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._arrays import Array


class ClassMeasures(NamedTuple):
    """Precision, recall and F1 of a class (0 where there is nothing to divide by), and its number of rows."""

    precision: float
    recall: float
    f1: float
    rows: int


class Score:
    """Counts of true and predicted labels, over all rows and over a sliding window.

    It is the attribute `score` of a :class:`Prequential`.
    """

    def __init__(self, window: int) -> None:
        self.class_index: dict[Any, int] = {}
        self.counts = np.zeros((0, 0), dtype=np.int64)
        self.same = 0  # rows with the label of the row before
        self.tested = 0
        self.last: int | None = None
        self.recent = np.full((window, 3), -1, dtype=np.int64)  # true, predicted, same as before

    def add(self, truth: Any, answers: Any) -> None:
        """Count tested rows."""
        true = self._index(np.asarray(truth).tolist())
        predicted = self._index(np.asarray(answers).tolist())
        if len(true) == 1:  # the same as below, in a tenth of the time
            self._add_one(int(true[0]), int(predicted[0]))
            return
        np.add.at(self.counts, (true, predicted), 1)
        before = np.concatenate([[-1 if self.last is None else self.last], true[:-1]])
        same = true == before
        self.same += int(same.sum())
        places = (self.tested + np.arange(len(true)))[-len(self.recent) :] % len(self.recent)
        self.recent[places] = np.column_stack([true, predicted, same])[-len(self.recent) :]
        self.tested += len(true)
        if len(true):
            self.last = int(true[-1])

    def _add_one(self, true: int, predicted: int) -> None:
        """Count one tested row."""
        same = true == self.last
        self.counts[true, predicted] += 1
        self.same += same
        self.recent[self.tested % len(self.recent)] = true, predicted, same
        self.tested += 1
        self.last = true

    def skip(self, truth: Any) -> None:
        """Note the labels of rows that could not be tested."""
        indices = self._index(np.asarray(truth).tolist())
        self.last = int(indices[-1]) if len(indices) else self.last

    def _index(self, labels: list[Any]) -> Array:
        for label in labels:
            self.class_index.setdefault(label, len(self.class_index))
        grown = len(self.class_index) - len(self.counts)
        if grown:
            self.counts = np.pad(self.counts, ((0, grown), (0, grown)))
        return np.array([self.class_index[label] for label in labels], dtype=np.int64)

    def all(self) -> tuple[float, float, float, float]:
        """Return accuracy, kappa, temporal kappa and balanced accuracy of all tested rows."""
        return _measures(self.counts, self.same, self.tested)

    def confusion(self) -> tuple[list[Any], Array]:
        """Return the labels, sorted, and the counts [true, predicted] in that order."""
        labels = sorted(self.class_index)
        places = [self.class_index[label] for label in labels]
        return labels, self.counts[np.ix_(places, places)]

    def by_class(self) -> dict[Any, ClassMeasures]:
        """Return precision, recall, F1 and number of rows of each class, by label in sorted order."""
        labels, counts = self.confusion()
        right, true, answered = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
        columns = (
            right / np.maximum(answered, 1),
            right / np.maximum(true, 1),
            2 * right / np.maximum(true + answered, 1),
            true,
        )
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {label: ClassMeasures(*row) for label, row in zip(labels, rows, strict=True)}

    def repeated(self) -> float:
        """Return the share of tested rows that have the label of the row before."""
        return self.same / self.tested if self.tested else float("nan")

    def window(self) -> tuple[float, float, float, float]:
        """Return accuracy, kappa, temporal kappa and balanced accuracy of the window."""
        recent = self.recent[self.recent[:, 0] >= 0]
        counts = np.zeros_like(self.counts)
        np.add.at(counts, (recent[:, 0], recent[:, 1]), 1)
        return _measures(counts, int(recent[:, 2].sum()), len(recent))

    def window_repeated(self) -> float:
        """Return the share of rows in the window that have the label of the row before."""
        recent = self.recent[self.recent[:, 0] >= 0]
        return float(recent[:, 2].mean()) if len(recent) else float("nan")

    def window_classes(self) -> tuple[int, ...]:
        """Return how many rows of each class are in the window."""
        true = self.recent[self.recent[:, 0] >= 0, 0]
        return tuple(np.bincount(true, minlength=len(self.class_index)).tolist())


def _measures(counts: Array, same: int, tested: int) -> tuple[float, float, float, float]:
    """Return accuracy, Cohen's kappa, temporal kappa and balanced accuracy of a confusion matrix."""
    if not tested:
        return (float("nan"),) * 4
    accuracy = np.trace(counts) / tested
    rows = counts.sum(axis=1)
    by_chance = float(rows @ counts.sum(axis=0)) / tested**2
    by_repeating = same / tested
    present = rows > 0
    balanced = float((np.diag(counts)[present] / rows[present]).mean())
    kappa = (accuracy - by_chance) / (1.0 - by_chance) if by_chance < 1.0 else 0.0
    temporal = (accuracy - by_repeating) / (1.0 - by_repeating) if by_repeating < 1.0 else 0.0
    return float(accuracy), float(kappa), float(temporal), balanced
