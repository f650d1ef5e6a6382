"""gamma="auto": a short search, judged by log loss on rows the planes did not see.

Small data: every row is judged by planes trained without it (see `solver.left_out`).  Large data: planes of about 2,000
rows from the first two thirds of each class, in the order given, are judged by the last third, and the other way round.
Rows that lie side by side are often of one person, hour or batch; a contiguous part is as new to the planes as
tomorrow's rows will be, a random one is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from .._arrays import Array
from .._log import LOG
from ..features.kernels import Kernel, similarity
from ..model import _pair_loops
from ..model.rows import SMALL, TrainingRows, calibration_rows
from ..model.settings import Settings
from .solve import solve_kernel

Loss = Callable[[Kernel, Settings], float]

_FACTOR = 4.0  # between neighbouring candidates
_POWERS = (0.0, -1.0, -2.0, 1.0, 2.0)  # of the candidates, from the start, which wins ties
_HIGHEST = 5.0  # candidates are added while the highest is the best
_MOST_CLASSES = 100
_TEMPERATURES = (1.0, 0.5, 0.25, 0.125)
_LOWEST_STREAM, _HIGHEST_STREAM = -8, 2  # powers of 2 on a stream, whose first rows may be of one place only
_MISSED = 0.01


def search_gamma(rows: TrainingRows, kernel: str, start: float, settings: Settings, seed: int) -> float:
    """Return the gamma with the least loss: candidates a factor of 4 apart, then the halves between."""
    rows, settings = _some_classes(rows, settings)
    loss_of = _leave_one_out(rows) if rows.small else _held_out(rows, seed)
    losses: dict[float, float] = {}

    def loss(power: float) -> float:
        if power not in losses:
            gamma = start * _FACTOR**power
            found = loss_of(similarity(kernel, gamma), settings)
            losses[power] = found if np.isfinite(found) else np.inf
            LOG.info("gamma %.4g: log loss %.4f", gamma, losses[power])
        return losses[power]

    best = min(_POWERS, key=loss)
    while best == max(losses) and best < _HIGHEST:
        best = min((best, best + 1.0), key=loss)
    best = min((best, best - 0.5, best + 0.5), key=loss)
    return float(start * _FACTOR**best)


def largest_gamma(X: Any, kernel: str, start: float, count: int, seed: int) -> float:
    """Return the largest gamma, among powers of 2, at which a map of `count` landmarks still represents its rows.

    That is, at which it misses at most 1 % of a row like its landmarks: the mean of 1 / [K^-1]_ii, each landmark left
    out in turn.  Labels do not matter, so the first rows of a stream will do, be they of one class or one hour.
    """
    random = np.random.default_rng(seed)
    rows = X[np.sort(random.choice(X.shape[0], min(count, X.shape[0]), replace=False))].astype(np.float64)
    best = start * 2.0**_LOWEST_STREAM
    for power in range(_LOWEST_STREAM, _HIGHEST_STREAM + 1):
        gamma = start * 2.0**power
        between = similarity(kernel, gamma)(rows, rows)
        inverse = np.linalg.inv(between + 1e-9 * np.eye(len(between)))
        if np.mean(1.0 / np.diag(inverse)) > _MISSED:
            break
        best = gamma
    return float(best)


def _some_classes(rows: TrainingRows, settings: Settings) -> tuple[TrainingRows, Settings]:
    """Restrict rows and settings to a hundred classes, evenly spaced: more would need too many planes."""
    if rows.n_classes <= _MOST_CLASSES:
        return rows, settings
    classes = np.linspace(0, rows.n_classes - 1, _MOST_CLASSES).astype(np.int64)
    chosen = np.flatnonzero(np.isin(rows.labels, classes))
    return rows.subset(chosen, drop_empty=True), replace(settings, C=settings.C[classes], reg=settings.reg[classes])


def _leave_one_out(rows: TrainingRows) -> Loss:
    """Judge a kernel by all rows, each left out in turn; the only row of a class cannot be."""
    X = rows.X[rows.index].astype(np.float64)
    wanted = calibration_rows(rows.starts, np.zeros(rows.n, dtype=bool), seed=0, limit=rows.n)
    starts = np.searchsorted(np.flatnonzero(wanted), rows.starts)

    def loss(kernel: Kernel, settings: Settings) -> float:
        (solved,) = solve_kernel(settings, kernel(X, X), rows.starts, rows.weights, wanted)
        near, far, decision = solved.solution.near, solved.solution.far, solved.decision
        margins = _pair_loops.left_out_margins(near, far, starts, decision.learned_offsets, decision.slopes)
        return _tempered_loss(margins, rows.weights[wanted])

    return loss


def _held_out(rows: TrainingRows, seed: int) -> Loss:
    """Judge a kernel by the last third of the rows and by the first, trained on the others."""
    parts = []
    for last_third in (True, False):
        learned, held = _split(rows, last_third, seed)
        parts.append((rows.subset(learned), rows.subset(held)))

    def loss(kernel: Kernel, settings: Settings) -> float:
        losses = []
        for train, test in parts:
            X, X_test = train.X.astype(np.float64), test.X.astype(np.float64)
            wanted = calibration_rows(train.starts, np.zeros(train.n, dtype=bool), seed)
            (solved,) = solve_kernel(settings, kernel(X, X), train.starts, train.weights, wanted)
            seen = np.column_stack([kernel(X_test, X), np.ones(test.n)])
            losses.append(_tempered_loss(solved.rule.margins_over(seen, test.labels), test.weights))
        return float(np.mean(losses))

    return loss


def _split(rows: TrainingRows, last_third: bool, seed: int) -> tuple[Array, Array]:
    """Sorted rows to learn from and to judge by, at most about SMALL of each and five of every class."""
    random = np.random.default_rng(seed)
    learned: list[Array] = []
    judged: list[Array] = []
    for first, last in pairwise(rows.starts):
        size = int(last - first)
        held = max(1, size // 3) if size > 1 else 0
        block = np.arange(first, last) if last_third else np.arange(first, last)[::-1]
        for chosen, part in ((learned, block[: size - held]), (judged, block[size - held :])):
            count = min(len(part), max(5, round(SMALL * size / rows.n)))
            chosen.append(np.sort(random.choice(part, count, replace=False)))
    return np.concatenate(learned), np.concatenate(judged)


def _tempered_loss(margins: Array, weights: Array) -> float:
    """Mean log loss of the true class from the margins of all classes over it, at the best of four temperatures.

    p = 1 / (1 + sum_k exp(margin of k)) is the closed form of pairwise coupling.  Planes are too sure of themselves on
    rows of a new kind: the temperature forgives that, so that a gamma is judged by what it knows.
    """
    if not weights.any():
        return 0.0
    return min(
        float(np.average(np.log(np.exp(np.minimum(t * margins, 500.0)).sum(axis=1)), weights=weights))
        for t in _TEMPERATURES
    )
