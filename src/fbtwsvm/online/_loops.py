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
from ..model._pair_loops import log_chances_loop as log_chances
from ..model._pair_loops import plain_margins
from ..model.membership import membership

GROWN = 2  # a class is due when it has grown by one part in so many
LARGEST_WEIGHT = 1e6  # when the weight of new rows exceeds this, all weights are rescaled


class MemberArrays(NamedTuple):
    """What the loops read and change of a member, for K classes and D columns.

    new_rows (n, D)           the rows to learn, with the columns that the member uses
    counts (K,), sums (K, D)  sum of w_i and of w_i h_i
    roots, places (K,)        square roots of G^-1, see `moments.Roots`
    late, late_place          update of a root that is still to be made, see `moments.Roots`
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
    noisy, usual, decay       mu, 1 - mu, and the factor by which a row fades with each later one
    accept_alone              whether a row is accepted if there is no other class
    sum_all                   whether rows that are not accepted are part of the sums
    fades                     whether rows fade, or have faded
    place                     number of pending rows
    clock, n_rows, faded_at, max_lag, hold_lag  as in `member.Member`
    """

    new_rows: Array
    counts: Array
    sums: Array
    roots: Array
    places: Array
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
    noisy: float
    usual: float
    decay: float
    invert: bool
    accept_alone: bool
    sum_all: bool
    fades: bool
    place: int
    clock: int
    n_rows: int
    faded_at: int
    max_lag: int
    hold_lag: int


class Watch(NamedTuple):
    """The monitor of the map and the trust in the members.

    residual (1,)          running mean of the residual of new rows, see `landmarks.ResidualMonitor`
    share, limit           factor by which it forgets with each row, and the value at which the map is renewed
    age, least_age, grows  rows since the landmarks were chosen; no alarm before the second, always one after the third
    trust, slopes (E,)     trust in each member, and running mean squares of its gradients; empty without a committee
    rate                   step length of trust
    """

    residual: Array
    share: float
    limit: float
    age: int
    least_age: int
    grows: int
    trust: Array
    slopes: Array
    rate: float


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
            square = _whiten(member.roots[member.places[a]], row, zeta, solved)
            alpha[a] = min(box[a], (1.0 + values[a, own]) / square)
            _move(member.planes[a, own], alpha[a], solved)


@compiled
def update_root(roots, late, late_place):
    """Make the update that is still to be made, if there is one: subtract late_0 late_1' from a root."""
    if late_place[0] >= 0:
        root, left, right = roots[late_place[0]], late[0], late[1]
        for r in range(root.shape[0]):
            factor = left[r]
            for k in range(root.shape[1]):
                root[r, k] -= factor * right[k]
        late_place[0] = -1


@compiled
def _near_update(row, own, weight, member, values, zeta, solved):
    """Update the planes near the class of a row by least squares; the update of its root is written to `late`."""
    square = _whiten(member.roots[member.places[own]], row, zeta, solved)
    grown = 1.0 + weight * square
    factor, late = member.roots.dtype.type((1.0 - 1.0 / np.sqrt(grown)) / square), member.late
    for k in range(row.shape[0]):
        late[0, k], late[1, k] = factor * zeta[k], solved[k]
    member.late_place[0] = member.places[own]
    for b in range(member.planes.shape[0]):
        if b != own:
            _move(member.planes[own, b], weight / grown * values[own, b], solved)


@compiled
def _learn_row(row, own, sample_weight, i, member, values, zeta, solved):
    """Learn the i-th row of a call, whose plane values are known."""
    place = member.place + i
    numbers, n_before = member.numbers, member.n_rows + i
    numbers[0] /= member.decay
    numbers[1] += (sample_weight - numbers[1]) / (n_before + 1.0)
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


@compiled
def _is_due(member, n_learned):
    """Whether a member has something to do before the next row: solve planes, update weights, empty pending rows."""
    clock = member.clock + n_learned
    if member.numbers[0] > LARGEST_WEIGHT or (member.fades and clock - member.faded_at >= member.hold_lag):
        return True
    if member.place + n_learned >= member.labels.shape[0]:
        return True
    return class_due(member.alive, member.seen, member.since, member.solved_at, clock, member.max_lag) >= 0


