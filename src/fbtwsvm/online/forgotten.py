"""What leaves the kept rows, and what stays of it: forgetting and condensing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._arrays import Array, class_starts
from ..solver._loops import free_duals
from . import axes
from .kept import Kept


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
    """Sums over rows that are no longer stored; index [a, b] is the plane near a that pushes b.

    dual_sums          (n_classes, n_classes, n_columns): sum of alpha_i h_i
    box_sums           (n_classes, n_classes): sum of C w s
    nearest, farthest  (n_classes,): extremes of their squared distance to the mean of their class
    counts             (n_classes,): how many there were
    n_condensed        (n_classes,): how many of them are part of the dual sums
    log_scales         (n_classes,): logarithm of what weights of the class have been multiplied with so far
    traces             id -> trace, for rows that came with an id; shared by copies, so never changed in place
    new_traces         traces that are added to these when the copy replaces its original
    """

    CLASS_AXES: ClassVar[dict[str, tuple[int, ...]]] = {
        "dual_sums": (0, 1), "box_sums": (0, 1), "nearest": (0,), "farthest": (0,), "counts": (0,),
        "n_condensed": (0,), "log_scales": (0,),
    }  # fmt: skip
    NEW_CLASS: ClassVar[dict[str, Any]] = {}

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
        """Empty."""
        none = np.zeros(n_classes)
        counts = np.zeros(n_classes, dtype=np.int64)
        dual_sums, box_sums = np.zeros((n_classes, n_classes, n_columns)), np.zeros((n_classes, n_classes))
        return cls(dual_sums, box_sums, none, none.copy(), counts, counts.copy(), none.copy())

    def take(self, rows: Kept, own_distances: Array, factors: Array, *, condense: bool = True) -> None:
        """Remember rows (sorted by class) that leave; unless they `condense`, their duals are dropped.

        `factors` are those of the classes under class_weight="balanced".
        """
        used = np.flatnonzero(rows.alpha.any(axis=1)) if condense else np.empty(0, dtype=np.int64)
        starts = class_starts(rows.labels, len(self.counts))
        for k, (first, last) in enumerate(pairwise(starts)):
            if first == last:
                continue
            own = own_distances[first:last]
            before = self.counts[k] > 0
            self.nearest[k] = min(self.nearest[k], own.min()) if before else own.min()
            self.farthest[k] = max(self.farthest[k], own.max())
            self.counts[k] += last - first
            self.box_sums[:, k] += rows.box[first:last].sum(axis=0)
            mine = used[(used >= first) & (used < last)]
            if len(mine):
                self.dual_sums[:, k] += rows.alpha[mine].T @ rows.rows[mine].astype(np.float64)
                self.n_condensed[k] += len(mine)
        named = np.flatnonzero(rows.ids != None)  # noqa: E711  (elementwise)
        for i, condensed in zip(named, np.isin(named, used), strict=True):
            k = int(rows.labels[i])
            self.new_traces[rows.ids[i]] = Trace(
                label=k,
                time=int(rows.times[i]),
                weight=float(rows.weights[i]),
                log_scale=float(self.log_scales[k]),
                total=float(rows.rows[i].sum(dtype=np.float64)),
                alpha=rows.alpha[i] / factors[k] if condensed else None,
            )

    def scale(self, factor: float, k: int | slice) -> None:
        """Follow a multiplication of the weights of class k."""
        self.dual_sums[:, k] *= factor
        self.box_sums[:, k] *= factor
        self.log_scales[k] += np.log(factor)

    def insert_class(self, k: int) -> None:
        """Make room for a new class at index k."""
        axes.insert_class(self, k)
        self._each_trace(lambda label, alpha: (label + (label >= k), None if alpha is None else np.insert(alpha, k, 0)))

    def delete_class(self, k: int) -> None:
        """Remove class k."""
        axes.delete_class(self, k)
        self.drop_traces([key for key, trace in self.all_traces().items() if trace.label == k])
        self._each_trace(lambda label, alpha: (label - (label > k), None if alpha is None else np.delete(alpha, k)))

    def all_traces(self) -> dict[Any, Trace]:
        """Return all traces by id."""
        return self.traces | self.new_traces

    def drop_traces(self, keys: Iterable[Any]) -> None:
        """Forget the rows with these ids altogether."""
        dropped = set(keys)
        self.traces = {key: trace for key, trace in self.all_traces().items() if key not in dropped}
        self.new_traces = {}

    def _each_trace(self, change: Any) -> None:
        changed = {}
        for key, trace in self.all_traces().items():
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
    """Count the re-solves in which a row did nothing, and move it to the reserve when there were enough.

    The paper's rule: every dual at or below the threshold (phi), `forget_after` (d) times, in a row or not.  A row of
    the reserve that does something is back in the support.
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
    """Bring a class that keeps more than `memory` support rows back to that: the rest is condensed into dual sums.

    First go rows that sit at a bound for every opponent, oldest first, then those with the least free dual.  Rows
    whose duals are all zero go to the reserve, of which the newest `second_look` remain.
    """
    leaving = np.zeros(len(kept), dtype=bool)
    reserve = kept.reserve.copy()
    if memory is not None:
        for k in np.flatnonzero(np.bincount(kept.labels[~reserve]) > memory):
            support = np.flatnonzero((kept.labels == k) & ~reserve)
            alpha, box = kept.alpha[support], kept.box[support]
            free = np.where(free_duals(alpha, box), alpha, 0.0).sum(axis=1)
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
