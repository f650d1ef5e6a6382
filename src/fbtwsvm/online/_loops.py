"""The compiled loops of a stream: learning row by row.

A row of class b with weight w updates two kinds of planes.  Planes near b take a step of recursive least squares,
u_bk <- u_bk - w (h.u_bk) G_b^-1 h with the new G_b.  Planes near another class a that the row violates take one dual
coordinate step, alpha = min(box, (1 + h.u_ab) / h'G_a^-1 h) and u_ab <- u_ab - alpha G_a^-1 h.  Duals of earlier rows
do not change until the next re-solve.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._arrays import Array, compiled
from ..model._pair_loops import plain_chances
from ..model.membership import membership
from ._committee_loops import IDLE_ROWS, trust_row, use_columns
from ._root_loops import dot, update_root, values_of, whiten, whiten_low_rank
from .drift import LOG_CHANCE, shows_drift

GROWN = 2  # a class is due when it has grown by one part in so many
_WELL_KNOWN = 0.125  # a full root may miss a row with a smaller w h'G^-1 h
_FEW_ROWS = 4  # of all rows of a class, it may miss one part in so many
MOVED, STUDY = 1, 2  # why a map is to be renewed: rows have moved away from the landmarks; a metric is to be learned
LARGEST_WEIGHT = 1e6  # when the weight of new rows exceeds this, all weights are rescaled


class MemberArrays(NamedTuple):
    """What the loops read and change of a member, for K classes and D columns.

    counts (K,), sums (K, D)  sum of w_i and of w_i h_i
    roots, places (K,)        square roots of G^-1, see `roots.Roots`
    low_ranks, ridges (K,)    the same
    late, late_place          update of a root that is still to be made, see `roots.Roots`
    ranks (K,)                rows added to a root since it was computed
    planes (K, K, D)          planes
    alive (K,)                classes of positive weight
    C, factors (K,)           C for each near class, and the factors of class_weight="balanced"
    farthest, low, high       ranges of the memberships, see `model.membership.Ranges`
    lower, upper (K, K)       a row is accepted if its gradient in any plane that pushes it lies between these two, or
                              outside of them if `invert`
    seen, since, solved_at    (K,): see `member.Member`
    rows ... reserve          arrays of the pending rows, see `pending.Pending`
    numbers (2,)              weight of a new row, and mean sample weight
    counters (3,)             number of pending rows, and clock and n_rows of `member.Member`
    noisy, usual, decay       mu, 1 - mu, and the factor by which a row fades with each later one
    accept_alone              whether a row is accepted if there is no other class
    sum_all                   whether rows that are not accepted are part of the sums
    fades                     whether rows fade, or have faded
    most_low_rank             rows of a root of low rank at which a full one must be computed
    most_weight               the same for the weight of a class, relative to its ridge
    faded_at, max_lag, hold_lag  as in `member.Member`
    first                     first column of mapped rows that the member uses
    starts_again              whether it starts again when its error rate rises
    """

    counts: Array
    sums: Array
    roots: Array
    places: Array
    low_ranks: Array
    ridges: Array
    late: Array
    late_place: Array
    ranks: Array
    planes: Array
    alive: Array
    C: Array
    factors: Array
    farthest: Array
    low: Array
    high: Array
    lower: Array
    upper: Array
    seen: Array
    since: Array
    solved_at: Array
    rows: Array
    labels: Array
    weights: Array
    alpha: Array
    box: Array
    reserve: Array
    numbers: Array
    counters: Array
    noisy: float
    usual: float
    decay: float
    invert: bool
    accept_alone: bool
    sum_all: bool
    fades: bool
    most_low_rank: int
    most_weight: float
    faded_at: int
    max_lag: int
    hold_lag: int
    first: int
    starts_again: bool


class Watch(NamedTuple):
    """The monitor of the map and the trust in the members.

    n_features             number of features of the map, which the residual is computed from
    residual (1,)          running mean of the residual of new rows, see `landmarks.ResidualMonitor`
    share, limit           factor by which it forgets with each row, and the value at which the map is renewed
    clock (1,), since      rows so far, and how many these were when the landmarks were chosen
    least_age, grows       no alarm before the landmarks are so many rows old, always one after the second
    study_age              age of the landmarks at which a metric is to be learned again
    weights ... idle       arrays of `trust.Trust`
    rate                   step length of the weights by likelihood
    rest                   members that rest are solved after so many times as many rows
    """

    n_features: int
    residual: Array
    share: float
    limit: float
    clock: Array
    since: int
    least_age: int
    grows: int
    study_age: int
    weights: Array
    slopes: Array
    errors: Array
    again: Array
    idle: Array
    rate: float
    rest: int


class Saved(NamedTuple):
    """What a single row has changed, of E members: enough to undo it.

    sums (E, D), numbers (E, 7)  of its class: sum, count, whether it is alive, rows in the root and since the last
                                 re-solve; of the member: weight of a new row and mean sample weight; of its class: rank
                                 of a root of low rank
    slopes (E,), residual (1,)   as in `Watch`
    errors (E, 4), idle (E,)     the same
    side (1,)                    the copy of planes and weights that it has changed; -1 if there is nothing to undo
    label (1,)                   its class, in which the two copies of the planes differ; -1 if they are equal
    """

    sums: Array
    numbers: Array
    slopes: Array
    residual: Array
    errors: Array
    idle: Array
    side: Array
    label: Array


@compiled
def _solve_gram(member, a, row, zeta, solved):
    """Set solved = G_a^-1 h, with `zeta` as work space; return h'G_a^-1 h."""
    root, low_rank = member.roots[member.places[a]], member.low_ranks[a]
    if low_rank >= 0:
        return whiten_low_rank(root, low_rank, member.ridges[a], row, solved)
    return whiten(root, row, zeta, solved)


