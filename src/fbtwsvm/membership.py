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

from .kernels import Array

_DELTA = 1e-10  # keeps R away from zero
_SMALLEST = float(np.finfo(np.float64).eps)  # the lower end of the published code's (0, 1]


def memberships(own: Array, other: Array, mu: float, kind: str) -> Array:
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

    Returns
    -------
    ndarray of shape (n, n_classes)
        In [0, 1]; all ones where the rule gives every row of the class the same value, and for
        classes of one or two rows, which are all equally far from their own mean.
    """
    shape = other.shape
    if kind == "none" or len(own) <= 2:
        return np.ones(shape)
    closeness = 1.0 - np.sqrt(own / (own.max() + _DELTA))
    share: Array = np.where(own[:, None] >= other, mu, 1.0 - mu) * closeness[:, None]
    low, high = share.min(axis=0), share.max(axis=0)
    constant = high - low <= 1e-9 * np.maximum(high, _SMALLEST)
    if kind == "fuzzy":
        width = np.where(constant, 1.0, high - low)
        share = _SMALLEST + (1.0 - _SMALLEST) * (share - low) / width
    share[:, constant] = 1.0
    return share
