"""Rows that a member has learned since its last re-solve, in arrays that the compiled loops write into."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .kept import Chunk, Kept
from .undo import Undo

CAPACITY = 256  # rows


class Pending:
    """Rows that are part of the planes, but not yet of the Gram matrices and the kept rows.

    The first `count` places of each array are filled; a call that is undone only sets the count back.

    rows, labels, weights, times, ids, alpha, box, reserve  as in `kept.Kept`
    raw  the rows before the map, one matrix for each call, if the map can be renewed
    """

    CLASS_AXES: ClassVar[dict[str, tuple[int, ...]]] = {"alpha": (1,), "box": (1,)}
    NEW_CLASS: ClassVar[dict[str, Any]] = {}

    def __init__(self, n_classes: int, n_columns: int, dtype: np.dtype, capacity: int = CAPACITY) -> None:
        self.rows = np.zeros((capacity, n_columns), dtype=dtype)
        self.labels = np.zeros(capacity, dtype=np.int64)
        self.weights = np.zeros(capacity)
        self.times = np.zeros(capacity, dtype=np.int64)
        self.ids = np.empty(capacity, dtype=object)
        self.alpha = np.zeros((capacity, n_classes))
        self.box = np.zeros((capacity, n_classes))
        self.reserve = np.zeros(capacity, dtype=np.bool_)
        self.raw: list[Any] = []
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def __getstate__(self) -> dict[str, Any]:
        """Return the filled places; the others become zero, whatever was there."""
        state = vars(self).copy()
        for name, part in state.items():
            if isinstance(part, np.ndarray):
                state[name] = part.copy()
                state[name][self.count :] = None if part.dtype == object else 0
        return state

    @classmethod
    def of(cls, rows: Kept) -> Pending:
        """Return pending rows as a model file holds them."""
        pending = cls(rows.alpha.shape[1], rows.rows.shape[1], rows.rows.dtype, max(CAPACITY, len(rows) + 1))
        for name in ("rows", "labels", "weights", "times", "ids", "alpha", "box", "reserve"):
            getattr(pending, name)[: len(rows)] = getattr(rows, name)
        pending.raw = [] if rows.raw is None else [rows.raw]
        pending.count = len(rows)
        return pending

    def remember(self, undo: Undo) -> None:
        """Save in `undo` what changes when rows are added."""
        undo.keep(self, "raw")

    @property
    def full(self) -> bool:
        """Whether there is no place for another row."""
        return self.count == len(self.labels)

    def add(self, chunk: Chunk, n_rows: int) -> None:
        """Add what the compiled loops do not write of the first rows of a chunk: times, ids, rows before the map."""
        places = slice(self.count, self.count + n_rows)
        self.times[places] = chunk.times[:n_rows]
        self.ids[places] = chunk.ids[:n_rows]
        if chunk.raw is not None:
            self.raw.append(chunk.raw[:n_rows].copy())  # the caller may use the array again
        self.count += n_rows

    def kept(self) -> Kept:
        """Return the rows as kept ones."""
        n = self.count
        raw = None
        if self.raw:
            raw = sp.vstack(self.raw, format="csr") if sp.issparse(self.raw[0]) else np.concatenate(self.raw)
        parts = (self.rows, self.labels, self.weights, self.times, self.ids)
        rows, labels, weights, times, ids = (part[:n].copy() for part in parts)
        alpha, box, reserve = (part[:n].copy() for part in (self.alpha, self.box, self.reserve))
        return Kept(rows, labels, weights, times, ids, raw, alpha, box, np.zeros(n, dtype=np.int64), reserve)

    def clear(self) -> None:
        """Drop all rows, which have been added to the kept ones; a call that is undone has the old arrays again."""
        for name, part in list(vars(self).items()):
            if isinstance(part, np.ndarray):
                empty = np.empty if part.dtype == object else np.zeros  # None, or zero
                setattr(self, name, empty(part.shape, dtype=part.dtype))
        self.count = 0
        self.raw = []
