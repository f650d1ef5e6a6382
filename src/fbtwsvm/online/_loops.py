"""The compiled loops of a stream: learning row by row, and trust in the members of a committee.

A row of class b with weight w updates two kinds of planes.  Planes near b take a step of recursive least squares,
u_bk <- u_bk - w (h.u_bk) G_b^-1 h with the new G_b.  Planes near another class a that the row violates take one dual
coordinate step, alpha = min(box, (1 + h.u_ab) / h'G_a^-1 h) and u_ab <- u_ab - alpha G_a^-1 h.  Duals of earlier rows
do not change until the next re-solve.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._arrays import Array, compiled
from ..model.membership import membership


class RowSums(NamedTuple):
    """Arrays that every row updates in place, for K classes and D columns.

    counts (K,), sums (K, D)  sum of w_i and of w_i h_i
    roots (K, D, D)           square roots of G^-1
    ranks (K,)                rows added to a root since it was computed
    planes (K, K, D)          planes
    alive (K,)                classes of positive weight
    """

    counts: Array
    sums: Array
    roots: Array
    ranks: Array
    planes: Array
    alive: Array


class RowRule(NamedTuple):
    """Numbers that stay the same while rows are learned.

    C, factors (K,)         C for each near class, and the factors of class_weight="balanced"
    farthest, low, high     ranges of the memberships, see `model.membership.Ranges`; noisy and usual are mu and 1 - mu
    lower, upper (K, K)     a row is accepted if its gradient in any plane that pushes it lies between these two, or
                            outside of them if `invert`
    accept_alone            whether a row is accepted if there is no other class
    sum_all                 whether rows that are not accepted are part of the sums
    every_value             whether to compute the values of all planes, or only of those with the row's own class
    """

    C: Array
    factors: Array
    farthest: Array
    low: Array
    high: Array
    noisy: float
    usual: float
    lower: Array
    upper: Array
    invert: bool
    accept_alone: bool
    sum_all: bool
    every_value: bool


class RowResult(NamedTuple):
    """Arrays for the results of each row, filled by `learn_rows`.

    values (n, K, K)   plane values before the row was learned
    box, alpha (n, K)  bound and dual of the row in the plane near each other class
    accepted (n,)      whether the row passes the accept rule
    """

    values: Array
    box: Array
    alpha: Array
    accepted: Array


@compiled
def _dot(left, right):
    """Return the inner product of two vectors."""
    total = left.dtype.type(0.0)
    for k in range(left.shape[0]):
        total += left[k] * right[k]
    return total


@compiled
def _whiten(root, row, zeta, solved):
    """Set zeta = R h and solved = R'zeta = G^-1 h; return ||zeta||^2."""
    solved[:] = 0.0
    square = 0.0
    for r in range(root.shape[0]):
        total = _dot(root[r], row)
        zeta[r] = total
        square += total * total
        for k in range(root.shape[1]):
            solved[k] += total * root[r, k]
    return square


@compiled
def _distance(row, total, count):
    """Return the squared distance of a row to the mean total / count."""
    square = 0.0
    for k in range(row.shape[0]):
        apart = row[k] - total[k] / count
        square += apart * apart
    return square


@compiled
def _move(plane, factor, solved):
    """Subtract factor times G^-1 h from a plane."""
    step = plane.dtype.type(factor)
    for k in range(solved.shape[0]):
        plane[k] -= step * solved[k]


