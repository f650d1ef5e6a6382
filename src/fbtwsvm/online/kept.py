"""The rows that a stream keeps: support rows, and a reserve that every re-solve considers again."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import Array


@dataclass(frozen=True)
class Chunk:
    """Rows that arrive together.

    rows     (n, n_columns): mapped, with the bias column
    labels   (n,): class indices
    weights  (n,): sample weights
    times    (n,): position in the stream
    ids      (n,): ids given by the user, or None
    raw      the rows before the map, if the map can be renewed; otherwise None
    """

    rows: Array
    labels: Array
    weights: Array
    times: Array
    ids: Array
    raw: Any

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, index: Any) -> Chunk:
        """Return some of the rows."""
        return Chunk(*_taken(self, index))

    @property
    def present(self) -> Array:
        """Classes that occur."""
        return self.labels if len(self.labels) == 1 else np.unique(self.labels)


@dataclass(frozen=True)
class Kept(Chunk):
    """Kept rows, and their part in the planes.

    alpha, box  (n, n_classes): dual and its bound in the plane near each other class
    idle_count  (n,): number of re-solves in which all duals were at most `forget_below`
    reserve     (n,): whether the row is in the reserve; otherwise it is a support row
    """

    alpha: Array
    box: Array
    idle_count: Array
    reserve: Array

    @classmethod
    def of(cls, chunk: Chunk, weights: Array, alpha: Array, box: Array, reserve: Array) -> Kept:
        """Return the rows of a chunk as kept rows, with their weights on the stream."""
        idle_count = np.zeros(len(chunk), dtype=np.int64)
        return cls(
            chunk.rows, chunk.labels, weights, chunk.times, chunk.ids, chunk.raw, alpha, box, idle_count, reserve
        )

    @classmethod
    def empty(cls, n_classes: int, n_columns: int, dtype: np.dtype) -> Kept:
        """Return no rows."""
        none = np.empty(0, dtype=np.int64)
        duals = np.empty((0, n_classes))
        return cls(
            np.empty((0, n_columns), dtype=dtype), none, np.empty(0), none, np.empty(0, dtype=object), None,
            duals, duals, none, np.empty(0, dtype=bool),
        )  # fmt: skip

    def take(self, index: Any) -> Kept:
        """Return some of the rows."""
        return Kept(*_taken(self, index))

    def join(self, *others: Kept) -> Kept:
        """Append other kept rows."""
        stores = [store for store in (self, *others) if len(store)]
        if len(stores) <= 1:
            return stores[0] if stores else self
        return Kept(*(_stack(parts) for parts in zip(*map(_parts, stores), strict=True)))

    def merged(self, new: Kept) -> Kept:
        """Insert other rows at the ends of their classes; these rows are sorted by class, and so is the result."""
        new = new.by_class()
        if not len(self) or not len(new):
            return new if len(new) else self
        places = np.searchsorted(self.labels, new.labels, side="right") + np.arange(len(new))
        old_places = np.delete(np.arange(len(self) + len(new)), places)
        merged: list[Any] = []
        for old_part, new_part in zip(_parts(self), _parts(new), strict=True):
            if old_part is None or new_part is None:
                merged.append(None)
            elif sp.issparse(old_part):
                order = np.empty(len(self) + len(new), dtype=np.int64)
                order[old_places], order[places] = np.arange(len(self)), len(self) + np.arange(len(new))
                merged.append(sp.vstack([old_part, new_part], format="csr")[order])
            else:
                part = np.empty((len(self) + len(new), *old_part.shape[1:]), dtype=old_part.dtype)
                part[old_places], part[places] = old_part, new_part
                merged.append(part)
        return Kept(*merged)

    def by_class(self) -> Kept:
        """Sort by class, in order of arrival within each class."""
        if (self.labels[1:] >= self.labels[:-1]).all():
            return self
        return self.take(np.argsort(self.labels, kind="stable"))

    def unsolved(self) -> Kept:
        """Return the rows as if no plane had been solved yet."""
        none = np.zeros(len(self), dtype=np.int64)
        return replace(self, alpha=np.zeros_like(self.alpha), idle_count=none, reserve=none.astype(bool))

    def with_reserve(self, most: int) -> Kept:
        """Return the rows with those in the reserve that have no dual, if that is at most `most` of each class."""
        idle: Array = ~np.asarray(self.alpha.any(axis=1))
        if np.bincount(self.labels[idle], minlength=1).max() > most:
            idle = np.zeros(len(self), dtype=bool)
        return replace(self, idle_count=np.zeros(len(self), dtype=np.int64), reserve=idle)

    def insert_class(self, k: int) -> Kept:
        """Insert a new class at index k."""
        alpha, box = (np.insert(a, k, 0.0, axis=1) for a in (self.alpha, self.box))
        return replace(self, labels=self.labels + (self.labels >= k), alpha=alpha, box=box)

    def delete_class(self, k: int) -> Kept:
        """Remove class k and its rows."""
        rest = self.take(self.labels != k)
        alpha, box = (np.delete(a, k, axis=1) for a in (rest.alpha, rest.box))
        return replace(rest, labels=rest.labels - (rest.labels > k), alpha=alpha, box=box)


def _parts(chunk: Chunk) -> list[Any]:
    """Return all fields in order."""
    return [getattr(chunk, field.name) for field in fields(chunk)]


def _taken(chunk: Chunk, index: Any) -> list[Any]:
    """Return all fields of some of the rows, in order."""
    return [None if part is None else part[index] for part in _parts(chunk)]


def _stack(parts: tuple[Any, ...]) -> Any:
    """Concatenate the rows of several arrays."""
    if any(part is None for part in parts):
        return None
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
