"""The rows that a stream keeps, and what stays of those that leave: forgetting, the second look, condensing."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._arrays import Array

_SLACK = 1e-9  # how far from its bounds a dual is free, relative to its box


@dataclass(frozen=True)
class Chunk:
    """Rows that arrive together.

    rows     (n, n_columns): mapped, with the bias column
    labels   (n,): class indices
    weights  (n,): sample weights
    times    (n,): position in the stream
    ids      (n,): names that the user gave, or None
    raw      the rows as they came, where the map may have to be made anew; otherwise None
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
    """Rows that are kept, and their part in the planes.

    alpha, box  (n, n_classes): dual and its bound in the plane near each other class
    idle_count      (n,): re-solves at which every dual was (almost) zero
    reserve     (n,): not in the support at present; looked at again at every re-solve
    """

    alpha: Array
    box: Array
    idle_count: Array
    reserve: Array

    @classmethod
    def of(cls, chunk: Chunk, weights: Array, alpha: Array, box: Array, reserve: Array) -> Kept:
        """Keep the rows of a chunk, with the weights they have on the stream."""
        idle_count = np.zeros(len(chunk), dtype=np.int64)
        return cls(
            chunk.rows, chunk.labels, weights, chunk.times, chunk.ids, chunk.raw, alpha, box, idle_count, reserve
        )

    @classmethod
    def empty(cls, n_classes: int, n_columns: int, dtype: np.dtype) -> Kept:
        """Nothing yet."""
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
        """Append others."""
        stores = [store for store in (self, *others) if len(store)]
        if len(stores) <= 1:
            return stores[0] if stores else self
        return Kept(*(_stack(parts) for parts in zip(*map(_parts, stores), strict=True)))

    def by_class(self) -> Kept:
        """Sort by class, keeping the order of arrival within each."""
        if (self.labels[1:] >= self.labels[:-1]).all():
            return self
        return self.take(np.argsort(self.labels, kind="stable"))

    def insert_class(self, k: int) -> Kept:
        """Make room for a new class at index k."""
        alpha, box = (np.insert(a, k, 0.0, axis=1) for a in (self.alpha, self.box))
        return replace(self, labels=self.labels + (self.labels >= k), alpha=alpha, box=box)

    def delete_class(self, k: int) -> Kept:
        """Remove class k and its rows."""
        rest = self.take(self.labels != k)
        alpha, box = (np.delete(a, k, axis=1) for a in (rest.alpha, rest.box))
        return replace(rest, labels=rest.labels - (rest.labels > k), alpha=alpha, box=box)


def _parts(chunk: Chunk) -> list[Any]:
    """All fields in order."""
    return [getattr(chunk, field.name) for field in fields(chunk)]


def _taken(chunk: Chunk, index: Any) -> list[Any]:
    """All fields in order, of some of the rows."""
    return [None if part is None else part[index] for part in _parts(chunk)]


def _stack(parts: tuple[Any, ...]) -> Any:
    """Rows of several arrays, one below the other."""
    if any(part is None for part in parts):
        return None
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


class Trace(NamedTuple):
    """What is remembered of a row that had an id: enough to take it out again.

    `log_scale` is that of its class (see `Forgotten.log_scales`) when it left; weight and alpha have that unit, and
    alpha is that of a class with factor 1.  `total`, the sum of its mapped values, tells whether a row that
    comes back is the same.
    """

    label: int
    time: int
    weight: float
    log_scale: float
    total: float
    alpha: Array | None


