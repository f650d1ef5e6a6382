"""n_components="auto": a feature map that doubles until rows that were held out are classified no better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import Array
from ..features.kernels import Kernel
from ..model.decision import PairRule
from ..model.mapping import Mapping
from ..model.rows import TrainingRows
from ..model.settings import Settings
from .machine import learn

_MOST_TRAIN, _MOST_HELD = 8000, 4000  # rows that a map is tried on
_WORTH = 1.0  # standard errors of the rise in accuracy that a larger map must bring


def grow(
    rows: TrainingRows,
    settings: Settings,
    make: Callable[[int], Any],
    kernel: str | Kernel,
    sizes: tuple[int, int],
    seed: int,
) -> int:
    """Return the number of features: from the smaller of `sizes` on doubled, up to the larger, while it pays.

    `make` returns the unfitted map of a size.  A larger map must be right on so many more of the held-out rows that it
    is hardly by chance: one standard error, by McNemar's count of the rows on which the two disagree.
    """
    train, held = _split(rows, seed)
    sample = _part(rows, train)
    labels = rows.labels[held]
    settings = replace(settings, decision="value")
    smallest, largest = sizes
    best, right = smallest, _right(sample, rows.X[rows.index[held]], labels, make(smallest), settings, kernel)
    while best < largest:
        size = min(2 * best, largest)
        if size > sample.n:
            break
        now = _right(sample, rows.X[rows.index[held]], labels, make(size), settings, kernel)
        gained, lost = int((now & ~right).sum()), int((right & ~now).sum())
        if gained - lost <= _WORTH * np.sqrt(gained + lost):
            break
        best, right = size, now
    return best


def _right(
    sample: TrainingRows, X: Any, labels: Array, transformer: Any, settings: Settings, kernel: str | Kernel
) -> Array:
    """Which of the held-out rows are classified rightly with a map."""
    y = np.repeat(np.arange(sample.n_classes), np.diff(sample.starts))
    mapping, data = Mapping.fit(transformer, sample, y, kernel, settings.n_jobs)
    nobody = np.zeros(sample.n, dtype=bool)
    machine = learn(settings, data, sample.starts, sample.weights, nobody, exact=False)
    rule = PairRule(machine.decision, machine.solution.planes)
    winners = rule.winners(mapping.rows(X, threads=(settings.n_jobs,)))
    return np.asarray(winners == labels)


def _split(rows: TrainingRows, seed: int) -> tuple[Array, Array]:
    """Sorted rows to learn from and to hold out: of each class a part, at least one row to learn from."""
    random = np.random.default_rng(seed)
    train, held = [], []
    for k in range(rows.n_classes):
        first, last = int(rows.starts[k]), int(rows.starts[k + 1])
        shuffled = random.permutation(np.arange(first, last))
        share = (last - first) / rows.n
        n_train = max(1, min(2 * (last - first) // 3, round(_MOST_TRAIN * share)))
        n_held = min(last - first - n_train, round(_MOST_HELD * share))
        train.append(np.sort(shuffled[:n_train]))
        held.append(shuffled[n_train : n_train + n_held])
    return np.concatenate(train), np.concatenate(held)


def _part(rows: TrainingRows, chosen: Array) -> TrainingRows:
    """Return some of the sorted rows, as training rows of their own."""
    index = rows.index[chosen]
    return TrainingRows(
        X=rows.X[index],
        index=np.arange(len(index)),
        weights=rows.weights[chosen],
        starts=np.searchsorted(chosen, rows.starts),
        source=np.arange(len(index)),
        given_weights=rows.weights[chosen],
        small=False,
    )
