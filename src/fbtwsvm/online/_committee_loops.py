"""The compiled loops of a committee: its answer, and the trust in its members."""

from __future__ import annotations

import numpy as np

from .._arrays import compiled
from ..model._pair_loops import plain_chances
from ._root_loops import values_of


@compiled
def trust_row(chances, own, trust, slopes, rate):
    """Update the trust in each member after a row of class `own`; changes `trust` and `slopes` in place.

    `chances` (n_members, K) are log-probabilities before the row was learned; sum_e trust_e chances_e are those of the
    committee.  A step goes along the gradient of the log-likelihood, divided by its running root mean square.
    """
    n_members, n_classes = chances.shape
    together = np.empty(n_classes)
    largest = -np.inf
    for k in range(n_classes):
        together[k] = 0.0
        for e in range(n_members):
            together[k] += trust[e] * chances[e, k]
        largest = max(largest, together[k])
    total = 0.0
    for k in range(n_classes):
        together[k] = np.exp(together[k] - largest)
        total += together[k]
    for e in range(n_members):
        gradient = chances[e, own]
        for k in range(n_classes):
            gradient -= together[k] / total * chances[e, k]
        slopes[e] += 0.001 * (gradient * gradient - slopes[e])
        trust[e] = max(0.0, trust[e] + rate * gradient / np.sqrt(slopes[e]))


@compiled
def trust_rows(chances, labels, trust, slopes, rate):
    """Update the trust in each member after each row of a block, whose chances are (n, n_members, K)."""
    for i in range(chances.shape[0]):
        trust_row(chances[i], labels[i], trust, slopes, rate)


@compiled
def add_chances(rows, members, trust, chances, total):
    """Add up the log-probabilities (n, K) of the classes of rows, from the planes of all members, weighted by trust.

    `chances` (n, E, K) become those of each member that is trusted, and NaN for the others.
    """
    n_classes = total.shape[1]
    values = np.empty((n_classes, n_classes))
    work = np.empty(rows.shape[1], dtype=rows.dtype)
    for i in range(rows.shape[0]):
        for e in range(len(members)):
            if not trust[e] > 0.0:
                chances[i, e] = np.nan
                continue
            planes = members[e]
            row = work[: planes.shape[2]]
            use_columns(rows[i], row)
            for a in range(n_classes):
                values_of(row, planes[a], values[a])
            plain_chances(values, chances[i, e])
            for k in range(n_classes):
                total[i, k] += trust[e] * chances[i, e, k]


@compiled
def use_columns(row, used):
    """Copy the columns that a member uses: the first features, and the bias."""
    last = used.shape[0] - 1
    for k in range(last):
        used[k] = row[k]
    used[last] = row[row.shape[0] - 1]
