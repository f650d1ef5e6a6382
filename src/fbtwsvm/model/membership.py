"""Fuzzy memberships: how much a row is to be believed, seen from each opponent.

With the class centres c in the mapped space, r_i the distance of row i to its own centre, q_i the
distance to the opponent's and R the largest r of the class (paper, section on fuzzy membership):

    t_i = 1 - r_i / R          s_i = mu t_i       if r_i >= q_i (a noisy row)
                               s_i = (1-mu) t_i   otherwise

The published code then rescales s to (0, 1] within each class and pair, and so do we unless the
formula is wanted as printed.
"""

from __future__ import annotations

import numpy as np

from .._arrays import Array
from .._threads import each

_TILE = 1024  # rows looked at in one go
_DELTA = 1e-10  # keeps R away from zero
_SMALLEST = float(np.finfo(np.float64).eps)  # the lower end of the published code's (0, 1]


def distances_to_means(rows: Array, means: Array, *, threads: tuple[int | None] | None = None) -> Array:
    """Squared distances of rows to the class means; the bias column cancels.

    `threads` holds an n_jobs for tiles in threads; None is a plain loop.
    """
    centre = means.mean(axis=0)
    shifted = (means - centre).astype(rows.dtype)
    mean_norms = np.einsum("ij,ij->i", means - centre, means - centre)
    distances = np.empty((len(rows), len(means)))

    def look(part: slice) -> None:
        tile = rows[part] - centre.astype(rows.dtype)
        norms = np.einsum("ij,ij->i", tile, tile)[:, None].astype(np.float64)
        products = (tile @ shifted.T).astype(np.float64)
        distances[part] = clean(norms - 2.0 * products + mean_norms, norms + mean_norms, rows.dtype)

    parts = [slice(first, first + _TILE) for first in range(0, len(rows), _TILE)]
    if threads is None:
        for part in parts:
            look(part)
    else:
        each(look, parts, threads[0])
    return distances


def clean(distances: Array, sizes: Array, dtype: np.dtype) -> Array:
    """Set distances that are nothing but the rounding of their terms to zero: rescaling would blow them up."""
    distances[distances < 16.0 * np.finfo(dtype).eps * sizes] = 0.0
    return distances


def memberships(own: Array, other: Array, mu: float, kind: str, gone: tuple[float, float] | None = None) -> Array:
    """Membership of the rows of one class against every class.

    Parameters
    ----------
    own : ndarray of shape (n,)
        Squared distances to the centre of the rows' own class.
    other : ndarray of shape (n, n_classes)
        Squared distances to every centre.
    mu : float
        Share of a noisy row.
    kind : {"fuzzy", "printed", "none"}
        Rescaled to (0, 1], as printed, or all ones.
    gone : (float, float) or None
        Squared distances of the nearest and the farthest row of the class among those that are no longer here.

    Returns
    -------
    ndarray of shape (n, n_classes)
        In [0, 1]; all ones where the rule gives every row of the class the same value, and for
        classes of one or two rows, which are all equally far from their own mean.
    """
    shape = other.shape
    if kind == "none" or (gone is None and len(own) <= 2):
        return np.ones(shape)
    farthest = max(own.max(), gone[1]) if gone else own.max()
    closeness = 1.0 - np.sqrt(own / (farthest + _DELTA))
    share: Array = np.where(own[:, None] >= other, mu, 1.0 - mu) * closeness[:, None]
    low, high = share.min(axis=0), share.max(axis=0)
    if gone:
        low = np.minimum(low, 1.0 - np.sqrt(gone[1] / (farthest + _DELTA)))
        high = np.maximum(high, max(mu, 1.0 - mu) * (1.0 - np.sqrt(gone[0] / (farthest + _DELTA))))
    return _rescaled(share, low, high, kind)


def _rescaled(share: Array, low: Array, high: Array, kind: str) -> Array:
    """Bring memberships to (0, 1], in place; one where the rule gives every row the same."""
    constant = high - low <= 1e-9 * np.maximum(high, _SMALLEST)
    if kind == "fuzzy":
        width = np.where(constant, 1.0, high - low)
        share = _SMALLEST + (1.0 - _SMALLEST) * (share - low) / width
    share[:, constant] = 1.0
    return share


class Ranges:
    """What memberships need to know of all rows of a class, found piece by piece.

    The smallest and the largest membership of a class against an opponent are those of its nearest or farthest row,
    among the noisy rows or among the others.
    """

    def __init__(self, n_classes: int, mu: float, kind: str, sizes: Array) -> None:
        self.mu, self.kind, self.sizes = mu, kind, sizes
        shape = (2, n_classes, n_classes)  # noisy rows and others, own class, opponent
        self.nearest, self.farthest = np.full(shape, np.inf), np.full(shape, -np.inf)

    def widen(self, k: int, distances: Array) -> None:
        """Take rows of class k in, given their squared distances to all centres."""
        own = distances[:, k, None]
        noisy = own >= distances
        for group, members in enumerate((noisy, ~noisy)):
            nearest = np.where(members, own, np.inf).min(axis=0)
            self.nearest[group, k] = np.minimum(self.nearest[group, k], nearest)
            farthest = np.where(members, own, -np.inf).max(axis=0)
            self.farthest[group, k] = np.maximum(self.farthest[group, k], farthest)

    def merge(self, other: Ranges) -> None:
        """Take the rows of another piece in."""
        np.minimum(self.nearest, other.nearest, out=self.nearest)
        np.maximum(self.farthest, other.farthest, out=self.farthest)

    def memberships(self, distances: Array, labels: Array) -> Array:
        """Memberships of rows of the given classes against every class, as `memberships` has them."""
        share = np.ones(distances.shape)
        for k in np.unique(labels):
            if self.kind == "none" or self.sizes[k] <= 2:
                continue
            mine = labels == k
            own, farthest = distances[mine, k], self.farthest[:, k].max() + _DELTA
            trust = np.array([self.mu, 1.0 - self.mu])[:, None]
            seen = np.isfinite(self.nearest[:, k])
            least = trust * (1.0 - np.sqrt(np.where(seen, self.farthest[:, k], 0.0) / farthest))
            most = trust * (1.0 - np.sqrt(np.where(seen, self.nearest[:, k], 0.0) / farthest))
            low = np.where(seen, least, np.inf).min(axis=0)
            high = np.where(seen, most, -np.inf).max(axis=0)
            noisy = own[:, None] >= distances[mine]
            closeness = 1.0 - np.sqrt(np.minimum(own / farthest, 1.0))
            part = np.where(noisy, self.mu, 1.0 - self.mu) * closeness[:, None]
            share[mine] = np.clip(_rescaled(part, low, high, self.kind), 0.0, 1.0)
        return share
