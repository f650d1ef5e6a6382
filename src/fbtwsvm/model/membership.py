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
from itertools import pairwise

import numpy as np

from .._arrays import Array, compiled_exactly, tiles
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


@compiled_exactly
def _memberships(distances, labels, farthest, low, high, noisy, usual, shares):
    """Write the memberships (n, n_classes) of rows against every class into `shares`."""
    n, n_classes = distances.shape
    for i in range(n):
        own = labels[i]
        for k in range(n_classes):
            shares[i, k] = membership(
                distances[i, own], distances[i, k], farthest[own], low[own, k], high[own, k], noisy, usual
            )


@dataclass(frozen=True)
class Ranges:
    """The numbers over all rows of a class that the formula needs.

    farthest   (n_classes,): largest squared distance to the mean of the class
    low, high  (n_classes, n_classes): smallest and largest s of a class against an opponent, before rescaling
    noisy      mu, the factor of rows nearer to the mean of the opponent
    usual      1 - mu, the factor of all other rows
    """

    farthest: Array
    low: Array
    high: Array
    noisy: float
    usual: float

    @classmethod
    def unknown(cls, n_classes: int, mu: float) -> Ranges:
        """Return ranges with which every membership is one."""
        zero = np.zeros((n_classes, n_classes))
        return cls(np.zeros(n_classes), zero, zero.copy(), mu, 1.0 - mu)

    def memberships(self, distances: Array, labels: Array) -> Array:
        """Return the memberships (n, n_classes) of rows from their squared distances to all means."""
        shares = np.empty(distances.shape)
        _memberships(distances, labels, self.farthest, self.low, self.high, self.noisy, self.usual, shares)
        return shares


class Extremes:
    """Distances of the nearest and farthest rows of every class, which can be added up piece by piece.

    The smallest and largest membership of a class against an opponent are those of the nearest or farthest row, among
    the noisy rows (nearer to the opponent's mean) or among the others.

    nearest, farthest  (2, n_classes, n_classes): squared distance to the own mean; [noisy or not, class, opponent]
    counts             (n_classes,): number of rows
    """

    def __init__(self, n_classes: int) -> None:
        shape = (2, n_classes, n_classes)
        self.nearest, self.farthest = np.full(shape, np.inf), np.full(shape, -np.inf)
        self.counts = np.zeros(n_classes, dtype=np.int64)

    @classmethod
    def of_class(cls, k: int, distances: Array) -> Extremes:
        """Return the extremes of rows of class k from their squared distances to all means."""
        extremes = cls(distances.shape[1])
        own = distances[:, k, None]
        noisy = own >= distances
        extremes.counts[k] = len(distances)
        for group, chosen in enumerate((noisy, ~noisy)):
            extremes.nearest[group, k] = np.where(chosen, own, np.inf).min(axis=0)
            extremes.farthest[group, k] = np.where(chosen, own, -np.inf).max(axis=0)
        return extremes

    @classmethod
    def of_classes(cls, distances: Array, starts: Array) -> Extremes:
        """Return the extremes of rows that are sorted by class."""
        extremes = cls(distances.shape[1])
        for k, (first, last) in enumerate(pairwise(starts)):
            if first < last:
                one = cls.of_class(k, distances[first:last])
                extremes.counts[k] = one.counts[k]
                extremes.nearest[:, k], extremes.farthest[:, k] = one.nearest[:, k], one.farthest[:, k]
        return extremes

    def __add__(self, other: Extremes) -> Extremes:
        """Return the extremes of the rows of both."""
        both = Extremes(len(self.counts))
        both.nearest, both.farthest = np.minimum(self.nearest, other.nearest), np.maximum(self.farthest, other.farthest)
        both.counts = self.counts + other.counts
        return both

    def ranges(self, mu: float, kind: str, forgotten: tuple[Array, Array, Array] | None = None) -> Ranges:
        """Return the ranges; `kind` is "fuzzy", "printed" (not rescaled) or "none" (all memberships are one).

        `forgotten` holds, for each class, the number of forgotten rows and the squared distances of the nearest and the
        farthest of them.  Which of them were noisy is not known.
        """
        n_classes = len(self.counts)
        ranges = Ranges.unknown(n_classes, mu)
        if kind == "none":
            return ranges
        for k in range(n_classes):
            any_forgotten = forgotten is not None and forgotten[0][k] > 0
            if self.counts[k] == 0 or (not any_forgotten and self.counts[k] <= 2):
                continue  # one or two rows are equally far from their mean
            farthest = self.farthest[:, k].max()
            if forgotten is not None and any_forgotten:
                farthest = max(farthest, forgotten[2][k])
            shares = np.array([mu, 1.0 - mu])[:, None]
            present = np.isfinite(self.nearest[:, k])
            least = shares * _closeness(np.where(present, self.farthest[:, k], 0.0), farthest)
            most = shares * _closeness(np.where(present, self.nearest[:, k], 0.0), farthest)
            low, high = np.where(present, least, np.inf).min(axis=0), np.where(present, most, -np.inf).max(axis=0)
            if forgotten is not None and any_forgotten:
                low = np.minimum(low, min(mu, 1.0 - mu) * _closeness(forgotten[2][k], farthest))
                high = np.maximum(high, max(mu, 1.0 - mu) * _closeness(forgotten[1][k], farthest))
            ranges.farthest[k] = farthest
            if kind == "printed":
                constant = high - low <= 1e-9 * np.maximum(high, _SMALLEST)
                low, high = np.zeros(n_classes), np.where(constant, 0.0, 1.0)
            ranges.low[k], ranges.high[k] = low, high
        return ranges


def _closeness(squares: Array, farthest: float) -> Array:
    """Return 1 - r / R from squared distances."""
    return np.asarray(1.0 - np.sqrt(squares / (farthest + _DELTA)))