@compiled
def _distance(row, total, count):
    """Return the squared distance of a row to the mean total / count."""
    square, share = 0.0, 1.0 / count
    for k in range(row.shape[0]):
        apart = row[k] - share * total[k]
        square += apart * apart
    return square


@compiled
def _move(plane, factor, solved):
    """Subtract factor times G^-1 h from a plane."""
    step = plane.dtype.type(factor)
    for k in range(solved.shape[0]):
        plane[k] -= step * solved[k]


@compiled
def _test_row(row, own, weight, member, values, box):
    """Compute the boxes of a row from its plane values; return whether it is accepted."""
    n_classes = member.planes.shape[0]
    own_distance = _distance(row, member.sums[own], member.counts[own]) if member.counts[own] > 0.0 else 0.0
    accepted, alone = False, True
    for a in range(n_classes):
        box[a] = 0.0
        if a != own and member.alive[a]:
            alone = False
            other = _distance(row, member.sums[a], member.counts[a]) if member.counts[a] > 0.0 else np.inf
            farthest = max(member.farthest[own], own_distance)
            share = membership(
                own_distance, other, farthest, member.low[own, a], member.high[own, a], member.noisy, member.usual
            )
            box[a] = member.C[a] * weight * share
            gradient = -values[a, own] - 1.0
            if (member.lower[a, own] < gradient < member.upper[a, own]) != member.invert:
                accepted = True
    return accepted or (alone and member.accept_alone)


@compiled
def _dual_steps(row, own, member, values, box, alpha, zeta, solved):
    """Take one coordinate step in every plane that a row violates."""
    for a in range(member.planes.shape[0]):
        if a != own and member.alive[a] and values[a, own] > -1.0:
            square = _solve_gram(member, a, row, zeta, solved)
            alpha[a] = min(box[a], (1.0 + values[a, own]) / square)
            _move(member.planes[a, own], alpha[a], solved)


@compiled
def _near_update(row, own, weight, member, values, zeta, solved):
    """Update the planes near the class of a row by least squares, and its root; that of a full one waits in `late`.

    A row that its class knows well changes a full root so little that this can wait until it is computed again, as long
    as it misses only a small part of the weight of the class.
    """
    square = _solve_gram(member, own, row, zeta, solved)
    grown, low_rank = 1.0 + weight * square, member.low_ranks[own]
    missed = member.ranks[own] * member.numbers[0] * member.numbers[1]  # at most so much weight since it was computed
    if low_rank >= 0:
        scale = row.dtype.type(np.sqrt(weight * member.ridges[own] / grown))
        new = member.roots[member.places[own], low_rank]
        for k in range(row.shape[0]):
            new[k] = scale * solved[k]
        member.low_ranks[own] = low_rank + 1
        if member.counts[own] + weight > member.most_weight * member.ridges[own]:
            member.low_ranks[own] = max(low_rank + 1, member.most_low_rank)  # so that a full root is computed next
    elif weight * square > _WELL_KNOWN or _FEW_ROWS * missed > member.counts[own]:
        factor, late = row.dtype.type((1.0 - 1.0 / np.sqrt(grown)) / square), member.late
        for k in range(row.shape[0]):
            late[0, k], late[1, k] = factor * zeta[k], solved[k]
        member.late_place[0] = member.places[own]
    for b in range(member.planes.shape[0]):
        if b != own:
            _move(member.planes[own, b], weight / grown * values[own, b], solved)


