"""Forgotten rows: which rows are no longer kept, and the sums that remain of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._arrays import Array, class_starts
from . import axes
from .kept import Kept


class Trace(NamedTuple):
    """What is stored of a forgotten row with an id: enough to unlearn it.

    `log_scale` is the value of `Forgotten.log_scales` for its class when the row was forgotten; weight and alpha are in
    the unit of that time, alpha also without the factor of class_weight="balanced".  alpha is None if the row was not
    condensed.  `total`, the sum of its mapped values, is compared with that of the row to unlearn.
    """

    label: int
    time: int
    weight: float
    log_scale: float
    total: float
    alpha: Array | None


@dataclass
class Forgotten:
    """Sums over rows that are no longer kept; index [a, b] is the plane near a that pushes b.

    dual_sums          (n_classes, n_classes, n_columns): sum of alpha_i h_i
    box_sums           (n_classes, n_classes): sum of C w s
    nearest, farthest  (n_classes,): smallest and largest squared distance to the mean of their class
    counts             (n_classes,): number of forgotten rows
    n_condensed        (n_classes,): how many of them are part of the dual sums
    log_scales         (n_classes,): logarithm of the factor by which weights of the class have been rescaled so far
    traces             id -> trace, for rows with an id; shared by copies, so changed in place by `commit` only
    new_traces         traces that `commit` will add
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
        """Return sums over no rows."""
        none = np.zeros(n_classes)
        counts = np.zeros(n_classes, dtype=np.int64)
        dual_sums, box_sums = np.zeros((n_classes, n_classes, n_columns)), np.zeros((n_classes, n_classes))
        return cls(dual_sums, box_sums, none, none.copy(), counts, counts.copy(), none.copy())

    def take(self, rows: Kept, own_distances: Array, factors: Array, *, condense: bool = True) -> None:
        """Add rows (sorted by class) that are no longer kept; `condense` adds their duals to the dual sums.

        `factors` are the factors of class_weight="balanced".
        """
        used = np.flatnonzero(rows.alpha.any(axis=1)) if condense else np.empty(0, dtype=np.int64)
        starts = class_starts(rows.labels, len(self.counts))
        for k, (first, last) in enumerate(pairwise(starts)):
            if first == last:
                continue
            distances = own_distances[first:last]
            not_first = self.counts[k] > 0
            self.nearest[k] = min(self.nearest[k], distances.min()) if not_first else distances.min()
            self.farthest[k] = max(self.farthest[k], distances.max())
            self.counts[k] += last - first
            self.box_sums[:, k] += rows.box[first:last].sum(axis=0)
            used_here = used[(used >= first) & (used < last)]
            if len(used_here):
                self.dual_sums[:, k] += rows.alpha[used_here].T @ rows.rows[used_here].astype(np.float64)
                self.n_condensed[k] += len(used_here)
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
        """Multiply the sums of class k by the factor of its weights."""
        self.dual_sums[:, k] *= factor
        self.box_sums[:, k] *= factor
        self.log_scales[k] += np.log(factor)

    def insert_class(self, k: int) -> None:
        """Insert a new class at index k."""
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
        """Remove the traces with these ids."""
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
        """Return the trace of the row with this id, if there is one."""
        return self.new_traces.get(key, self.traces.get(key))

    def commit(self) -> None:
        """Add the new traces to the shared ones, in one step."""
        self.traces.update(self.new_traces)
        self.new_traces = {}