@dataclass
class Forgotten:
    """What rows that are no longer kept have left behind; index [a, b] is the plane near a that pushes b.

    dual_sums            (n_classes, n_classes, n_columns): their pull, sum of alpha_i h_i
    box_sums              (n_classes, n_classes): sum of their C w s
    nearest, farthest (n_classes,): extremes of their squared distance to the mean of their class
    counts            (n_classes,): how many there were
    condensed         (n_classes,): how many of them left a pull
    log_scales            (n_classes,): logarithm of what weights of the class have been multiplied with so far
    traces            id -> trace, for rows that came with an id; shared by copies, so never changed in place
    fresh             traces that are to be added when the copy replaces its original
    """

    dual_sums: Array
    box_sums: Array
    nearest: Array
    farthest: Array
    counts: Array
    n_condensed: Array
    log_scales: Array
    traces: dict[Any, Trace] = field(default_factory=dict)
    new_traces: dict[Any, Trace] = field(default_factory=dict)

    @classmethod
    def nothing(cls, n_classes: int, n_columns: int) -> Forgotten:
        """Nobody has left yet."""
        none = np.zeros(n_classes)
        counts = np.zeros(n_classes, dtype=np.int64)
        dual_sums, box_sums = np.zeros((n_classes, n_classes, n_columns)), np.zeros((n_classes, n_classes))
        return cls(dual_sums, box_sums, none, none.copy(), counts, counts.copy(), none.copy())

    def take(self, rows: Kept, own_distances: Array, factors: Array, pull: bool = True) -> None:
        """Remember rows (sorted by class) that leave; with `pull` their duals freeze, otherwise they are dropped.

        `factors` are those of the classes under class_weight="balanced".
        """
        used = np.flatnonzero(rows.alpha.any(axis=1)) if pull else np.empty(0, dtype=np.int64)
        starts = np.searchsorted(rows.labels, np.arange(len(self.counts) + 1))
        for k, (first, last) in enumerate(pairwise(starts)):
            if first == last:
                continue
            own = own_distances[first:last]
            before = self.counts[k] > 0
            self.nearest[k] = min(self.nearest[k], own.min()) if before else own.min()
            self.farthest[k] = max(self.farthest[k], own.max())
            self.counts[k] += last - first
            self.box_sums[:, k] += rows.box[first:last].sum(axis=0)
            pulling = used[(used >= first) & (used < last)]
            if len(pulling):
                self.dual_sums[:, k] += rows.alpha[pulling].T @ rows.rows[pulling].astype(np.float64)
                self.n_condensed[k] += len(pulling)
        named = np.flatnonzero(rows.ids != None)  # noqa: E711  (elementwise)
        pulls = np.isin(named, used)
        for i, pulls_still in zip(named, pulls, strict=True):
            k = int(rows.labels[i])
            alpha = rows.alpha[i] / factors[k] if pulls_still else None
            level, total = float(self.log_scales[k]), float(rows.rows[i].sum(dtype=np.float64))
            self.new_traces[rows.ids[i]] = Trace(k, int(rows.times[i]), float(rows.weights[i]), level, total, alpha)

    def scale(self, factor: float, k: int | slice) -> None:
        """Follow a multiplication of the weights of class k."""
        self.dual_sums[:, k] *= factor
        self.box_sums[:, k] *= factor
        self.log_scales[k] += np.log(factor)

    def insert_class(self, k: int) -> None:
        """Make room for a new class at index k."""
        for axis in (0, 1):
            self.dual_sums = np.insert(self.dual_sums, k, 0.0, axis=axis)
            self.box_sums = np.insert(self.box_sums, k, 0.0, axis=axis)
        self._each_vector(lambda vector: np.insert(vector, k, 0))
        self._each_trace(lambda label, alpha: (label + (label >= k), None if alpha is None else np.insert(alpha, k, 0)))

    def delete_class(self, k: int) -> None:
        """Remove class k."""
        for axis in (0, 1):
            self.dual_sums = np.delete(self.dual_sums, k, axis=axis)
            self.box_sums = np.delete(self.box_sums, k, axis=axis)
        self._each_vector(lambda vector: np.delete(vector, k))
        self.traces = {key: trace for key, trace in (self.traces | self.new_traces).items() if trace.label != k}
        self.new_traces = {}
        self._each_trace(lambda label, alpha: (label - (label > k), None if alpha is None else np.delete(alpha, k)))

    def _each_vector(self, change: Any) -> None:
        for name in ("nearest", "farthest", "counts", "n_condensed", "log_scales"):
            setattr(self, name, change(getattr(self, name)))

    def _each_trace(self, change: Any) -> None:
        changed = {}
        for key, trace in (self.traces | self.new_traces).items():
            label, alpha = change(trace.label, trace.alpha)
            changed[key] = trace._replace(label=label, alpha=alpha)
        self.traces, self.new_traces = changed, {}

    def trace(self, key: Any) -> Trace | None:
        """Return what is remembered of the row with this id."""
        return self.new_traces.get(key, self.traces.get(key))

    def commit(self) -> None:
        """Make new traces permanent, in one step that cannot be half done."""
        self.traces.update(self.new_traces)
        self.new_traces = {}


def forget(kept: Kept, forget_after: int | None, threshold: float) -> Kept:
    """Count the re-solves at which a row did nothing, and move it to the second look when there were enough.

    The paper's rule: every dual at or below the threshold (phi), `forget_after` (d) times, in a row or not.  A row that
    does something on its second look is back in the support.
    """
    idle = (kept.alpha <= threshold).all(axis=1)
    idle_count = np.where(kept.reserve & ~idle, 0, kept.idle_count + (idle & ~kept.reserve))
    reserve = kept.reserve & idle
    if forget_after is not None:
        reserve |= idle & (idle_count >= forget_after)
    return replace(kept, idle_count=idle_count, reserve=reserve)


def condense(
    kept: Kept, memory: int | None, second_look: int, own_distances: Array, factors: Array, forgotten: Forgotten
) -> Kept:
    """Bring a class that keeps more than `memory` support rows back to that: the rest freezes into the planes' pulls.

    First go rows that sit at a bound for every opponent, oldest first, then those with the least free dual.  Rows
    whose duals are all zero get a second look; of those that wait for one the newest `second_look` remain.
    """
    leaving = np.zeros(len(kept), dtype=bool)
    reserve = kept.reserve.copy()
    if memory is not None:
        for k in np.flatnonzero(np.bincount(kept.labels[~reserve]) > memory):
            support = np.flatnonzero((kept.labels == k) & ~reserve)
            alpha, box = kept.alpha[support], kept.box[support]
            free = np.where((alpha > _SLACK * box) & (alpha < (1.0 - _SLACK) * box), alpha, 0.0).sum(axis=1)
            surplus = support[np.lexsort((kept.times[support], free))[: len(support) - memory]]
            idle = ~kept.alpha[surplus].any(axis=1)
            reserve[surplus[idle]] = True
            leaving[surplus[~idle]] = True
    for k in np.flatnonzero(np.bincount(kept.labels[reserve]) > second_look):
        waiting = np.flatnonzero((kept.labels == k) & reserve)
        newest_last = np.argsort(kept.times[waiting], kind="stable")
        leaving[waiting[newest_last[: len(waiting) - second_look]]] = True
    kept = replace(kept, reserve=reserve)
    if leaving.any():
        forgotten.take(kept.take(leaving), own_distances[leaving], factors)
        kept = kept.take(~leaving)
    return kept
