"""What a fitted model keeps to continue from: its rows, or sums over them, whichever is smaller."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array
from ..model.fit_sums import FitSums, SupportRows
from ..model.rows import TrainingRows, row_bytes
from ..model.settings import Parameters
from .prepare import Prepared
from .row_homes import Home
from .solve import Solved
from .spool import Spool
from .support import Search, Support, find_support

_MOST_MAPPED = 2**29  # bytes of mapped rows that a stream may start from
_MOST_CALIBRATION = 256  # most calibration rows of each class that are kept


def keeps_rows(X: Any, rows: TrainingRows, n_columns: int, memory: int | None) -> bool:
    """Return whether a fit keeps its rows: they take less memory than sums over them and support rows.

    Duplicates that were merged can only be told apart in the rows themselves.  Rows that would be very large once they
    are mapped are not kept, because a stream maps them all when it starts.
    """
    if isinstance(X, Spool):
        return False
    if rows.small:
        return True
    support = rows.n if memory is None else min(rows.n, memory * rows.n_classes)
    numbers = rows.n_classes * n_columns * (n_columns + rows.n_classes) + support * (n_columns + 2 * rows.n_classes)
    return bool(row_bytes(X) <= 8 * numbers and 8 * rows.n * n_columns <= _MOST_MAPPED)


def support_of(home: Home, solved: Solved, prepared: Prepared, memory: int | None, *, with_numbers: bool) -> Support:
    """Find the rows with duals, by a pass over the rows."""
    assert solved.state is not None
    state = solved.state
    least = float(prepared.settings.C.min())
    search = Search(state.duals, state.boxes, least, home.n_classes, memory, prepared.seed, with_numbers)
    return home.reduce(find_support, search, "support rows")


def sums_of(prepared: Prepared, solved: Solved, support: Support, parameters: Parameters) -> FitSums:
    """Return sums over the rows of a fit, and some of its support rows."""
    state, solution, home = solved.state, solved.solution, prepared.home
    assert state is not None
    assert state.grams is not None
    assert home is not None
    n_classes = home.n_classes
    factors = prepared.factors if parameters.class_weight == "balanced" else np.ones(n_classes)
    kept = _support_rows(prepared, home, solved, support.chosen(parameters.memory), factors)
    # The sum over all rows follows from u = -G^-1 sum alpha h.
    reg, planes = prepared.settings.reg, solution.planes.astype(np.float64)
    dual_sums = -np.stack([planes[a] @ state.grams[a] + reg[a] * planes[a] for a in range(n_classes)])
    box_sums = solution.box_sums.copy()
    n_kept = np.bincount(kept.labels, minlength=n_classes)
    for k in range(n_classes):
        of_class = kept.labels == k
        dual_sums[:, k] -= kept.alpha[of_class].T @ kept.rows[of_class].astype(np.float64)
        box_sums[:, k] -= kept.box[of_class].sum(axis=0)
    extremes, has_extremes = state.extremes, state.extremes.counts > 0
    near, far, labels = _calibration(home, prepared.wanted, solved)
    return FitSums(
        n_rows=home.given_counts(),
        counts=home.class_weights / factors,
        sums=state.totals / factors[:, None],
        grams=np.stack(
            [gram if factor == 1.0 else gram / factor for gram, factor in zip(state.grams, factors, strict=True)]
        ),
        factors=factors,
        support=kept,
        dual_sums=dual_sums,
        box_sums=np.maximum(box_sums, 0.0),
        n_condensed=np.maximum(support.pushing - n_kept, 0),
        nearest=np.where(has_extremes, extremes.nearest.min(axis=(0, 2)), 0.0),
        farthest=np.where(has_extremes, extremes.farthest.max(axis=(0, 2)), 0.0),
        ranges=state.ranges,
        near=near,
        far=far,
        labels=labels,
    )


def _support_rows(prepared: Prepared, home: Home, solved: Solved, numbers: Array, factors: Array) -> SupportRows:
    """Return the support rows with these numbers."""
    state = solved.state
    assert state is not None
    home.fetch(numbers)
    mapped = home.take(numbers)
    box = state.boxes(mapped)
    box[np.arange(len(numbers)), mapped.labels] = 0.0
    return SupportRows(
        rows=mapped.rows,
        raw=home.raw(numbers) if prepared.mapping.renewable else None,
        labels=mapped.labels,
        weights=mapped.weights / factors[mapped.labels],
        alpha=np.minimum(state.duals(mapped), box),
        box=box,
    )


def _calibration(home: Home, wanted: Array, solved: Solved) -> tuple[Array, Array, Array]:
    """Return the left-out values (near, far) of some calibration rows of each class, and their class indices."""
    labels = home.labels_of(wanted)
    first = np.searchsorted(labels, labels)
    some = np.arange(len(labels)) - first < _MOST_CALIBRATION
    return solved.solution.near[some], solved.solution.far[some], labels[some]
