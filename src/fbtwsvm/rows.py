"""Training rows in the order the engine wants them: sorted by class, absent rows gone, twins merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .kernels import Array

SMALL = 2000  # up to so many distinct rows the data counts as small: exact kernel, no random choice
_MERGE_FACTOR = 5  # look for equal rows when there are at most this many times SMALL


@dataclass(frozen=True)
class TrainingRows:
    """The given rows, and the order in which the engine sees them.

    Sorted row k is X[index[k]] with weights[k]; classes are blocks from `starts`.  `source[i]` is the sorted row
    that given row i became, -1 where its weight is zero.
    """

    X: Any
    index: Array
    weights: Array
    starts: Array
    source: Array
    given_weights: Array
    small: bool

    @property
    def n(self) -> int:
        """Number of sorted rows."""
        return len(self.index)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.starts) - 1

    @property
    def labels(self) -> Array:
        """Class index of every sorted row."""
        return np.repeat(np.arange(self.n_classes), np.diff(self.starts))

    def spread(self, values: Array, *, shared: bool) -> Array:
        """Values of sorted rows back on the given rows; `shared` ones are split by weight among twins."""
        present = self.source >= 0
        out = np.zeros((len(self.source), *values.shape[1:]))
        out[present] = values[self.source[present]]
        if shared:
            share = self.given_weights[present] / self.weights[self.source[present]]
            out[present] *= share.reshape(-1, *[1] * (values.ndim - 1))
        return out


def arrange(X: Any, labels: Array, weights: Array, n_classes: int, *, merge: bool = True) -> TrainingRows:
    """Sort rows by class; small data also gets equal rows merged into one with the sum of their weights.

    Without `merge` the rows of a class stay in the order in which they came, as a stream wants it.

    Merging makes a weight of two and a row given twice the same problem to the last bit, whatever the order
    of the rows.
    """
    present = np.flatnonzero(weights > 0)
    source = np.full(len(weights), -1, dtype=np.int64)
    if merge and len(present) <= _MERGE_FACTOR * SMALL and not _surely_many(X, present):
        first, twin = _distinct(X[present], labels[present])
        if len(first) <= SMALL:
            source[present] = twin
            chosen = present[first]
            merged = np.bincount(twin, weights=weights[present])
            starts = np.searchsorted(labels[chosen], np.arange(n_classes + 1))
            return TrainingRows(X, chosen, merged, starts, source, weights, small=True)
    order = present[np.argsort(labels[present], kind="stable")]
    source[order] = np.arange(len(order))
    starts = np.searchsorted(labels[order], np.arange(n_classes + 1))
    return TrainingRows(X, order, weights[order], starts, source, weights, small=False)


def _surely_many(X: Any, present: Array) -> bool:
    """Whether the sums of the rows alone show that more than SMALL are distinct: sorting whole rows is slow."""
    return len(present) > SMALL and len(np.unique(np.asarray(X.sum(axis=1)).reshape(-1)[present])) > SMALL


def _distinct(X: Any, labels: Array) -> tuple[Array, Array]:
    """First occurrence of each distinct (label, row), sorted by label, and which of them each row is."""
    if not sp.issparse(X):
        keyed = np.column_stack([labels.astype(X.dtype), X])
        _, first, twin = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
        return first, twin.reshape(-1)
    rows = X.copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    keys = [
        (int(label), rows.indices[start:stop].tobytes(), rows.data[start:stop].tobytes())
        for label, start, stop in zip(labels, rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]
    seen: dict[tuple[int, bytes, bytes], int] = {}
    for i, key in enumerate(keys):
        seen.setdefault(key, i)
    ranked = {key: rank for rank, key in enumerate(sorted(seen))}
    first = np.array([seen[key] for key in ranked], dtype=np.int64)
    return first, np.array([ranked[key] for key in keys], dtype=np.int64)
