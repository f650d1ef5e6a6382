"""gamma="auto": a short climb on a ladder of widths, judged by log loss on rows the planes did not see.

Small data: every row is judged by planes trained without it (see `kernels.left_out_near`).  Large data: at most
2,000 of the first two thirds of each class, in the order given, judge by the last third, and the other way
round.  Rows that lie side by side are often of one person, hour or batch; a contiguous part is as new to the
planes as tomorrow's rows will be, a random one is not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import kernels
from .kernels import Array
from .machine import Machine, Settings, judged_rows, learn
from .rows import SMALL, TrainingRows
from .similarity import Kernel, similarity

Judge = Callable[[Kernel, Settings], float]

_FACTOR = 4.0
_LOWEST, _HIGHEST = -2.0, 4.0  # the ends of the ladder, in rungs from the start


def climb(rows: TrainingRows, kernel: str, start: float, settings: Settings, say: Callable[[str], None]) -> float:
    """Return the width with the least loss: rungs a factor of 4 apart, then the halves between."""
    judge = _leave_one_out(rows) if rows.small else _held_out(rows, settings.seed)
    losses: dict[float, float] = {}

    def loss(rung: float) -> float:
        if rung not in losses:
            gamma = start * _FACTOR**rung
            losses[rung] = judge(similarity(kernel, gamma), settings)
            say(f"gamma {gamma:.4g}: log loss {losses[rung]:.4f}")
        return losses[rung]

    best = min((0.0, -1.0, 1.0), key=loss)
    direction = float(np.sign(best))
    while direction and _LOWEST <= best + direction <= _HIGHEST and loss(best + direction) < loss(best):
        best += direction
    best = min((best, max(best - 0.5, _LOWEST), min(best + 0.5, _HIGHEST)), key=loss)
    return float(start * _FACTOR**best)


def _leave_one_out(rows: TrainingRows) -> Judge:
    """Judge a kernel by all rows, each left out in turn."""
    X, everyone = rows.X[rows.index].astype(np.float64), np.ones(rows.n, dtype=bool)

    def judge(kernel: Kernel, settings: Settings) -> float:
        machine = learn(settings, rows.starts, rows.weights, everyone, kernel=kernel(X, X))
        return left_out_loss(machine, rows.starts, rows.weights)

    return judge


def _held_out(rows: TrainingRows, seed: int) -> Judge:
    """Judge a kernel by the last third of the rows and by the first, trained on the others."""
    parts = []
    for last_third in (True, False):
        learned, judged = _split(rows, last_third, seed)
        labels = rows.labels[learned]
        parts.append(
            (
                rows.X[rows.index[learned]].astype(np.float64),
                np.searchsorted(labels, np.arange(rows.n_classes + 1)),
                rows.weights[learned],
                rows.X[rows.index[judged]].astype(np.float64),
                rows.labels[judged],
                rows.weights[judged],
            )
        )

    def judge(kernel: Kernel, settings: Settings) -> float:
        losses = []
        for X, starts, weights, X_judged, labels, judged_weights in parts:
            sampled = judged_rows(starts, np.zeros(len(weights), dtype=bool), settings.seed)
            machine = learn(settings, starts, weights, sampled, kernel=kernel(X, X))
            seen = np.column_stack([kernel(X_judged, X), np.ones(len(labels))])
            chances = machine.decision.probabilities(seen, machine.planes)[np.arange(len(labels)), labels]
            losses.append(np.average(-np.log(np.maximum(chances, 1e-12)), weights=judged_weights))
        return float(np.mean(losses))

    return judge


def _split(rows: TrainingRows, last_third: bool, seed: int) -> tuple[Array, Array]:
    """Sorted rows to learn from and to judge by, at most about SMALL of each and five of every class."""
    random = np.random.default_rng(seed)
    learned, judged = [], []
    for first, last in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        size = int(last - first)
        held = max(1, size // 3) if size > 1 else 0
        block = np.arange(first, last) if last_third else np.arange(first, last)[::-1]
        for chosen, part in ((learned, block[: size - held]), (judged, block[size - held :])):
            count = min(len(part), max(5, round(SMALL * size / rows.n)))
            chosen.append(np.sort(random.choice(part, count, replace=False)))
    return np.concatenate(learned), np.concatenate(judged)


def left_out_loss(machine: Machine, starts: Array, weights: Array) -> float:
    """Mean log loss of the true class, each row judged by planes that were trained without it.

    Only pairs with the row's own class matter: p = 1 / (1 + sum_k exp(margin of k over the own class)), the
    closed form of pairwise coupling.
    """
    solution, decision = machine.solution, machine.decision
    losses = kernels.left_out_losses(
        solution.near, solution.far, starts, decision.learned_offsets, decision.slopes
    )
    return float(np.average(losses, weights=weights))
