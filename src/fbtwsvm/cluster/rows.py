"""All rows of a collection, by their number: sorted by class, and in the order of the collection within a class.

A row has the same number however the rows are partitioned.  Nothing is held for every row, but for the rows of a
sample, which are brought here once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import Array
from ..features.kernels import Kernel
from ..model.rows import TrainingRows, stacked
from .facts import Collected
from .partitions import Partitions, given_weights

_ROWS_OF_TASK = 32_768  # small partitions are visited together until they have so many rows


@dataclass(frozen=True)
class Layout:
    """How the rows of all partitions are numbered.

    offsets  (n_partitions, n_classes): number of the first row of each class in each partition
    counts   (n_partitions, n_classes): how many rows it has
    n_rows   (n_partitions,): rows of a partition, with those of weight zero
    """

    classes: Array
    factors: Array
    dtype: np.dtype
    offsets: Array
    counts: Array
    n_rows: Array

    def by_class(self, p: int, y: Any, weights: Any) -> Iterator[tuple[int, Array, Array]]:
        """Yield class index, places and weights of the rows of every class of a partition, in the order of numbers."""
        names = np.asarray(y)
        if len(names) != self.n_rows[p]:
            raise RuntimeError(self._changed(p))
        if not len(names):
            return
        labels = np.minimum(np.searchsorted(self.classes, names), len(self.classes) - 1)
        given = given_weights(weights, len(labels))
        present = given > 0
        if not np.array_equal(self.classes[labels[present]], names[present]):
            raise RuntimeError(self._changed(p))
        counts = np.bincount(labels[present], minlength=len(self.classes))
        if not np.array_equal(counts, self.counts[p]):
            raise RuntimeError(self._changed(p))
        for k in np.flatnonzero(counts).tolist():
            own = np.flatnonzero(present & (labels == k))
            yield k, own, given[own] * self.factors[k]

    @staticmethod
    def _changed(p: int) -> str:
        return (
            f"Partition {p} is not the same in every pass over the rows: it has other rows or labels than at first. "
            "Persist the collection, or make what computes it repeatable."
        )


def as_rows(X: Any, dtype: np.dtype) -> Any:
    """Return the rows of a partition as an array or a sparse matrix."""
    if sp.issparse(X):
        return X.tocsr().astype(dtype, copy=False)
    return np.ascontiguousarray(X, dtype=dtype)


class PartitionedRows:
    """The rows of a collection; `small` and `sparse` as in `TrainingRows`."""

    small = False

    def __init__(self, partitions: Partitions, facts: Collected) -> None:
        self.partitions, self.facts = partitions, facts
        totals = facts.counts.sum(axis=0)
        self.starts = np.concatenate([[0], np.cumsum(totals)])
        offsets = self.starts[:-1] + np.cumsum(facts.counts, axis=0) - facts.counts
        self.layout = Layout(facts.classes, facts.factors, facts.dtype, offsets, facts.counts, facts.n_rows)
        self.class_weights = facts.moments.weights * facts.factors
        self._numbers = np.empty(0, dtype=np.int64)  # of the rows that were brought here, sorted
        self._X: Any = None
        self._weights = np.empty(0)

    @property
    def n(self) -> int:
        """Number of rows with a weight."""
        return int(self.starts[-1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.starts) - 1

    @property
    def n_columns(self) -> int:
        """Number of columns before the map."""
        return self.facts.n_columns

    @property
    def sparse(self) -> bool:
        """Whether the rows are sparse."""
        return self.facts.sparse

    def gamma_scale(self, kernel: str | Kernel) -> float:
        """Return gamma "scale" of all rows."""
        return self.facts.gamma_scale(kernel)

    def labels_of(self, numbers: Array) -> Array:
        """Return the class indices of rows."""
        return np.searchsorted(self.starts, numbers, side="right") - 1

    def groups(self, classes: Any = None) -> list[list[int]]:
        """Return the partitions with rows of some classes, in groups that a task visits together."""
        counts = self.facts.counts if classes is None else self.facts.counts[:, list(classes)]
        groups: list[list[int]] = []
        room = 0
        for p in np.flatnonzero(counts.any(axis=1)).tolist():
            if room < self.facts.n_rows[p]:
                groups.append([])
                room = _ROWS_OF_TASK
            groups[-1].append(p)
            room -= int(self.facts.n_rows[p])
        return groups

    @property
    def held(self) -> Array:
        """The numbers of the rows that are held here, sorted."""
        return self._numbers

    def fetch(self, numbers: Array, name: str) -> None:
        """Bring rows here, in one pass over the partitions that have them, and keep them."""
        self._numbers, (self._X, self._weights) = numbers, self.take(numbers, name)

    def take(self, numbers: Array, name: str = "chosen rows") -> tuple[Any, Array]:
        """Return rows, whose numbers are sorted, as they are before the map, and their weights."""
        missing = np.setdiff1d(numbers, self._numbers, assume_unique=True)
        every, X, weights = self._numbers, [] if self._X is None else [self._X], [self._weights]
        if len(missing):
            order, found = self._read(missing, name)
            every = np.concatenate([every, order])
            X += [part[0] for part in found]
            weights += [part[1] for part in found]
        joined = X[0] if len(X) == 1 else stacked(X)
        order = np.argsort(every)
        places = order[np.searchsorted(every, numbers, sorter=order)]
        return joined[places], np.concatenate(weights)[places]

    def in_order(self, numbers: Array, name: str) -> tuple[Any, Array, Array]:
        """Return rows, class indices and weights in the order of the collection; the weights are those given."""
        order, found = self._read(numbers, name)
        ends = np.cumsum([0, *(len(part[1]) for part in found)])
        places = np.concatenate([first + np.argsort(part[2]) for first, part in zip(ends[:-1], found, strict=True)])
        joined = stacked([part[0] for part in found])
        labels = self.labels_of(order)
        weights = np.concatenate([part[1] for part in found]) / self.facts.factors[labels]
        return joined[places], labels[places], weights[places]

    def _read(self, numbers: Array, name: str) -> tuple[Array, list[tuple[Any, Array, Array]]]:
        """Return the numbers of rows, partition by partition, and for each partition rows, weights and places."""
        labels = self.labels_of(numbers)
        ends = self.layout.offsets + self.layout.counts  # each column is sorted
        homes = np.empty(len(numbers), dtype=np.int64)
        for k in np.unique(labels):
            own = labels == k
            homes[own] = np.searchsorted(ends[:, k], numbers[own], side="right")
        wanted = {int(p): numbers[homes == p] for p in np.unique(homes)}
        found = self.partitions.map(_pick, (self.layout, wanted), name, wanted)
        return np.concatenate(list(wanted.values())), found

    def subset(self, chosen: Array) -> TrainingRows:
        """Return some of the rows as training rows of their own."""
        X, weights = self.take(chosen)
        every = np.arange(len(chosen))
        return TrainingRows(
            X=X,
            index=every,
            weights=weights,
            starts=np.searchsorted(chosen, self.starts),
            source=every,
            given_weights=weights,
            small=False,
        )


def _pick(p: int, X: Any, y: Any, weights: Any, state: tuple[Layout, dict[int, Array]]) -> tuple[Any, Array, Array]:
    """Return the rows of a partition that are wanted, in the order of their numbers, their weights and places."""
    layout, wanted = state
    numbers, places, given = wanted[p], [], []
    for k, own, own_weights in layout.by_class(p, y, weights):
        first = layout.offsets[p, k]
        some = numbers[(numbers >= first) & (numbers < first + layout.counts[p, k])] - first
        places.append(own[some])
        given.append(own_weights[some])
    chosen = np.concatenate(places)
    return as_rows(X, layout.dtype)[chosen], np.concatenate(given), chosen
