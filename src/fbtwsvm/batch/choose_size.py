"""n_components="auto": double the feature map until held-out rows are classified no better."""

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
from .row_homes import MemoryHome
from .solve import solve

_MOST_TRAIN, _MOST_HELD = 8000, 4000  # most rows to train on and to hold out
_WORTH = 1.0  # gain in accuracy, in standard errors, that a larger map must bring


def choose_size(
    rows: TrainingRows,
    settings: Settings,
    make: Callable[[int], Any],
    kernel: str | Kernel,
    sizes: tuple[int, int],
    seed: int,
) -> int:
    """Return the number of features: the smaller of `sizes`, doubled up to the larger while accuracy improves.

    `make` returns the unfitted map of a size.  A larger map must classify more of the held-out rows correctly, by at
    least one standard error of the difference (McNemar's test on the rows on which the two maps disagree).
    """
    train, held_out = _split(rows, seed)
    sample = replace(rows.subset(train), small=False)
    labels, X = rows.labels[held_out], rows.X[rows.index[held_out]]
    settings = replace(settings, decision="value")
    best, largest = sizes
    correct_before = _correct(sample, X, labels, make(best), settings, kernel)
    while best < largest:
        size = min(2 * best, largest)
        if size > sample.n:
            break
        correct = _correct(sample, X, labels, make(size), settings, kernel)
        gained, lost = int((correct & ~correct_before).sum()), int((correct_before & ~correct).sum())
        if gained - lost <= _WORTH * np.sqrt(gained + lost):
            break
        best, correct_before = size, correct
    return best


def _correct(
    sample: TrainingRows, X: Any, labels: Array, transformer: Any, settings: Settings, kernel: str | Kernel
) -> Array:
    """Mark the held-out rows that are classified correctly with a map."""
    threads = Threads(settings.options.n_jobs)
    mapping, data = Mapping.fit(transformer, sample, sample.labels, kernel, threads)
    home = MemoryHome(sample, data, settings.options.n_jobs)
    (solved,) = solve(settings, home, np.zeros(sample.n, dtype=bool), seed=0)
    return np.asarray(solved.rule.winners(mapping.rows(X, threads=threads)) == labels)


def _split(rows: TrainingRows, seed: int) -> tuple[Array, Array]:
    """Return the sorted rows to train on, at least one of each class, and to hold out."""
    random = np.random.default_rng(seed)
    train, held_out = [], []
    for k in range(rows.n_classes):
        first, last = int(rows.starts[k]), int(rows.starts[k + 1])
        shuffled = random.permutation(np.arange(first, last))
        share = (last - first) / rows.n
        n_train = max(1, min(2 * (last - first) // 3, round(_MOST_TRAIN * share)))
        n_held = min(last - first - n_train, round(_MOST_HELD * share))
        train.append(np.sort(shuffled[:n_train]))
        held_out.append(shuffled[n_train : n_train + n_held])
    return np.concatenate(train), np.concatenate(held_out)
