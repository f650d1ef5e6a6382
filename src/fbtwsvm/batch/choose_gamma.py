"""gamma="auto": a short search for the least log loss on rows that the planes were not trained on.

Small data: leave-one-out, from the left-out values of all rows (see `solver.left_out`).  Large data: planes of about
2,000 rows from the first two thirds of each class, in the order given, are validated on the last third, then planes of
the last two thirds on the first third.  Neighbouring rows often belong to one person, hour or batch.  A contiguous part
is therefore as new to the planes as future rows are; a random part is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from .._arrays import Array
from .._log import LOG
from ..features.kernels import Kernel, gamma_scale, similarity
from ..model import _pair_loops
from ..model.rows import SMALL, TrainingRows, calibration_rows
from ..model.settings import Parameters, Settings
from .solve import solve_kernel

Loss = Callable[[Kernel, Settings], float]

_FACTOR = 4.0  # ratio of neighbouring candidates
_POWERS = (0.0, -1.0, -2.0, 1.0, 2.0)  # of _FACTOR, for the first candidates; earlier ones win ties
_HIGHEST = 5.0  # larger powers are tried, up to this one, while the largest is the best
_MOST_CLASSES = 100
_TEMPERATURES = (1.0, 0.5, 0.25, 0.125)
_LOWEST_STREAM, _HIGHEST_STREAM = -8, 2  # powers of 2 tried on a stream, whose first rows may be much alike
_MISSED = 0.01  # largest mean residual of left-out landmarks


def choose_gamma(
    parameters: Parameters, rows: TrainingRows, settings: Settings, seed: int, *, quick: bool = False
) -> float | None:
    """Return gamma: as given, from the variance, or by a search; None if the kernel or the map does not use it."""
    if not parameters.uses_gamma:
        return None
    if not isinstance(parameters.gamma, str):
        return float(parameters.gamma)
    if rows.small:  # sorted, so that rounding does not depend on the order of the rows
        scale = gamma_scale(rows.X[rows.index], parameters.kernel, rows.weights)
    else:
        scale = gamma_scale(rows.X, parameters.kernel, rows.given_weights)
    if quick or parameters.gamma == "scale":
        return scale
    chosen = search_gamma(rows, str(parameters.kernel), scale, settings, seed)
    LOG.info("gamma: %.6g (%.4g times scale)", chosen, chosen / scale)
    return chosen


def search_gamma(rows: TrainingRows, kernel: str, start: float, settings: Settings, seed: int) -> float:
    """Return the gamma with the least loss: first candidates a factor of 4 apart, then two between them."""
    rows, settings = _some_classes(rows, settings)
    loss_of = _leave_one_out(rows) if rows.small else _held_out(rows, seed)
    losses: dict[float, float] = {}

    def loss(power: float) -> float:
        if power not in losses:
            gamma = start * _FACTOR**power
            value = loss_of(similarity(kernel, gamma), settings)
            losses[power] = value if np.isfinite(value) else np.inf
            LOG.info("gamma %.4g: log loss %.4f", gamma, losses[power])
        return losses[power]

    best = min(_POWERS, key=loss)
    while best == max(losses) and best < _HIGHEST:
        best = min((best, best + 1.0), key=loss)
    best = min((best, best - 0.5, best + 0.5), key=loss)
    return float(start * _FACTOR**best)


def largest_gamma(X: Any, kernel: str, start: float, count: int, seed: int) -> float:
    """Return the largest gamma, among `start` times powers of 2, at which a map of `count` landmarks is still accurate.

    Accurate means a residual 1 - ||z||^2 of at most 1 % on rows like the landmarks: the mean of 1 / [K^-1]_ii over the
    landmarks, each left out in turn.  Labels are not needed, so the first rows of a stream may all be of one class.
    """
    random = np.random.default_rng(seed)
    rows = X[np.sort(random.choice(X.shape[0], min(count, X.shape[0]), replace=False))].astype(np.float64)
    best = start * 2.0**_LOWEST_STREAM
    for power in range(_LOWEST_STREAM, _HIGHEST_STREAM + 1):
        gamma = start * 2.0**power
        matrix = similarity(kernel, gamma)(rows, rows)
        inverse = np.linalg.inv(matrix + 1e-9 * np.eye(len(matrix)))
        if np.mean(1.0 / np.diag(inverse)) > _MISSED:
            break
        best = gamma
    return float(best)


def _some_classes(rows: TrainingRows, settings: Settings) -> tuple[TrainingRows, Settings]:
    """Restrict rows and settings to a hundred classes, evenly spaced; more would need too many planes."""
    if rows.n_classes <= _MOST_CLASSES:
        return rows, settings
    classes = np.linspace(0, rows.n_classes - 1, _MOST_CLASSES).astype(np.int64)
    chosen = np.flatnonzero(np.isin(rows.labels, classes))
    return rows.subset(chosen, drop_empty=True), replace(settings, C=settings.C[classes], reg=settings.reg[classes])


def _leave_one_out(rows: TrainingRows) -> Loss:
    """Return the leave-one-out loss of a kernel, over all rows but those that are the only one of their class."""
    X = rows.X[rows.index].astype(np.float64)
    wanted = calibration_rows(rows.starts, np.zeros(rows.n, dtype=bool), seed=0, limit=rows.n)
    starts = np.searchsorted(np.flatnonzero(wanted), rows.starts)

    def loss(kernel: Kernel, settings: Settings) -> float:
        (solved,) = solve_kernel(settings, kernel(X, X), rows.starts, rows.weights, wanted)
        solution, decision = solved.solution, solved.decision
        margins = _pair_loops.left_out_margins(
            solution.near, solution.far, starts, decision.learned_offsets, decision.slopes
        )
        return _tempered_loss(margins, rows.weights[wanted])

    return loss


def _held_out(rows: TrainingRows, seed: int) -> Loss:
    """Return the mean loss of a kernel on the last and the first third of the rows, with planes of the others."""
    parts = []
    for last_third in (True, False):
        train, validation = _split(rows, last_third, seed)
        parts.append((rows.subset(train), rows.subset(validation)))

    def loss(kernel: Kernel, settings: Settings) -> float:
        losses = []
        for train, validation in parts:
            X, X_validation = train.X.astype(np.float64), validation.X.astype(np.float64)
            wanted = calibration_rows(train.starts, np.zeros(train.n, dtype=bool), seed)
            (solved,) = solve_kernel(settings, kernel(X, X), train.starts, train.weights, wanted)
            mapped = np.column_stack([kernel(X_validation, X), np.ones(validation.n)])
            losses.append(_tempered_loss(solved.rule.margins_over(mapped, validation.labels), validation.weights))
        return float(np.mean(losses))

    return loss


def _split(rows: TrainingRows, last_third: bool, seed: int) -> tuple[Array, Array]:
    """Return the sorted rows for training and for validation: about SMALL of each, or five of every class."""
    random = np.random.default_rng(seed)
    train: list[Array] = []
    validation: list[Array] = []
    for first, last in pairwise(rows.starts):
        size = int(last - first)
        held_out = max(1, size // 3) if size > 1 else 0
        block = np.arange(first, last) if last_third else np.arange(first, last)[::-1]
        for chosen, part in ((train, block[: size - held_out]), (validation, block[size - held_out :])):
            count = min(len(part), max(5, round(SMALL * size / rows.n)))
            chosen.append(np.sort(random.choice(part, count, replace=False)))
    return np.concatenate(train), np.concatenate(validation)


def _tempered_loss(margins: Array, weights: Array) -> float:
    """Return the mean log loss from the margins of all classes over the true one, at the best of four temperatures.

    p = 1 / (1 + sum_k exp(margin of k)) is the closed form of pairwise coupling.  Planes are overconfident on rows
    unlike their training rows.  The temperature corrects for that, so that it does not decide the choice of gamma.
    """
    if not weights.any():
        return 0.0
    return min(
        float(np.average(np.log(np.exp(np.minimum(t * margins, 500.0)).sum(axis=1)), weights=weights))
        for t in _TEMPERATURES
    )
