"""Find the support rows of a fit in one pass over its rows, and choose some that a stream continues from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .._arrays import Array
from ..solver._descent_loops import free_duals
from ..solver.row_reader import Boxes, MappedRows, Tiles

LEAST_DUAL = 1e-9  # times C w: the membership of the farthest row is almost zero, and a dual at such a bound is none
_CANDIDATES = 20  # for each support row that is kept, so many are compared

Duals = Callable[[MappedRows], Array]


@dataclass(frozen=True)
class GivenDuals:
    """Duals that are held for all rows: (n, n_classes)."""

    alpha: Array

    def __call__(self, rows: MappedRows) -> Array:
        """Return the duals of rows."""
        return np.asarray(self.alpha[rows.numbers], dtype=np.float64)


@dataclass(frozen=True)
class Search:
    """What is looked for: duals and boxes of the rows, the least C, and how many rows of a class to compare.

    with_numbers  whether the numbers of all support rows are returned
    """

    duals: Duals
    boxes: Boxes
    C: float
    n_classes: int
    memory: int | None
    seed: int
    with_numbers: bool


@dataclass
class Support:
    """The rows of a fit that have duals.

    counts      (n_classes,): support rows of each class, with a dual above zero but for rounding
    pushing     (n_classes,): rows with any dual above zero
    numbers     numbers of the support rows; empty if they were not asked for
    candidates  (m, 2): numbers of rows with a dual, and a random priority that only depends on the number and the seed
    free        (m,): sum of their duals that are between their bounds
    labels      (m,): their classes
    most        most candidates of a class; None keeps all
    """

    counts: Array
    pushing: Array
    numbers: Array
    candidates: Array
    free: Array
    labels: Array
    most: int | None

    def __add__(self, other: Support) -> Support:
        numbers = np.concatenate([self.numbers, other.numbers])
        candidates = np.concatenate([self.candidates, other.candidates])
        free, labels = np.concatenate([self.free, other.free]), np.concatenate([self.labels, other.labels])
        chosen = _lowest(candidates[:, 1], labels, self.most)
        return Support(
            self.counts + other.counts,
            self.pushing + other.pushing,
            numbers,
            candidates[chosen],
            free[chosen],
            labels[chosen],
            self.most,
        )

    def chosen(self, memory: int | None) -> Array:
        """Return the numbers, sorted, of at most `memory` rows of each class: those with the largest free duals."""
        order = np.lexsort((self.candidates[:, 0], -self.free, self.labels))
        rank = np.arange(len(order)) - np.searchsorted(self.labels[order], self.labels[order])
        kept = order if memory is None else order[rank < memory]
        return np.sort(self.candidates[kept, 0].astype(np.int64))


def find_support(tiles: Tiles, search: Search) -> Support:
    """Look through some rows for those with duals."""
    most = None if search.memory is None else _CANDIDATES * search.memory
    nothing, none = np.zeros(search.n_classes, dtype=np.int64), np.empty(0, dtype=np.int64)
    total = Support(nothing, nothing, none, np.empty((0, 2), np.uint64), np.empty(0), none, most)
    for tile in tiles:
        every = tile.each_number
        duals = search.duals(tile)
        largest = duals.max(axis=1)
        is_support = largest > LEAST_DUAL * search.C * tile.weights
        pushing = np.flatnonzero(largest > 0)
        counts, pushing_counts = nothing.copy(), nothing.copy()
        counts[tile.label], pushing_counts[tile.label] = is_support.sum(), len(pushing)
        priority = _hashed(every[pushing], search.seed)
        lowest = _lowest(priority, tile.labels[pushing], most)
        some = pushing[lowest]
        own, box = duals[some], search.boxes(tile.take(some))
        total = total + Support(
            counts,
            pushing_counts,
            every[is_support] if search.with_numbers else none,
            np.column_stack([every[some].astype(np.uint64), priority[lowest]]),
            np.where(free_duals(own, box), own, 0.0).sum(axis=1),
            tile.labels[some],
            most,
        )
    return total


def _lowest(priority: Array, labels: Array, most: int | None) -> Array:
    """Return the places of the rows with the lowest priorities: at most so many of each class."""
    if most is None or len(labels) <= most:
        return np.arange(len(labels))
    order = np.lexsort((priority, labels))
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    kept = [order[first:last][:most] for first, last in pairwise([*starts.tolist(), len(order)])]
    return np.sort(np.concatenate(kept))


def _hashed(numbers: Array, seed: int) -> Array:
    """Return a random number for each row number (SplitMix64), the same wherever it is computed."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))
