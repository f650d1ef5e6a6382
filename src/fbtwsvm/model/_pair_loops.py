"""The compiled loops of the decision rule: pair margins, the DAG, the vote, coupling, the fit of offsets.

Each loop writes its results into arrays that it is given, see `_arrays.compiled`; the functions around them make these.
"""

from __future__ import annotations

import numpy as np

from .._arrays import Array, compiled

FLOOR = 1e-12  # smaller plane values are raised to this, so that their logarithm exists
LEAST_CHANCE = -12.0  # smallest log-probability that a member of a committee gives to a class
START_SLOPE = 2.0  # slope of a pair before it is learned
MOST_ODDS = float(np.exp(50.0))  # largest odds of one class over another in a committee
MIN_SLOPE = 0.05  # slope of a pair that is no better than chance on left-out values


@compiled
def pair_margin(near_first, near_second, offset, slope):
    """Return the signed margin of a pair from its two plane values: positive means the second class.

    The margin is slope (log|h.u_ab| - log|h.u_ba| - offset).  It is zero, which means the first class, if both values
    are zero.
    """
    first, second = abs(near_first), abs(near_second)
    if first <= FLOOR and second <= FLOOR:
        return 0.0
    return slope * (np.log(max(first, FLOOR)) - np.log(max(second, FLOOR)) - offset)


def walk_planes(rows: Array, planes: Array, offsets: Array, slopes: Array) -> Array:
    """Return the winner of each row: each class in order plays against the winner so far.

    This needs 2 (n_classes - 1) plane values for each row.  The challenger is the outer loop, so that its planes stay
    in the cache for all rows.
    """
    king = np.zeros(len(rows), dtype=np.int64)
    _walk_planes(rows, planes, offsets, slopes, king)
    return king


@compiled
def _walk_planes(rows, planes, offsets, slopes, king):
    n, n_classes, n_columns = rows.shape[0], planes.shape[0], rows.shape[1]
    for challenger in range(1, n_classes):
        for i in range(n):
            holder = king[i]
            row, near_king, near_challenger = rows[i], planes[holder, challenger], planes[challenger, holder]
            first, second = row[0] * near_king[0], row[0] * near_challenger[0]
            for k in range(1, n_columns):
                first += row[k] * near_king[k]
                second += row[k] * near_challenger[k]
            if pair_margin(first, second, offsets[holder, challenger], slopes[holder, challenger]) > 0.0:
                king[i] = challenger


@compiled
def plane_values(rows, planes, values):
    """Write the values of rows in all planes (n, K, K)."""
    for i in range(rows.shape[0]):
        row = rows[i]
        for a in range(planes.shape[0]):
            for b in range(planes.shape[1]):
                plane, total = planes[a, b], row.dtype.type(0.0)
                for k in range(row.shape[0]):
                    total += row[k] * plane[k]
                values[i, a, b] = total


@compiled
def pair_margins(values, offsets, slopes):
    """Replace plane values (n, K, K) by margins: [i, a, b] > 0 means that b beats a on row i."""
    n_classes = values.shape[1]
    for i in range(values.shape[0]):
        for a in range(n_classes):
            values[i, a, a] = 0.0
            for b in range(a + 1, n_classes):
                margin = pair_margin(values[i, a, b], values[i, b, a], offsets[a, b], slopes[a, b])
                values[i, a, b] = margin
                values[i, b, a] = -margin


def walk_margins(margins: Array) -> Array:
    """Return the winner of each row as in `walk_planes`, from margins."""
    king = np.zeros(len(margins), dtype=np.int64)
    _walk_margins(margins, king)
    return king


@compiled
def _walk_margins(margins, king):
    for i in range(margins.shape[0]):
        for challenger in range(1, margins.shape[1]):
            if margins[i, king[i], challenger] > 0.0:
                king[i] = challenger


def vote_scores(margins: Array) -> Array:
    """Return the pairs that each class wins, plus less than a third of a vote for its margins; ties go to the first."""
    scores = np.zeros(margins.shape[:2])
    _vote_scores(margins, scores)
    return scores


@compiled
def _vote_scores(margins, scores):
    n, n_classes = margins.shape[0], margins.shape[1]
    for i in range(n):
        for a in range(n_classes):
            votes, total = 0.0, 0.0
            for b in range(n_classes):
                if b != a:
                    margin = -margins[i, a, b]
                    total += margin
                    if margin > 0.0 or (margin == 0.0 and a < b):
                        votes += 1.0
            scores[i, a] = votes + total / (3.0 * (abs(total) + 1.0))


def couple(margins: Array) -> Array:
    """Return class probabilities from pairwise ones (Wu, Lin and Weng 2004, second method).

    With r_ab = 1 / (1 + exp(margin_ab)), minimises sum (r_ba p_a - r_ab p_b)^2 over the simplex by the fixed-point
    sweeps of their algorithm 2.
    """
    result = np.empty(margins.shape[:2])
    _couple(margins, result)
    return result


