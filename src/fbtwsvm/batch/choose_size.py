"""n_components="auto": a feature map that doubles until rows that were held out are classified no better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import Array
from .._threads import Threads
from ..features.kernels import Kernel
from ..model.mapping import Mapping
from ..model.rows import TrainingRows
from ..model.settings import Settings
from .homes import MemoryHome
from .solve import solve

_MOST_TRAIN, _MOST_HELD = 8000, 4000  # rows that a map is tried on
_WORTH = 1.0  # standard errors of the rise in accuracy that a larger map must bring


def choose_size(
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
    sample, labels, X = replace(rows.subset(train), small=False), rows.labels[held], rows.X[rows.index[held]]
    settings = replace(settings, decision="value")
    smallest, largest = sizes
    best, right = smallest, _right(sample, X, labels, make(smallest), settings, kernel)
    while best < largest:
        size = min(2 * best, largest)
        if size > sample.n:
            break
        now = _right(sample, X, labels, make(size), settings, kernel)
        gained, lost = int((now & ~right).sum()), int((right & ~now).sum())
        if gained - lost <= _WORTH * np.sqrt(gained + lost):
            break
        best, right = size, now
    return best


def _right(
    sample: TrainingRows, X: Any, labels: Array, transformer: Any, settings: Settings, kernel: str | Kernel
) -> Array:
    """Which of the held-out rows are classified rightly with a map."""
    threads = Threads(settings.options.n_jobs)
    mapping, data = Mapping.fit(transformer, sample, sample.labels, kernel, threads)
    home = MemoryHome(sample, data, settings.options.n_jobs)
    (solved,) = solve(settings, home, np.zeros(sample.n, dtype=bool), seed=0)
    return np.asarray(solved.rule.winners(mapping.rows(X, threads=threads)) == labels)


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