@compiled
def _learn_row(row, own, sample_weight, member, values, zeta, solved):
    """Learn a row whose plane values are known."""
    numbers, counters = member.numbers, member.counters
    place = counters[0]
    numbers[0] /= member.decay
    numbers[1] += (sample_weight - numbers[1]) / (counters[2] + 1.0)
    plain_weight = sample_weight * numbers[0]
    weight = plain_weight * member.factors[own]
    alpha = member.alpha[place]
    alpha[:] = 0.0
    accepted = _test_row(row, own, weight, member, values, member.box[place])
    if accepted:
        _dual_steps(row, own, member, values, member.box[place], alpha, zeta, solved)
    if accepted or member.sum_all:
        _near_update(row, own, weight, member, values, zeta, solved)
        for k in range(row.shape[0]):
            member.sums[own, k] += plain_weight * row[k]
        member.counts[own] += plain_weight
        member.alive[own] = True
        member.ranks[own] += 1
    for k in range(row.shape[0]):
        member.rows[place, k] = row[k]
    member.labels[place], member.weights[place], member.reserve[place] = own, plain_weight, not accepted
    member.since[own] += 1
    for k in range(3):
        counters[k] += 1


@compiled
def _is_due(member, max_lag):
    """Whether a member has something to do before the next row: solve planes, update weights, empty pending rows.

    The planes near a class are due when it has grown by half since they were last solved, or after `max_lag` rows of
    any class.  So a new class, in which every row matters, is solved often at first.
    """
    clock = member.counters[1]
    if member.numbers[0] > LARGEST_WEIGHT or (member.fades and clock - member.faded_at >= member.hold_lag):
        return True
    if member.counters[0] >= member.labels.shape[0]:
        return True
    for k in range(member.alive.shape[0]):
        if member.low_ranks[k] >= member.most_low_rank:
            return True
        if member.alive[k] and (
            member.since[k] >= max(1, member.seen[k] // GROWN) or clock - member.solved_at[k] >= max_lag
        ):
            return True
    return False


@compiled
def _residual(row, n_features):
    """Return the residual 1 - ||z||^2 of a mapped row."""
    total = 1.0
    for k in range(n_features):
        total -= row[k] * row[k]
    return total


@compiled
def needs_new_map(row, watch):
    """Whether the map must be renewed before a row is learned: MOVED, STUDY or 0, then it changes the mean residual."""
    mean = watch.share * watch.residual[0] + (1.0 - watch.share) * _residual(row, watch.n_features)
    age = watch.clock[0] - watch.since
    if (age >= watch.least_age and mean > watch.limit) or age >= watch.grows:
        return MOVED
    if age >= watch.study_age:
        return STUDY
    watch.residual[0] = mean
    return 0


@compiled
def _own_values(row, own, planes, values):
    """Write the values of a row in the planes near its class and in those that push it."""
    values_of(row, planes[own], values[own])
    for a in range(planes.shape[0]):
        if a != own:
            values[a, own] = dot(row, planes[a, own])


@compiled
def learn_rows(rows, labels, weights, members, watch, known, near, far, learned):
    """Learn rows one after another, until something is due.

    Changes the arrays of `members` (a tuple of MemberArrays) and of `watch` after each row.  `known` (E, K) may be
    log-probabilities of the first row by each member, NaN where they are not known; it is empty without a committee.
    Plane values of each row before it was learned are written into `near` and `far` (n, K), those near its own class
    and those that push it, unless there is a committee.  `learned` becomes the number of rows that were learned,
    whether the next row needs a new map (see `needs_new_map`), and whether a member has something to do before it.
    """
    n_members, n_classes = len(members), members[0].planes.shape[0]
    committee = known.shape[0] > 0
    values, chances = np.empty((n_members, n_classes, n_classes)), np.empty((known.shape[0], n_classes))
    wrong = np.empty(n_members, dtype=np.bool_)
    work = np.empty((3, rows.shape[1]), dtype=rows.dtype)
    learned[:] = 0
    for i in range(rows.shape[0]):
        own = labels[i]
        learned[1] = needs_new_map(rows[i], watch)
        if learned[1] != 0:
            return
        for e in range(n_members):
            member = members[e]
            size = member.planes.shape[2]
            row, zeta, solved = work[0, :size], work[1, :size], work[2, :size]
            use_columns(rows[i], member.first, row)
            if committee and i == 0 and known[e, 0] == known[e, 0]:
                chances[e] = known[e]
                _own_values(row, own, member.planes, values[e])
            elif committee:
                for a in range(n_classes):
                    values_of(row, member.planes[a], values[e, a])
                plain_chances(values[e], chances[e])
            else:
                _own_values(row, own, member.planes, values[e])
            update_root(member.roots, member.late, member.late_place)
            _learn_row(row, own, weights[i], member, values[e], zeta, solved)
        if committee:
            trust_row(chances, own, watch.weights, watch.slopes, watch.idle, watch.rate, wrong)
            for e in range(n_members):
                errors = watch.errors[e]
                since = errors[0] - errors[2] + 1
                if members[e].starts_again and shows_drift(wrong[e], errors, LOG_CHANCE):
                    watch.again[e] = since
                    learned[2] = 1
        else:
            for k in range(n_classes):
                near[i, k], far[i, k] = values[0, own, k], values[0, k, own]
            near[i, own], far[i, own] = 0.0, 0.0
        watch.clock[0] += 1
        learned[0] = i + 1
        for e in range(n_members):
            rests = committee and watch.idle[e] >= IDLE_ROWS
            if _is_due(members[e], members[e].max_lag * (watch.rest if rests else 1)):
                learned[2] = 1
        if learned[2] == 1:
            return


@compiled
def learn_row(rows, labels, weights, members, planes, watch, trust, saved, known, near, far, learned, side):
    """Learn one row as `learn_rows` does, into the copy `side` of planes and trust; what changes is saved before.

    `planes` and `trust` (the weights of the members) are those of the other copy, which readers have.
    """
    own, differs = labels[0], saved.label[0]
    saved.residual[0] = watch.residual[0]
    saved.slopes[:], saved.errors[:], saved.idle[:] = watch.slopes, watch.errors, watch.idle
    watch.weights[:] = trust
    for e in range(len(members)):
        member = members[e]
        update_root(member.roots, member.late, member.late_place)
        if differs >= 0:
            member.planes[differs] = planes[e][differs]
            member.planes[:, differs] = planes[e][:, differs]
        for k in range(member.sums.shape[1]):
            saved.sums[e, k] = member.sums[own, k]
        numbers = saved.numbers[e]
        numbers[0], numbers[1], numbers[2] = member.counts[own], member.alive[own], member.ranks[own]
        numbers[3], numbers[4], numbers[5] = member.since[own], member.numbers[0], member.numbers[1]
        numbers[6] = member.low_ranks[own]
    saved.label[0], saved.side[0] = own, side
    learn_rows(rows, labels, weights, members, watch, known, near, far, learned)


@compiled
def unlearn_row(members, watch, saved):
    """Undo `learn_row`; the planes of the copy that it has changed are set right by the next row."""
    own = saved.label[0]
    watch.residual[0] = saved.residual[0]
    watch.slopes[:], watch.errors[:], watch.idle[:], watch.again[:] = saved.slopes, saved.errors, saved.idle, 0
    for e in range(len(members)):
        member, numbers = members[e], saved.numbers[e]
        member.late_place[0] = -1
        for k in range(member.sums.shape[1]):
            member.sums[own, k] = saved.sums[e, k]
        member.counts[own], member.alive[own], member.ranks[own] = numbers[0], numbers[1] > 0.0, np.int64(numbers[2])
        member.since[own], member.numbers[0], member.numbers[1] = np.int64(numbers[3]), numbers[4], numbers[5]
        member.low_ranks[own] = np.int64(numbers[6])
    saved.side[0] = -1
