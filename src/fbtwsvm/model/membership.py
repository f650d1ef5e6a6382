"""Fuzzy memberships: how much a row counts against each opponent.

With r_i the distance of row i to the mean of its class in the mapped space, q_i the distance to the mean of the
opponent and R the largest r of the class (paper, section on fuzzy membership):

    t_i = 1 - r_i / R          s_i = mu t_i       if r_i >= q_i (a noisy row)
                               s_i = (1-mu) t_i   otherwise

The published code then rescales s to (0, 1] for each class and opponent.  So do we, except for membership="printed".
`membership` is the formula for one row and opponent.  It needs `Ranges` over all rows of a class; these follow from
`Extremes`, which can be computed piece by piece.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, compiled, compiled_exactly, tiles
from .._namespace import dtype_name, like, namespace
from .._threads import Threads, each_in

_TILE = 1024  # rows per product
_DELTA = 1e-10  # keeps R away from zero
_SMALLEST = float(np.finfo(np.float64).eps)  # smallest rescaled membership, as in the published code


def distances_to_means(rows: Array, means: Array, threads: Threads | None = None) -> Array:
    """Return the squared distances (n, n_classes) of rows to the class means; the bias column cancels."""
    centre = means.mean(axis=0)
    shifted = (means - centre).astype(rows.dtype)
    mean_norms = np.einsum("ij,ij->i", means - centre, means - centre)
    distances = np.empty((len(rows), len(means)))

    def look(part: slice) -> None:
        tile = rows[part] - centre.astype(rows.dtype)
        norms = np.einsum("ij,ij->i", tile, tile)[:, None].astype(np.float64)
        products = (tile @ shifted.T).astype(np.float64)
        distances[part] = clean(norms - 2.0 * products + mean_norms, norms + mean_norms, rows.dtype)

    each_in(threads, look, tiles(0, len(rows), _TILE))
    return distances


def distances_to_own_mean(rows: Array, labels: Array, means: Array) -> Array:
    """Return the squared distance (n,) of each row to the mean of its class, like `distances_to_means`."""
    distances = np.empty(len(rows))
    _own_mean_distances(rows, labels, means, means.mean(axis=0), 16.0 * np.finfo(rows.dtype).eps, distances)
    return distances


@compiled
def _own_mean_distances(rows, labels, means, centre, rounding, distances):
    """Write the distances of rows to their own means into `distances`; rounding errors become zero, as in `clean`."""
    for i in range(rows.shape[0]):
        square, size = 0.0, 0.0
        mean = means[labels[i]]
        for k in range(rows.shape[1]):
            value, middle = rows[i, k] - centre[k], mean[k] - centre[k]
            square += (value - middle) * (value - middle)
            size += value * value + middle * middle
        distances[i] = 0.0 if square < rounding * size else square


def distances_from_kernel(kernel: Array, weights: Array, starts: Array) -> Array:
    """Return the squared distances (n, n_classes) of rows to the class means, from inner products alone."""
    n_classes = len(starts) - 1
    average = np.zeros((len(kernel), n_classes))
    for k in range(n_classes):
        block = slice(starts[k], starts[k + 1])
        average[block, k] = weights[block] / weights[block].sum()
    products = kernel.astype(np.float64) @ average
    mean_norms = np.einsum("ik,ik->k", average, products)
    norms = np.diag(kernel).astype(np.float64)[:, None]
    return clean(norms - 2.0 * products + mean_norms, norms + mean_norms, kernel.dtype)


def clean(distances: Array, sizes: Array, dtype: np.dtype) -> Array:
    """Set distances that are only rounding errors of their terms to zero: rescaling would magnify them."""
    distances[distances < 16.0 * np.finfo(dtype).eps * sizes] = 0.0
    return distances


@compiled_exactly
def membership(own, other, farthest, low, high, noisy, usual):
    """Return the membership of one row against one opponent, from its squared distances to both means.

    `farthest` is the largest squared distance of its class.  `low` and `high` are the smallest and largest s of the
    class against this opponent before rescaling; 0 and 1 give the formula as printed, equal values give a membership
    of one.  `noisy` and `usual` are mu and 1 - mu.
    """
    if high - low <= 1e-9 * max(high, _SMALLEST):
        return 1.0
    share = noisy if own >= other else usual
    closeness = 1.0 - np.sqrt(min(own / (farthest + _DELTA), 1.0))
    if low == 0.0 and high == 1.0:
        return share * closeness
    return min(1.0, max(0.0, _SMALLEST + (1.0 - _SMALLEST) * (share * closeness - low) / (high - low)))


def memberships_on_device(own: Any, others: Any, k: int, ranges: Ranges) -> Any:
    """Return what `membership` does for all rows of class k on a device: (n, n_opponents)."""
    xp = namespace(others)
    low, high = (like(part[k], others, dtype_name(others)) for part in (ranges.low, ranges.high))
    constant = like(ranges.high[k] - ranges.low[k] <= 1e-9 * np.maximum(ranges.high[k], _SMALLEST), others)
    share = xp.where(own[:, None] >= others, xp.full_like(others, ranges.noisy), xp.full_like(others, ranges.usual))
    part = share * (1.0 - xp.sqrt(xp.clip(own / (float(ranges.farthest[k]) + _DELTA), 0.0, 1.0)))[:, None]
    printed = like((ranges.low[k] == 0.0) & (ranges.high[k] == 1.0), others)
    spread = xp.where(constant, xp.ones_like(high), high - low)
    rescaled = xp.clip(_SMALLEST + (1.0 - _SMALLEST) * (part - low) / spread, 0.0, 1.0)
    return xp.where(constant, xp.ones_like(part), xp.where(printed, part, rescaled))


@compiled_exactly
def _memberships(own, others, labels, farthest, low, high, noisy, usual, shares):  # noqa: PLR0917
    """Write the memberships (n, n_opponents) of rows against opponents into `shares`."""
    for i in range(others.shape[0]):
        k = labels[i]
        for a in range(others.shape[1]):
            shares[i, a] = membership(own[i], others[i, a], farthest[k], low[k, a], high[k, a], noisy, usual)


@dataclass(frozen=True)
class Ranges:
    """The numbers over all rows of a class that the formula needs.

    farthest   (n_classes,): largest squared distance to the mean of the class
    low, high  (n_classes, n_opponents): smallest and largest s of a class against an opponent, before rescaling
    noisy      mu, the factor of rows nearer to the mean of the opponent
    usual      1 - mu, the factor of all other rows
    """

    farthest: Array
    low: Array
    high: Array
    noisy: float
    usual: float

    @classmethod
    def unknown(cls, n_classes: int, mu: float, n_opponents: int | None = None) -> Ranges:
        """Return ranges with which every membership is one; `n_opponents` of None means all classes."""
        zero = np.zeros((n_classes, n_classes if n_opponents is None else n_opponents))
        return cls(np.zeros(n_classes), zero, zero.copy(), mu, 1.0 - mu)

    def memberships(self, distances: Array, labels: Array, own: Array | None = None) -> Array:
        """Return the memberships (n, n_opponents) of rows from their squared distances to the means of the opponents.

        `own` are the distances to the means of their own classes; None if the opponents are all classes in order.
        """
        shares = np.empty(distances.shape)
        own = _own_distances(distances, labels) if own is None else own
        _memberships(own, distances, labels, self.farthest, self.low, self.high, self.noisy, self.usual, shares)
        return shares


class Extremes:
    """Distances of the nearest and farthest rows of every class, which can be added up piece by piece.

    The smallest and largest membership of a class against an opponent are those of the nearest or farthest row, among
    the noisy rows (nearer to the opponent's mean) or among the others.

    nearest, farthest  (2, n_classes, n_opponents): squared distance to the own mean; [noisy or not, class, opponent]
    counts             (n_classes,): number of rows
    """

    def __init__(self, n_classes: int, n_opponents: int | None = None) -> None:
        shape = (2, n_classes, n_classes if n_opponents is None else n_opponents)
        self.nearest, self.farthest = np.full(shape, np.inf), np.full(shape, -np.inf)
        self.counts = np.zeros(n_classes, dtype=np.int64)

    @classmethod
    def of_class(cls, k: int, distances: Array) -> Extremes:
        """Return the extremes of rows of class k from their squared distances to all means."""
        sizes = np.zeros(distances.shape[1], dtype=np.int64)
        sizes[k] = len(distances)
        return cls.of_classes(distances, np.concatenate([[0], np.cumsum(sizes)]))

    @classmethod
    def of_classes(cls, distances: Array, starts: Array, own: Array | None = None) -> Extremes:
        """Return the extremes of rows that are sorted by class.

        `distances` are those to the means of the opponents, `own` those to the mean of the row's own class; None if
        the opponents are all classes in order.
        """
        counts = np.diff(starts)
        extremes = cls(len(counts), distances.shape[1])
        extremes.counts[:] = counts
        if len(distances):
            if own is None:
                own = _own_distances(distances, np.repeat(np.arange(len(counts)), counts))
            present = np.flatnonzero(counts)
            noisy = own[:, None] >= distances
            for group, chosen in enumerate((noisy, ~noisy)):
                nearest, farthest = np.where(chosen, own[:, None], np.inf), np.where(chosen, own[:, None], -np.inf)
                extremes.nearest[group, present] = np.minimum.reduceat(nearest, starts[present])
                extremes.farthest[group, present] = np.maximum.reduceat(farthest, starts[present])
        return extremes

    def __add__(self, other: Extremes) -> Extremes:
        """Return the extremes of the rows of both."""
        both = Extremes(len(self.counts), self.nearest.shape[2])
        both.nearest, both.farthest = np.minimum(self.nearest, other.nearest), np.maximum(self.farthest, other.farthest)
        both.counts = self.counts + other.counts
        return both

    def ranges(self, mu: float, kind: str, forgotten: tuple[Array, Array, Array] | None = None) -> Ranges:
        """Return the ranges; `kind` is "fuzzy", "printed" (not rescaled) or "none" (all memberships are one).

        `forgotten` holds, for each class, the number of forgotten rows and the squared distances of the nearest and the
        farthest of them.  Which of them were noisy is not known.
        """
        n_classes, n_opponents = self.nearest.shape[1:]
        ranges = Ranges.unknown(n_classes, mu, n_opponents)
        if kind == "none" or not n_opponents:
            return ranges
        none = np.zeros(n_classes)
        n_forgotten, nearest, farthest = (none, none, none) if forgotten is None else forgotten
        any_forgotten = n_forgotten > 0
        known = (self.counts > 0) & (any_forgotten | (self.counts > 2))  # one or two are equally far from their mean
        largest = np.maximum(self.farthest.max(axis=(0, 2)), np.where(any_forgotten, farthest, 0.0))
        largest = np.where(known, largest, 0.0)
        shares = np.array([mu, 1.0 - mu])[:, None, None]
        present = np.isfinite(self.nearest)
        least = shares * _closeness(np.where(present, self.farthest, 0.0), largest[:, None])
        most = shares * _closeness(np.where(present, self.nearest, 0.0), largest[:, None])
        low, high = np.where(present, least, np.inf).min(axis=0), np.where(present, most, -np.inf).max(axis=0)
        lowest = min(mu, 1.0 - mu) * _closeness(np.where(any_forgotten, farthest, 0.0), largest)
        highest = max(mu, 1.0 - mu) * _closeness(np.where(any_forgotten, nearest, 0.0), largest)
        low = np.where(any_forgotten[:, None], np.minimum(low, lowest[:, None]), low)
        high = np.where(any_forgotten[:, None], np.maximum(high, highest[:, None]), high)
        if kind == "printed":
            constant = high - low <= 1e-9 * np.maximum(high, _SMALLEST)
            low, high = np.zeros_like(low), np.where(constant, 0.0, 1.0)
        ranges.farthest[:] = largest
        ranges.low[known], ranges.high[known] = low[known], high[known]
        return ranges


def _own_distances(distances: Array, labels: Array) -> Array:
    """Return the distance of each row to the mean of its own class."""
    own: Array = distances[np.arange(len(labels)), labels]
    return own


def _closeness(squares: Array, farthest: Array) -> Array:
    """Return 1 - r / R from squared distances."""
    with np.errstate(invalid="ignore"):  # classes without rows
        return np.asarray(1.0 - np.sqrt(squares / (farthest + _DELTA)))
