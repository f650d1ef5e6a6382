"""Fuzzy memberships: how much a row is to be believed, seen from each opponent.

With the class centres c in the mapped space, r_i the distance of row i to its own centre, q_i the
distance to the opponent's and R the largest r of the class (paper, section on fuzzy membership):

    t_i = 1 - r_i / R          s_i = mu t_i       if r_i >= q_i (a noisy row)
                               s_i = (1-mu) t_i   otherwise

The published code then rescales s to (0, 1] within each class and pair, and so do we unless the
formula is wanted as printed.  `membership` is the formula, for one row and opponent; what it must know of all rows of
a class, the `Ranges`, comes from `Extremes`, which can be found piece by piece.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .._arrays import Array, compiled_exactly, tiles
from .._threads import Threads, each_in

_TILE = 1024  # rows looked at in one go
_DELTA = 1e-10  # keeps R away from zero
_SMALLEST = float(np.finfo(np.float64).eps)  # the lower end of the published code's (0, 1]


def distances_to_means(rows: Array, means: Array, threads: Threads | None = None) -> Array:
    """Squared distances of rows to the class means, in tiles and threads; the bias column cancels."""
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
    """Squared distances of rows to the class means, from inner products alone."""
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
    """Set distances that are nothing but the rounding of their terms to zero: rescaling would blow them up."""
    distances[distances < 16.0 * np.finfo(dtype).eps * sizes] = 0.0
    return distances


@compiled_exactly
def membership(own, other, farthest, low, high, noisy, usual):
    """Membership of one row against one opponent, from its squared distances to both centres.

    `farthest` is the largest squared distance of its class, `low` and `high` the smallest and largest t mu of the
    class against this opponent; a `low` of zero and a `high` of one leave the formula as printed, equal ones make it
    one.  `noisy` and `usual` are mu and 1 - mu.
    """
    if high - low <= 1e-9 * max(high, _SMALLEST):
        return 1.0
    share = noisy if own >= other else usual
    closeness = 1.0 - np.sqrt(min(own / (farthest + _DELTA), 1.0))
    if low == 0.0 and high == 1.0:
        return share * closeness
    return min(1.0, max(0.0, _SMALLEST + (1.0 - _SMALLEST) * (share * closeness - low) / (high - low)))


@compiled_exactly
def _memberships(distances, labels, farthest, low, high, noisy, usual):
    """Memberships of rows (n, n_classes) against every class."""
    n, n_classes = distances.shape
    shares = np.empty((n, n_classes))
    for i in range(n):
        own = labels[i]
        for k in range(n_classes):
            shares[i, k] = membership(
                distances[i, own], distances[i, k], farthest[own], low[own, k], high[own, k], noisy, usual
            )
    return shares


@dataclass(frozen=True)
class Ranges:
    """What the formula must know of all rows of each class.

    farthest   (n_classes,): largest squared distance to the own centre
    low, high  (n_classes, n_classes): smallest and largest t mu of a class against an opponent
    noisy      mu, the share of rows nearer to the other centre; `usual` is that of the others
    """

    farthest: Array
    low: Array
    high: Array
    noisy: float
    usual: float

    @classmethod
    def unknown(cls, n_classes: int, mu: float) -> Ranges:
        """Nothing is known: every row counts fully."""
        zero = np.zeros((n_classes, n_classes))
        return cls(np.zeros(n_classes), zero, zero.copy(), mu, 1.0 - mu)

    def memberships(self, distances: Array, labels: Array) -> Array:
        """Memberships (n, n_classes) of rows of these classes, given their squared distances to all centres."""
        shares: Array = _memberships(distances, labels, self.farthest, self.low, self.high, self.noisy, self.usual)
        return shares


class Extremes:
    """Nearest and farthest rows of every class, against every opponent, found piece by piece.

    The smallest and the largest membership of a class against an opponent are those of its nearest or farthest row,
    among the noisy rows or among the others.

    nearest, farthest  (2, n_classes, n_classes): squared distances; noisy rows and others, own class, opponent
    counts             (n_classes,): rows
    """

    def __init__(self, n_classes: int) -> None:
        shape = (2, n_classes, n_classes)
        self.nearest, self.farthest = np.full(shape, np.inf), np.full(shape, -np.inf)
        self.counts = np.zeros(n_classes, dtype=np.int64)

    @classmethod
    def of_class(cls, k: int, distances: Array) -> Extremes:
        """Extremes of rows of class k, given their squared distances to all centres."""
        found = cls(distances.shape[1])
        own = distances[:, k, None]
        noisy = own >= distances
        found.counts[k] = len(distances)
        for group, chosen in enumerate((noisy, ~noisy)):
            found.nearest[group, k] = np.where(chosen, own, np.inf).min(axis=0)
            found.farthest[group, k] = np.where(chosen, own, -np.inf).max(axis=0)
        return found

    @classmethod
    def of_classes(cls, distances: Array, starts: Array) -> Extremes:
        """Extremes of rows that are sorted by class."""
        found = cls(distances.shape[1])
        for k, (first, last) in enumerate(pairwise(starts)):
            if first < last:
                one = cls.of_class(k, distances[first:last])
                found.counts[k] = one.counts[k]
                found.nearest[:, k], found.farthest[:, k] = one.nearest[:, k], one.farthest[:, k]
        return found

    def __add__(self, other: Extremes) -> Extremes:
        """Extremes of the rows of both."""
        both = Extremes(len(self.counts))
        both.nearest, both.farthest = np.minimum(self.nearest, other.nearest), np.maximum(self.farthest, other.farthest)
        both.counts = self.counts + other.counts
        return both

    def ranges(self, mu: float, kind: str, gone: tuple[Array, Array, Array] | None = None) -> Ranges:
        """Return what the formula needs; `kind` is "fuzzy", "printed" (not rescaled) or "none" (all ones).

        `gone` are counts, and squared distances of the nearest and the farthest row, of rows of each class that are
        not here any more: which of them were noisy is not known.
        """
        n_classes = len(self.counts)
        found = Ranges.unknown(n_classes, mu)
        if kind == "none":
            return found
        for k in range(n_classes):
            there = gone is not None and gone[0][k] > 0
            if self.counts[k] == 0 or (not there and self.counts[k] <= 2):
                continue  # one or two rows are all equally far from their own mean
            farthest = self.farthest[:, k].max()
            if gone is not None and there:
                farthest = max(farthest, gone[2][k])
            shares = np.array([mu, 1.0 - mu])[:, None]
            seen = np.isfinite(self.nearest[:, k])
            least = shares * _closeness(np.where(seen, self.farthest[:, k], 0.0), farthest)
            most = shares * _closeness(np.where(seen, self.nearest[:, k], 0.0), farthest)
            low, high = np.where(seen, least, np.inf).min(axis=0), np.where(seen, most, -np.inf).max(axis=0)
            if gone is not None and there:
                low = np.minimum(low, min(mu, 1.0 - mu) * _closeness(gone[2][k], farthest))
                high = np.maximum(high, max(mu, 1.0 - mu) * _closeness(gone[1][k], farthest))
            found.farthest[k] = farthest
            if kind == "printed":
                constant = high - low <= 1e-9 * np.maximum(high, _SMALLEST)
                low, high = np.zeros(n_classes), np.where(constant, 0.0, 1.0)
            found.low[k], found.high[k] = low, high
        return found


def _closeness(squares: Array, farthest: float) -> Array:
    """1 - r / R from squared distances."""
    return np.asarray(1.0 - np.sqrt(squares / (farthest + _DELTA)))
