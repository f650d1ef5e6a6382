"""Find rows that were made by interpolation between two others of their class, as SMOTE makes them.

Held out, such a row is found again from the rows that it was made of, which makes narrow kernels look better than they
are for new rows.  It tells nothing that these rows do not tell, so gamma is chosen without it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.spatial.distance import cdist

from .._arrays import Array, tiles
from .._log import LOG
from ..model.rows import TrainingRows

_LEAST_ROWS, _LEAST_COLUMNS = 50, 3  # classes with fewer rows, and data with fewer columns, are not looked at
_MOST_ROWS = 20_000  # beyond this, a sample holds few rows that were made of each other
_PROBES = 40  # rows of a class that are looked at first
_MANY = 0.5  # share of the probes that must be interpolated for all rows of the class to be looked at
_NEIGHBOURS = 50  # nearest rows among which the two others are looked for
_OPPOSITE = -1.0 + 1e-4  # cosine of the directions to two rows that lie on opposite sides
_TILE = 64  # rows looked at together


def without_interpolated(rows: TrainingRows, seed: int) -> TrainingRows:
    """Return the rows without those that were interpolated; what is left of a class has the weight that it had."""
    if rows.n > _MOST_ROWS or rows.X.shape[1] < _LEAST_COLUMNS or not isinstance(rows.X, np.ndarray):
        return rows
    random = np.random.default_rng(seed)
    stays, factors = np.ones(rows.n, dtype=bool), np.ones(rows.n)
    for first, last in pairwise(rows.starts):
        if last - first < _LEAST_ROWS:
            continue
        own = rows.X[rows.index[first:last]].astype(np.float64)
        probes = random.choice(len(own), min(_PROBES, len(own)), replace=False)
        if _interpolated(own, probes).mean() < _MANY:
            continue
        made = _interpolated(own, np.arange(len(own)))
        weights = rows.weights[first:last]
        if (~made).sum() >= _PROBES // 4:  # otherwise the rows lie along a line
            stays[first:last] = ~made
            factors[first:last] = weights.sum() / weights[~made].sum()
    if stays.all():
        return rows
    LOG.info("gamma: chosen without %d rows that lie between two others of their class", int((~stays).sum()))
    kept = rows.subset(np.flatnonzero(stays))
    return replace(kept, weights=kept.weights * factors[stays], given_weights=kept.weights * factors[stays])


def _interpolated(X: Array, numbers: Array) -> Array:
    """Mark which of the numbered rows lie on the line between two of their nearest rows."""
    count = min(_NEIGHBOURS, len(X) - 1)
    found = np.zeros(len(numbers), dtype=bool)
    for part in tiles(0, len(numbers), _TILE):
        own = X[numbers[part]]
        distances = cdist(own, X, "sqeuclidean")
        distances[distances <= 1e-12 * np.median(distances)] = np.inf  # the row itself, and its copies
        near = np.argpartition(distances, count - 1, axis=1)[:, :count]
        length = np.sqrt(np.take_along_axis(distances, near, axis=1))[:, :, None]
        directions = (X[near] - own[:, None]) / length
        found[part] = (directions @ directions.transpose(0, 2, 1)).min(axis=(1, 2)) < _OPPOSITE
    return found