@compiled
def _test_row(row, own, weight, sums, rule, values, box):
    """Compute the plane values and boxes of a row; return whether it is accepted."""
    n_classes = sums.planes.shape[0]
    for a in range(n_classes):
        for b in range(n_classes):
            if a != b and (rule.every_value or a == own or b == own):
                values[a, b] = _dot(row, sums.planes[a, b])
    own_distance = _distance(row, sums.sums[own], sums.counts[own]) if sums.counts[own] > 0.0 else 0.0
    accepted, alone = False, True
    for a in range(n_classes):
        if a != own and sums.alive[a]:
            alone = False
            other = _distance(row, sums.sums[a], sums.counts[a]) if sums.counts[a] > 0.0 else np.inf
            farthest = max(rule.farthest[own], own_distance)
            share = membership(
                own_distance, other, farthest, rule.low[own, a], rule.high[own, a], rule.noisy, rule.usual
            )
            box[a] = rule.C[a] * weight * share
            gradient = -values[a, own] - 1.0
            if (rule.lower[a, own] < gradient < rule.upper[a, own]) != rule.invert:
                accepted = True
    return accepted or (alone and rule.accept_alone)


@compiled
def _dual_steps(row, own, sums, values, box, alpha, zeta, solved):
    """Take one coordinate step in every plane that a row violates."""
    for a in range(sums.planes.shape[0]):
        if a != own and sums.alive[a] and values[a, own] > -1.0:
            square = _whiten(sums.roots[a], row, zeta, solved)
            alpha[a] = min(box[a], (1.0 + values[a, own]) / square)
            _move(sums.planes[a, own], alpha[a], solved)


@compiled
def _near_update(row, own, weight, sums, values, zeta, solved):
    """Add a row to the root of its class, and update the planes near that class by least squares."""
    root = sums.roots[own]
    square = _whiten(root, row, zeta, solved)
    grown = 1.0 + weight * square
    beta = root.dtype.type((1.0 - 1.0 / np.sqrt(grown)) / square)
    for r in range(root.shape[0]):
        factor = beta * zeta[r]
        for k in range(root.shape[1]):
            root[r, k] -= factor * solved[k]
    for b in range(sums.planes.shape[0]):
        if b != own:
            _move(sums.planes[own, b], weight / grown * values[own, b], solved)


@compiled
def learn_rows(rows, labels, weights, sums, rule, result):
    """Learn rows one after another; updates `sums` (RowSums) after each row and fills `result` (RowResult)."""
    zeta, solved = np.empty(rows.shape[1], dtype=rows.dtype), np.empty(rows.shape[1], dtype=rows.dtype)
    for i in range(rows.shape[0]):
        row, own = rows[i], labels[i]
        weight = weights[i] * rule.factors[own]
        values, box = result.values[i], result.box[i]
        result.accepted[i] = _test_row(row, own, weight, sums, rule, values, box)
        if result.accepted[i]:
            _dual_steps(row, own, sums, values, box, result.alpha[i], zeta, solved)
        if result.accepted[i] or rule.sum_all:
            _near_update(row, own, weight, sums, values, zeta, solved)
            for k in range(row.shape[0]):
                sums.sums[own, k] += weights[i] * row[k]
            sums.counts[own] += weights[i]
            sums.alive[own] = True
            sums.ranks[own] += 1


@compiled
def trust_rows(chances, labels, trust, slopes, rate):
    """Update the trust in each member after each row; changes `trust` and `slopes` in place.

    `chances` (n, n_members, K) are log-probabilities before the row was learned; sum_e trust_e chances_e are those of
    the committee.  A step goes along the gradient of the log-likelihood, divided by its running root mean square.
    """
    n, n_members, n_classes = chances.shape
    together = np.empty(n_classes)
    for i in range(n):
        largest = -np.inf
        for k in range(n_classes):
            together[k] = 0.0
            for e in range(n_members):
                together[k] += trust[e] * chances[i, e, k]
            largest = max(largest, together[k])
        total = 0.0
        for k in range(n_classes):
            together[k] = np.exp(together[k] - largest)
            total += together[k]
        for e in range(n_members):
            gradient = chances[i, e, labels[i]]
            for k in range(n_classes):
                gradient -= together[k] / total * chances[i, e, k]
            slopes[e] += 0.001 * (gradient * gradient - slopes[e])
            trust[e] = max(0.0, trust[e] + rate * gradient / np.sqrt(slopes[e]))
