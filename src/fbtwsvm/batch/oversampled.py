"""Find rows that were made of others of their class: by interpolation, as SMOTE makes them, or by copying with noise.

Held out, such a row is found again from the rows that it was made of, which makes narrow kernels look better than they
are for new rows.  It tells nothing that these rows do not tell, so gamma is chosen without it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from .._arrays import Array, tiles
from .._log import LOG
from ..model.rows import TrainingRows

_LEAST_ROWS, _LEAST_COLUMNS = 50, 3  # classes with fewer rows, and data with fewer columns, are not looked at
_MOST_ROWS = 20_000  # beyond this, a sample holds few rows that were made of each other
_PROBES = 40  # rows of a class that are looked at first
_MANY, _FEW = 0.5, 0.1  # shares of the probes of a class that are made of others, if the class is oversampled or not
_NEIGHBOURS = 50  # nearest rows among which the others are looked for
_OPPOSITE = -1.0 + 1e-7  # cosine of the directions to two rows that lie on opposite sides, but for rounding
_NEAR = 0.05  # times the distance of the 50th neighbour: a copy with noise is nearer than this
_DISTINCT = 0.3  # share of the rows that have values of their own in a column that is not discrete
_TILE = 64  # rows looked at together


class _Made(NamedTuple):
    """Which rows of a class lie between two others, and which are near copies of a row before them."""

    between: Array
    copies: Array


def without_oversampled(rows: TrainingRows, seed: int) -> TrainingRows:
    """Return the rows without those that were made of others; what is left of a class has the weight that it had.

    Interpolated rows are looked for in every class.  Near copies may be in the nature of data, such as pictures of one
    thing: classes with many of them are taken for oversampled if there are others, which all have hardly any.
    """
    if rows.n > _MOST_ROWS or rows.X.shape[1] < _LEAST_COLUMNS or not isinstance(rows.X, np.ndarray):
        return rows
    random = np.random.default_rng(seed)
    classes, shares = [], []
    for first, last in pairwise(rows.starts):
        own = rows.X[rows.index[first:last]].astype(np.float64)
        if len(own) >= _LEAST_ROWS and not _is_discrete(own):
            found = _made(own, random.choice(len(own), min(_PROBES, len(own)), replace=False), earlier=False)
            classes.append((int(first), own))
            shares.append([found.between.mean(), found.copies.mean()])
    if not classes:
        return rows
    between, copies = np.array(shares).T
    two_kinds = ((copies >= _MANY) | (copies <= _FEW)).all() and (copies <= _FEW).any()
    copied = (copies >= _MANY) & two_kinds
    stays, factors = np.ones(rows.n, dtype=bool), np.ones(rows.n)
    for (first, own), use_between, use_copies in zip(classes, between >= _MANY, copied, strict=True):
        if not (use_between or use_copies):
            continue
        found = _made(own, np.arange(len(own)), earlier=True)
        made = (found.between & use_between) | (found.copies & use_copies)
        block = slice(first, first + len(own))
        if (~made).sum() >= _PROBES // 4:  # otherwise the rows lie along a line, and it is no interpolation
            weights = rows.weights[block]
            stays[block] = ~made
            factors[block] = weights.sum() / weights[~made].sum()
    if stays.all():
        return rows
    LOG.info("gamma: chosen without %d rows that were made of others of their class", int((~stays).sum()))
    kept = rows.subset(np.flatnonzero(stays))
    return replace(kept, weights=kept.weights * factors[stays], given_weights=kept.weights * factors[stays])


def _is_discrete(X: Array) -> bool:
    """Whether nearly all columns have few values: rows then lie between others, or near them, by the grid of values."""
    distinct = [len(np.unique(column)) for column in X.T]
    return int((np.array(distinct) >= _DISTINCT * len(X)).sum()) < _LEAST_COLUMNS


def _made(X: Array, numbers: Array, *, earlier: bool) -> _Made:
    """Look at the numbered rows; with `earlier`, the first of several near copies counts as the original."""
    count = min(_NEIGHBOURS, len(X) - 1)
    between, copies = np.zeros((2, len(numbers)), dtype=bool)
    for part in tiles(0, len(numbers), _TILE):
        own = X[numbers[part]]
        distances = cdist(own, X, "sqeuclidean")
        distances[distances <= 1e-12 * np.median(distances)] = np.inf  # the row itself, and its copies
        near = np.argpartition(distances, count - 1, axis=1)[:, :count]
        squares = np.take_along_axis(distances, near, axis=1)
        directions = (X[near] - own[:, None]) / np.sqrt(squares)[:, :, None]
        between[part] = (directions @ directions.transpose(0, 2, 1)).min(axis=(1, 2)) < _OPPOSITE
        farthest = squares.max(axis=1, keepdims=True)
        is_copy = (squares < _NEAR**2 * farthest) & np.isfinite(farthest)
        if earlier:
            is_copy &= near < numbers[part][:, None]
        copies[part] = is_copy.any(axis=1)
    return _Made(between, copies)
