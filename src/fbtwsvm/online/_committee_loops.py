"""The compiled loops of a committee: its answer, and the trust in its members (see `trust`)."""

from __future__ import annotations

import numpy as np

from .._arrays import compiled
from ..model._pair_loops import plain_chances
from ._root_loops import values_of

_LOSS = 0.5  # a wrong answer costs a member, or a way, the factor exp(-_LOSS) of its weight by success
_EXCHANGE = 0.001  # share of all weights by success that is dealt out evenly with each row
SMALL = 1e-3  # members with less weight than this by both ways have no part in the answer
_IDLE_SHARE = 0.02  # members with a smaller share in the answer are idle
IDLE_ROWS = 500  # members that have been idle for so long rest


@compiled
def trust_row(chances, own, weights, slopes, idle, rate, wrong):
    """Update the trust in each member after a row of class `own`; changes `weights`, `slopes` and `idle` in place.

    `chances` (E, K) are log-probabilities before the row was learned.  Marks the members that were wrong in `wrong`.
    A gradient step is divided by the running root mean square of the gradient.
    """
    n_members, n_classes = chances.shape
    by_success, by_likelihood = np.empty(n_classes), np.empty(n_classes)
    combine(chances, weights, by_success, by_likelihood, 0.0)
    total = 0.0
    for e in range(n_members):
        best, gradient = 0, chances[e, own]
        for k in range(n_classes):
            if chances[e, k] > chances[e, best]:
                best = k
            gradient -= by_likelihood[k] * chances[e, k]
        wrong[e] = best != own
        if wrong[e]:
            weights[0, e] *= np.exp(-_LOSS)
        total += weights[0, e]
        slopes[e] += 0.001 * (gradient * gradient - slopes[e])
        weights[1, e] = max(0.0, weights[1, e] + rate * gradient / np.sqrt(slopes[e]))
    for e in range(n_members):
        weights[0, e] = (1.0 - _EXCHANGE) * weights[0, e] / total + _EXCHANGE / n_members
    _weigh_ways(by_success, by_likelihood, own, weights)
    _count_idle(weights, idle)


@compiled
def _weigh_ways(by_success, by_likelihood, own, weights):
    """Update the weights of both ways by whether they were right."""
    last = weights.shape[1] - 1
    for way, found in enumerate((by_success, by_likelihood)):
        if np.argmax(found) != own:
            weights[way, last] *= np.exp(-_LOSS)
    total = weights[0, last] + weights[1, last]
    for way in range(2):
        weights[way, last] = (1.0 - _EXCHANGE) * weights[way, last] / total + 0.5 * _EXCHANGE


@compiled
def _count_idle(weights, idle):
    """Count the rows since each member last had more than a small share in the answer."""
    last, total = weights.shape[1] - 1, 0.0
    for e in range(last):
        total += weights[1, e]
    for e in range(last):
        has_part = weights[0, e] > _IDLE_SHARE or weights[1, e] > _IDLE_SHARE * total
        idle[e] = 0 if has_part else idle[e] + 1


@compiled
def trust_rows(chances, labels, weights, slopes, idle, rate, wrong):
    """Update the trust in each member after each row of a block: chances are (n, E, K), `wrong` is (n, E)."""
    for i in range(chances.shape[0]):
        trust_row(chances[i], labels[i], weights, slopes, idle, rate, wrong[i])


@compiled
def combine(chances, weights, by_success, by_likelihood, least):
    """Write the probabilities (K,) of both ways; members with a weight of at most `least` have no part."""
    n_members, n_classes = chances.shape
    largest = -np.inf
    for k in range(n_classes):
        by_success[k], by_likelihood[k] = 0.0, 0.0
        for e in range(n_members):
            if weights[0, e] > least:
                by_success[k] += weights[0, e] * np.exp(chances[e, k])
            if weights[1, e] > least:
                by_likelihood[k] += weights[1, e] * chances[e, k]
        largest = max(largest, by_likelihood[k])
    total, mean_total = 0.0, 0.0
    for k in range(n_classes):
        by_likelihood[k] = np.exp(by_likelihood[k] - largest)
        total += by_likelihood[k]
        mean_total += by_success[k]
    for k in range(n_classes):
        by_likelihood[k] /= total
        by_success[k] /= mean_total


@compiled
def answer_rows(rows, members, firsts, weights, chances, answer):
    """Write the log-probabilities (n, K) of the classes of rows by a committee.

    `members` are the planes of each, `firsts` the first column that each uses.  `chances` (n, E, K) become the
    log-probabilities by each member that has a part in the answer, and NaN for the others.
    """
    n_classes = answer.shape[1]
    values = np.empty((n_classes, n_classes))
    work = np.empty(rows.shape[1], dtype=rows.dtype)
    for i in range(rows.shape[0]):
        for e in range(len(members)):
            if max(weights[0, e], weights[1, e]) <= SMALL:
                chances[i, e] = np.nan
                continue
            planes = members[e]
            row = work[: planes.shape[2]]
            use_columns(rows[i], firsts[e], row)
            for a in range(n_classes):
                values_of(row, planes[a], values[a])
            plain_chances(values, chances[i, e])
    answer_chances(chances, weights, answer)


@compiled
def answer_chances(chances, weights, answer):
    """Write the log-probabilities (n, K) of the classes from those by each member (n, E, K)."""
    n_classes, last = answer.shape[1], weights.shape[1] - 1
    by_success, by_likelihood = np.empty(n_classes), np.empty(n_classes)
    total = weights[0, last] + weights[1, last]
    for i in range(chances.shape[0]):
        combine(chances[i], weights, by_success, by_likelihood, SMALL)
        for k in range(n_classes):
            mean = weights[0, last] * by_success[k] + weights[1, last] * by_likelihood[k]
            answer[i, k] = np.log(mean / total)


@compiled
def use_columns(row, first, used):
    """Copy the columns that a member uses: features from `first` on, and the bias."""
    last = used.shape[0] - 1
    for k in range(last):
        used[k] = row[first + k]
    used[last] = row[row.shape[0] - 1]
