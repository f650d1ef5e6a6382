"""What a fitted model keeps to continue from: its rows, or sums over them, whichever is smaller."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .._arrays import Array, tiles
from ..model.fit_sums import FitSums, SupportRows
from ..model.rows import TrainingRows, row_bytes
from ..model.settings import Parameters
from ..solver._descent_loops import free_duals
from .prepare import Prepared
from .solve import Solved
from .spool import Spool

_MOST_MAPPED = 2**29  # bytes of mapped rows that a stream may start from
_TILE = 65536  # rows that are looked at together
_CANDIDATES = 20  # for each support row that is kept, so many are compared
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


def sums_of(prepared: Prepared, solved: Solved, parameters: Parameters) -> FitSums:
    """Return sums over the rows of a fit, and some of its support rows."""
    state, solution = solved.state, solved.solution
    rows = prepared.rows
    assert state is not None
    assert state.grams is not None
    assert prepared.home is not None
    n_classes = rows.n_classes
    weights = np.array([rows.weights[a:b].sum() for a, b in pairwise(rows.starts)])
    factors = prepared.factors if parameters.class_weight == "balanced" else np.ones(n_classes)
    support = _support_rows(prepared, solved, parameters.memory, factors)
    # The sum over all rows follows from u = -G^-1 sum alpha h.
    reg, planes = prepared.settings.reg, solution.planes.astype(np.float64)
    dual_sums = -np.stack([planes[a] @ state.grams[a] + reg[a] * planes[a] for a in range(n_classes)])
    box_sums = solution.box_sums.copy()
    n_kept = np.zeros(n_classes, dtype=np.int64)
    for k in range(n_classes):
        of_class = support.labels == k
        dual_sums[:, k] -= support.alpha[of_class].T @ support.rows[of_class].astype(np.float64)
        box_sums[:, k] -= support.box[of_class].sum(axis=0)
        n_kept[k] = of_class.sum()
    n_support = np.array([_has_dual(solution.alpha, a, b).sum() for a, b in pairwise(rows.starts)])
    extremes, has_extremes = state.extremes, state.extremes.counts > 0
    near, far, labels = _calibration(prepared, solved)
    return FitSums(
        n_rows=rows.given_counts(),
        counts=weights / factors,
        sums=state.totals / factors[:, None],
        grams=np.stack([gram / factor for gram, factor in zip(state.grams, factors, strict=True)]),
        factors=factors,
        support=support,
        dual_sums=dual_sums,
        box_sums=np.maximum(box_sums, 0.0),
        n_condensed=np.maximum(n_support - n_kept, 0),
        nearest=np.where(has_extremes, extremes.nearest.min(axis=(0, 2)), 0.0),
        farthest=np.where(has_extremes, extremes.farthest.max(axis=(0, 2)), 0.0),
        ranges=state.ranges,
        near=near,
        far=far,
        labels=labels,
    )


def _support_rows(prepared: Prepared, solved: Solved, memory: int | None, factors: Array) -> SupportRows:
    """Return at most `memory` support rows of each class: those with the largest sum of free duals."""
    rows, home = prepared.rows, prepared.home
    state, alpha = solved.state, solved.solution.alpha
    assert home is not None
    assert state is not None
    random = np.random.default_rng(prepared.seed)
    chosen = []
    for first, last in pairwise(rows.starts):
        numbers = first + np.flatnonzero(_has_dual(alpha, first, last))
        if memory is not None and len(numbers) > memory:
            some = min(len(numbers), _CANDIDATES * memory)
            numbers = np.sort(random.choice(numbers, some, replace=False))
            box = state.boxes(numbers, home.rows(numbers))
            duals = alpha[numbers].astype(np.float64)
            free = np.where(free_duals(duals, box), duals, 0.0).sum(axis=1)
            numbers = np.sort(numbers[np.argsort(-free, kind="stable")[:memory]])
        chosen.append(numbers)
    marked = np.zeros(rows.n, dtype=bool)
    marked[np.concatenate(chosen)] = True
    numbers, mapped = home.collect(_marked, marked)
    labels = rows.labels_of(numbers)
    box = state.boxes(numbers, mapped)
    box[np.arange(len(numbers)), labels] = 0.0
    return SupportRows(
        rows=mapped,
        raw=rows.X[rows.index[numbers]] if prepared.mapping.renewable else None,
        labels=labels,
        weights=rows.weights[numbers] / factors[labels],
        alpha=np.minimum(alpha[numbers].astype(np.float64), box),
        box=box,
    )


def _has_dual(alpha: Array, first: int, last: int) -> Array:
    """Return which of the rows from `first` to `last` push a plane."""
    has_dual = np.empty(last - first, dtype=bool)
    for part in tiles(0, last - first, _TILE):
        has_dual[part] = (alpha[part.start + first : part.stop + first] > 0).any(axis=1)
    return has_dual


def _marked(k: int, numbers: slice, marked: Array) -> Array:
    """Return which rows of a tile are marked."""
    return marked[numbers]


def _calibration(prepared: Prepared, solved: Solved) -> tuple[Array, Array, Array]:
    """Return the left-out values (near, far) of some calibration rows of each class, and their class indices."""
    labels = prepared.rows.labels_of(np.flatnonzero(prepared.wanted))
    first = np.searchsorted(labels, labels)
    some = np.arange(len(labels)) - first < _MOST_CALIBRATION
    return solved.solution.near[some], solved.solution.far[some], labels[some]
