"""Forgotten rows: which rows are no longer kept, and the sums that remain of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._arrays import Array, class_starts
from . import axes
from .kept import Kept

UNKNOWN_TOTAL = 1e100  # of a row that was mapped in another way


class Trace(NamedTuple):
    """What is stored of a forgotten row with an id: enough to unlearn it.

    `log_scale` is the value of `Forgotten.log_scales` for its class when the row was forgotten; weight, alpha and box
    are in the unit of that time, alpha and box also without the factor of class_weight="balanced".  alpha is None if
    the row was not condensed, box is None in traces of older model files.  `total`, the sum of its mapped values, is
    compared with that of the row to unlearn.  `distance` is that to the mean of its class, squared; infinite if it is
    not known.
    """

    label: int
    time: int
    weight: float
    log_scale: float
    total: float
    distance: float
    alpha: Array | None
    box: Array | None


class Traces(Mapping[Any, Trace]):
    """Traces by id, which never change: to add some makes a new object that shares the old layers.

    A layer is less than half as large as the one before it; otherwise both become one.  So there are few layers, and a
    trace is copied few times.
    """

    def __init__(self, layers: Iterable[dict[Any, Trace]] = ()) -> None:
        self._layers = tuple(layer for layer in layers if layer)

    def __getitem__(self, key: Any) -> Trace:
        for layer in self._layers:
            if key in layer:
                return layer[key]
        raise KeyError(key)

    def __iter__(self) -> Iterator[Any]:
        return (key for layer in self._layers for key in layer)

    def __len__(self) -> int:
        return sum(map(len, self._layers))

    def joined(self, new: dict[Any, Trace]) -> Traces:
        """Return these traces and new ones."""
        layers = [*self._layers, new]
        while len(layers) > 1 and len(layers[-2]) < 2 * len(layers[-1]):
            last = layers.pop()
            layers[-1] = layers[-1] | last
        return Traces(layers)


@dataclass
class Forgotten:
    """Sums over rows that are no longer kept; index [a, b] is the plane near a that pushes b.

    dual_sums          (n_classes, n_classes, n_columns): sum of alpha_i h_i
    box_sums           (n_classes, n_classes): sum of C w s
    nearest, farthest  (n_classes,): smallest and largest squared distance to the mean of their class
    counts             (n_classes,): number of forgotten rows
    n_condensed        (n_classes,): how many of them are part of the dual sums
    log_scales         (n_classes,): logarithm of the factor by which weights of the class have been rescaled so far
    traces             id -> trace, for rows with an id
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
    traces: Traces = field(default_factory=Traces)

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
        named, traces = np.flatnonzero(rows.ids != None), {}  # noqa: E711  (elementwise)
        for i, condensed in zip(named, np.isin(named, used), strict=True):
            k = int(rows.labels[i])
            traces[rows.ids[i]] = Trace(
                label=k,
                time=int(rows.times[i]),
                weight=float(rows.weights[i]),
                log_scale=float(self.log_scales[k]),
                total=float(rows.rows[i].sum(dtype=np.float64)),
                distance=float(own_distances[i]),
                alpha=rows.alpha[i] / factors[k] if condensed else None,
                box=rows.box[i] / factors[k],
            )
        self.traces = self.traces.joined(traces)

    def remove(self, k: int, alpha: Array | None, box: Array, row: Array) -> None:
        """Take one row of class k out again; alpha is None if it was not condensed."""
        self.counts[k] -= 1
        self.box_sums[:, k] = np.maximum(self.box_sums[:, k] - box, 0.0)
        if alpha is not None:
            self.dual_sums[:, k] -= np.outer(alpha, row)
            self.n_condensed[k] -= 1
        if not self.n_condensed[k]:
            self.dual_sums[:, k] = 0.0  # only rounding errors are left
        if not self.counts[k]:
            self.box_sums[:, k], self.nearest[k], self.farthest[k] = 0.0, 0.0, 0.0

    def scale(self, factor: float, k: int | slice) -> None:
        """Multiply the sums of class k by the factor of its weights."""
        self.dual_sums[:, k] *= factor
        self.box_sums[:, k] *= factor
        self.log_scales[k] += np.log(factor)

    def insert_class(self, k: int) -> None:
        """Insert a new class at index k."""
        axes.insert_class(self, k)
        self._each_trace(lambda label: label + (label >= k), lambda values: np.insert(values, k, 0.0))

    def delete_class(self, k: int) -> None:
        """Remove class k."""
        axes.delete_class(self, k)
        self.drop_traces([key for key, trace in self.traces.items() if trace.label == k])
        self._each_trace(lambda label: label - (label > k), lambda values: np.delete(values, k))

    def drop_traces(self, keys: Iterable[Any]) -> None:
        """Remove the traces with these ids."""
        dropped = set(keys)
        if dropped:
            self.traces = Traces([{key: trace for key, trace in self.traces.items() if key not in dropped}])

    def _each_trace(self, label: Callable[[int], int], values: Callable[[Array], Array]) -> None:
        """Change the labels, and the values of each class, of all traces."""
        changed = {
            key: trace._replace(
                label=label(trace.label),
                alpha=None if trace.alpha is None else values(trace.alpha),
                box=None if trace.box is None else values(trace.box),
            )
            for key, trace in self.traces.items()
        }
        self.traces = Traces([changed])
