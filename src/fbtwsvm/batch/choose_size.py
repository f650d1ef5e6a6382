"""n_components="auto": double the feature map until held-out rows are classified no better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Array
from .._threads import Threads, one_blas_thread
from ..features.nystroem import NystroemFeatures
from ..model.mapping import Mapping
from ..model.rows import TrainingRows
from .hold_out import sample_rows, shuffled_folds
from .ridge import RIDGE, HeldOut, held_out_hits

_LEAST_ROWS, _ROWS_OF_FEATURE = 3000, 2  # rows of the sample, of which a third is held out
_WORTH = 0.02  # accuracy that a larger map, which takes two to four times as long, must gain
_STANDARD_ERRORS = 2.0  # that the gain must exceed
_ACCURATE = 0.02  # with at most this residual of left-out landmarks, a larger map is not tried


def choose_size(
    rows: TrainingRows,
    make: Callable[[int], Any],
    sizes: tuple[int, int],
    seed: int,
    n_jobs: int | None,
) -> int:
    """Return the number of features: the smaller of `sizes`, doubled up to the larger while accuracy improves.

    `make` returns the unfitted map of a size.  A larger map must gain two points of accuracy on held-out rows, and two
    standard errors (McNemar's test on the rows on which the two maps disagree).  The first features of a random map are
    a smaller map of the same kind, up to the scale of Fourier features, so both are judged on the same mapped rows.
    """
    best, largest = sizes
    if best < largest and _is_accurate(make(best), rows):
        return best
    while best < largest:
        size = min(2 * best, largest)
        if 3 * size > 2 * rows.n:
            break
        random = np.random.default_rng(seed)
        chosen = sample_rows(rows.starts, max(_LEAST_ROWS, _ROWS_OF_FEATURE * size), random)
        sample = rows.subset(chosen, drop_empty=True)
        folds = shuffled_folds(sample.labels, random)
        mapped, landmarks = _mapped(sample.X.astype(np.float32), make(size), random, n_jobs)
        judged = (folds == 0) & ~landmarks
        squares = np.einsum("ij,ij->j", mapped[:, 1:], mapped[:, 1:], dtype=np.float64)
        ridges = {best + 1: RIDGE * squares[:best].sum() / squares.sum(), size + 1: RIDGE}
        with one_blas_thread():
            held_out = HeldOut(np.where(judged, 0, -1), judged)
            hits = held_out_hits(mapped, sample.labels, sample.weights, held_out, ridges)
        gained, lost = int((hits[1] & ~hits[0]).sum()), int((hits[0] & ~hits[1]).sum())
        if gained - lost <= max(_WORTH * judged.sum(), _STANDARD_ERRORS * np.sqrt(gained + lost)):
            break
        best = size
    return best


def _is_accurate(transformer: Any, rows: TrainingRows) -> bool:
    """Whether landmarks explain each other so well that more of them would tell nothing new."""
    mapping = Mapping(transformer, 1.0, rows.X.dtype)
    if not mapping.renewable:
        return False
    transformer.fit(rows.X[rows.index])
    return mapping.expected_residual() <= _ACCURATE


def _mapped(X: Any, transformer: Any, random: np.random.Generator, n_jobs: int | None) -> tuple[Array, Array]:
    """Return the mapped rows, the bias first and then the features in random order, and mark the landmarks."""
    order = random.permutation(X.shape[0])
    transformer.fit(X[order])  # its landmarks keep the order of the rows
    landmarks = np.zeros(X.shape[0], dtype=bool)
    if isinstance(transformer, NystroemFeatures):
        landmarks[order[transformer.landmark_indices_]] = True
    mapping = Mapping(transformer, 1.0, np.dtype(np.float32))
    rows = mapping.rows(X, threads=Threads(n_jobs) if mapping.threaded else None)
    return np.roll(rows, 1, axis=1), landmarks