@compiled
def class_due(alive, seen, since, solved_at, clock, max_lag):
    """Return the class near which planes are to be solved next; -1 if none is due.

    A class is due when it has grown by half since it was last solved, or after `max_lag` rows of any class.  So a new
    class, in which every row matters, is solved often at first.  Classes that have grown come first, then the one that
    waits longest.
    """
    found, grown_found = -1, False
    for k in range(alive.shape[0]):
        grown = since[k] >= max(1, seen[k] // GROWN)
        if alive[k] and (grown or clock - solved_at[k] >= max_lag):
            longer = found >= 0 and grown == grown_found and solved_at[k] < solved_at[found]
            if found < 0 or (grown and not grown_found) or longer:
                found, grown_found = k, grown
    return found


@compiled
def _residual(row):
    """Return the residual 1 - ||z||^2 of a mapped row, whose last column is 1."""
    total = 2.0
    for k in range(row.shape[0]):
        total -= row[k] * row[k]
    return total


@compiled
def needs_new_map(row, watch, i):
    """Whether the map must be renewed before the i-th row of a call; if not, the row changes the mean residual."""
    mean, age = watch.share * watch.residual[0] + (1.0 - watch.share) * _residual(row), watch.age + i
    if (age >= watch.least_age and mean > watch.limit) or age >= watch.grows:
        return True
    watch.residual[0] = mean
    return False


@compiled
def learn_rows(rows, labels, weights, members, watch, values, chances, near, far, learned):
    """Learn rows one after another, until something is due.

    Changes the arrays of `members` (a tuple of MemberArrays) and of `watch` after each row.  `values` (E, K, K) and
    `chances` (E, K) are work space; `chances` is empty without a committee.  Plane values of each row before it was
    learned are written into `near` and `far` (n, K), those near its own class and those that push it, unless there is
    a committee.  `learned` becomes the number of rows that were learned, whether the next row needs a new map, and
    whether a member has something to do before it.
    """
    n_members, n_classes = len(members), values.shape[1]
    committee = chances.shape[0] > 0
    zeta, solved = np.empty(rows.shape[1], dtype=rows.dtype), np.empty(rows.shape[1], dtype=rows.dtype)
    learned[:] = 0
    for i in range(rows.shape[0]):
        row, own = rows[i], labels[i]
        if needs_new_map(row, watch, i):
            learned[1] = 1
            return
        for e in range(n_members):
            planes, member_row = members[e].planes, members[e].new_rows[i]
            for a in range(n_classes):
                for b in range(n_classes):
                    if a != b and (committee or a == own or b == own):
                        values[e, a, b] = _dot(member_row, planes[a, b])
        if not committee:
            for k in range(n_classes):
                near[i, k], far[i, k] = values[0, own, k], values[0, k, own]
            near[i, own], far[i, own] = 0.0, 0.0
        for e in range(n_members):
            update_root(members[e].roots, members[e].late, members[e].late_place)
            size = members[e].new_rows.shape[1]
            _learn_row(members[e].new_rows[i], own, weights[i], i, members[e], values[e], zeta[:size], solved[:size])
        if committee:
            plain_margins(values)
            log_chances(values, chances)
            _trust_row(chances, own, watch.trust, watch.slopes, watch.rate)
        learned[0] = i + 1
        for e in range(n_members):
            if _is_due(members[e], i + 1):
                learned[2] = 1
                return


@compiled
def _trust_row(chances, own, trust, slopes, rate):
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
        _trust_row(chances[i], labels[i], trust, slopes, rate)


@compiled
def add_chances(rows, members, trust, total):
    """Add up the log-probabilities of the classes of each row, from the planes of all members, weighted by trust."""
    n_classes = total.shape[1]
    values, chances = np.empty((1, n_classes, n_classes)), np.empty((1, n_classes))
    for i in range(rows.shape[0]):
        for e in range(len(members)):
            planes = members[e]
            last = planes.shape[2] - 1
            if trust[e] > 0.0:
                for a in range(n_classes):
                    for b in range(n_classes):
                        if a != b:
                            plane = planes[a, b]
                            values[0, a, b] = _dot(rows[i, :last], plane[:last]) + rows[i, -1] * plane[last]
                plain_margins(values)
                log_chances(values, chances)
                for k in range(n_classes):
                    total[i, k] += trust[e] * chances[0, k]