@compiled
def _couple(margins, result):
    n, n_classes = margins.shape[0], margins.shape[1]
    r = np.empty((n_classes, n_classes))
    q = np.empty((n_classes, n_classes))
    qp = np.empty(n_classes)
    for i in range(n):
        if n_classes == 2:
            result[i, 0] = 1.0 / (1.0 + np.exp(margins[i, 0, 1]))
            result[i, 1] = 1.0 - result[i, 0]
            continue
        for a in range(n_classes):
            for b in range(n_classes):
                r[a, b] = min(max(1.0 / (1.0 + np.exp(margins[i, a, b])), 1e-7), 1.0 - 1e-7)
        for a in range(n_classes):
            q[a, a] = 0.0
            for b in range(n_classes):
                if b != a:
                    q[a, a] += r[b, a] * r[b, a]
                    q[a, b] = -r[b, a] * r[a, b]
        p = result[i]
        p[:] = 1.0 / n_classes
        for _ in range(max(100, n_classes)):
            pqp = 0.0
            for a in range(n_classes):
                qp[a] = 0.0
                for b in range(n_classes):
                    qp[a] += q[a, b] * p[b]
                pqp += p[a] * qp[a]
            error = 0.0
            for a in range(n_classes):
                error = max(error, abs(qp[a] - pqp))
            if error < 0.001 / n_classes:
                break
            for a in range(n_classes):
                step = (pqp - qp[a]) / q[a, a]
                p[a] += step
                pqp = (pqp + step * (step * q[a, a] + 2.0 * qp[a])) / ((1.0 + step) * (1.0 + step))
                for b in range(n_classes):
                    qp[b] = (qp[b] + step * q[a, b]) / (1.0 + step)
                    p[b] /= 1.0 + step
        p /= p.sum()


def couple_best(rows: Array, planes: Array, offsets: Array, slopes: Array, winners: Array, n_best: int) -> Array:
    """Return class probabilities of rows by coupling the `n_best` classes that come nearest to the winner of each row.

    With many classes, almost all probabilities are almost zero.  Each class is compared with the winner; the nearest
    ones are coupled.  Any other class gets the probability of the winner times exp(-margin), at most that of the least
    probable class that was coupled.
    """
    n, n_classes = len(rows), len(planes)
    margins = np.empty((n, n_classes))
    _margins_to(rows, planes, offsets, slopes, winners, margins)
    best = np.sort(np.argpartition(margins, -n_best, axis=1)[:, -n_best:], axis=1)
    pairs = np.zeros((n, n_best, n_best))
    _chosen_margins(rows, planes, offsets, slopes, best, pairs)
    coupled = couple(pairs)
    result: Array = np.exp(np.minimum(margins, 0.0)) * coupled.max(axis=1, keepdims=True)
    np.minimum(result, coupled.min(axis=1, keepdims=True), out=result)
    np.put_along_axis(result, best, coupled, axis=1)
    result /= result.sum(axis=1, keepdims=True)
    return result


@compiled
def _pair_value(row, planes, offsets, slopes, a, b):
    """Return the margin of one row for a pair of classes in any order: positive means b."""
    first, second = 0.0, 0.0
    for k in range(row.shape[0]):
        first += row[k] * planes[a, b, k]
        second += row[k] * planes[b, a, k]
    if a < b:
        return pair_margin(first, second, offsets[a, b], slopes[a, b])
    return -pair_margin(second, first, offsets[b, a], slopes[b, a])


@compiled
def _margins_to(rows, planes, offsets, slopes, winners, margins):
    """Write the margin of every class over the winner of each row; it is infinite for the winner itself."""
    for i in range(rows.shape[0]):
        for k in range(planes.shape[0]):
            margins[i, k] = np.inf
            if k != winners[i]:
                margins[i, k] = _pair_value(rows[i], planes, offsets, slopes, winners[i], k)


@compiled
def _chosen_margins(rows, planes, offsets, slopes, chosen, margins):
    """Write the margins of all pairs of some classes of each row, as in `pair_margins`."""
    for i in range(rows.shape[0]):
        for s in range(chosen.shape[1]):
            for t in range(s + 1, chosen.shape[1]):
                margin = _pair_value(rows[i], planes, offsets, slopes, chosen[i, s], chosen[i, t])
                margins[i, s, t], margins[i, t, s] = margin, -margin


@compiled
def fit_offset(ratio, second, weight, start_slope, strength):
    """Fit P(second class) = 1 / (1 + exp(-(slope ratio - shift))) by logistic regression; return (offset, slope).

    Newton's method on the log loss.  A ridge of `strength` draws the slope to `start_slope` and the shift to zero, so
    that a pair with few rows stays near the rule without offsets.
    """
    slope, shift = start_slope, 0.0
    best = np.inf
    step_slope, step_shift = 0.0, 0.0
    for _ in range(100):
        loss = 0.5 * strength * ((slope - start_slope) ** 2 + shift**2)
        g0, g1 = strength * (slope - start_slope), strength * shift
        h00, h01, h11 = strength, 0.0, strength
        for i in range(ratio.shape[0]):
            z = slope * ratio[i] - shift
            p = 1.0 / (1.0 + np.exp(-z))
            target = 1.0 if second[i] else 0.0
            loss += weight[i] * (max(z, 0.0) + np.log1p(np.exp(-abs(z))) - target * z)
            d, h = weight[i] * (p - target), weight[i] * p * (1.0 - p)
            g0 += d * ratio[i]
            g1 -= d
            h00 += h * ratio[i] * ratio[i]
            h01 -= h * ratio[i]
            h11 += h
        if loss > best + 1e-12 * abs(best):  # the step was too long: go back by half of it
            step_slope, step_shift = 0.5 * step_slope, 0.5 * step_shift
            slope, shift = slope + step_slope, shift + step_shift
            if abs(step_slope) + abs(step_shift) < 1e-12:
                break
            continue
        best = loss
        determinant = h00 * h11 - h01 * h01
        step_slope = (h11 * g0 - h01 * g1) / determinant
        step_shift = (h00 * g1 - h01 * g0) / determinant
        slope, shift = slope - step_slope, shift - step_shift
        if abs(step_slope) + abs(step_shift) < 1e-10:
            break
    if slope < MIN_SLOPE:
        # On left-out values the planes are no better than chance: only the shift is useful.
        slope = MIN_SLOPE
    return shift / slope, slope


@compiled
def pooled_slope(near, far, owner, sampled, weights, start_slope, strength):
    """Return the one slope for all pairs with the least log loss of "own class beats class k" on left-out values."""
    slope = start_slope
    for _ in range(50):
        gradient, curvature = strength * (slope - start_slope), strength
        for i in range(near.shape[0]):
            if sampled[i]:
                for k in range(near.shape[1]):
                    # Both are zero if class k came only after the row was tested.
                    if k != owner[i] and (near[i, k] != 0.0 or far[i, k] != 0.0):
                        margin = pair_margin(near[i, k], far[i, k], 0.0, 1.0)
                        p = 1.0 / (1.0 + np.exp(-slope * margin))
                        gradient += weights[i] * p * margin
                        curvature += weights[i] * p * (1.0 - p) * margin * margin
        step = gradient / curvature
        slope = max(slope - step, 0.5 * slope)
        if abs(step) < 1e-8:
            break
    return slope


def fit_offsets(
    near: Array, far: Array, starts: Array, sampled: Array, weights: Array, start_slope: float, strength: float
) -> tuple[Array, Array]:
    """Fit offset and slope of every pair a < b to left-out values; return them as upper triangles.

    If a class of a pair has no calibration row, the offset is zero.
    """
    n_classes = len(starts) - 1
    offsets, slopes = np.zeros((n_classes, n_classes)), np.ones((n_classes, n_classes))
    _fit_offsets(near, far, starts, sampled, weights, start_slope, strength, offsets, slopes)
    return offsets, slopes


@compiled
def _fit_offsets(near, far, starts, sampled, weights, start_slope, strength, offsets, slopes):
    n_classes = starts.shape[0] - 1
    for a in range(n_classes):
        for b in range(a + 1, n_classes):
            size = starts[a + 1] - starts[a] + starts[b + 1] - starts[b]
            ratio, weight = np.empty(size), np.empty(size)
            second = np.empty(size, dtype=np.bool_)
            count, n_second = 0, 0
            for own, other in ((a, b), (b, a)):
                for i in range(starts[own], starts[own + 1]):
                    if sampled[i] and (near[i, other] != 0.0 or far[i, other] != 0.0):
                        margin = pair_margin(near[i, other], far[i, other], 0.0, 1.0)
                        second[count] = own == b
                        ratio[count] = -margin if second[count] else margin
                        weight[count] = weights[i]
                        count, n_second = count + 1, n_second + second[count]
            slopes[a, b] = start_slope
            if 0 < n_second < count:
                offsets[a, b], slopes[a, b] = fit_offset(
                    ratio[:count], second[:count], weight[:count], start_slope, strength
                )


@compiled
def plain_chances(values, chances):
    """Write the log-probabilities (K,) of the classes of one row from its plane values (K, K), without offsets.

    Probability k is proportional to 1 / sum_j exp(margin_kj), a closed form of pairwise coupling.  The margins have the
    slope of a rule before it is learned, which is 2, so exp(margin_kj) is (v_kj / v_jk)^2.
    """
    n_classes = values.shape[0]
    largest = -np.inf
    for k in range(n_classes):
        values[k, k] = 1.0
        total = 0.0
        for j in range(n_classes):
            ratio = max(abs(values[k, j]), FLOOR) / max(abs(values[j, k]), FLOOR)
            total += min(ratio * ratio, MOST_ODDS)
        chances[k] = -np.log(total)
        largest = max(largest, chances[k])
    total = 0.0
    for k in range(n_classes):
        total += np.exp(chances[k] - largest)
    for k in range(n_classes):
        chances[k] = max(chances[k] - largest - np.log(total), LEAST_CHANCE)


def plain_log_chances(values: Array) -> Array:
    """Return the log-probabilities (n, K) of the classes from plane values (n, K, K), without offsets."""
    chances = np.empty(values.shape[:2])
    _plain_log_chances(values, chances)
    return chances


@compiled
def _plain_log_chances(values, chances):
    for i in range(values.shape[0]):
        plain_chances(values[i], chances[i])
