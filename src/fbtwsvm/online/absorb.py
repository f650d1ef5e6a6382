"""How members learn new rows: row by row, with re-solves in between, or very many of them as a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._arrays import Array
from ._loops import GROWN, MemberArrays, Watch
from ._loops import learn_rows as learn_rows_compiled
from .fading import weigh
from .kept import Chunk, Kept
from .member import Member

_NEW = 20  # rows that a class has seen at the last re-solve, before which it is new
_PIECE = 450_000  # size of a piece: columns of a class, times these and a share of the kept rows
_ROWS_PER_COLUMN = 16  # so many kept rows cost as much as a column


@dataclass(frozen=True)
class Tested:
    """Plane values of rows before they were learned.

    near, far  (n, n_classes): h.u in the planes near the row's own class, and in those near each class that push it
    """

    near: Array
    far: Array


def learn_rows(members: Sequence[Member], chunk: Chunk, watch: Watch) -> tuple[Tested, int, int, bool]:
    """Learn rows one after another until a member has something to do, or the next row needs a new map.

    Planes are updated at once, Gram matrices and kept rows at the next re-solve.  Returns the plane values of the rows
    that were learned (empty for a committee), their number, why the next row needs a new map (0 if it does not), and
    whether a member has something to do.
    """
    n_classes, committee = members[0].n_classes, len(members) > 1
    arrays = tuple([member_arrays(member, member.planes) for member in members])
    near, far = np.empty((2, 0 if committee else len(chunk), n_classes))
    known = np.full((len(members) if committee else 0, n_classes), np.nan)
    learned = np.empty(3, dtype=np.int64)
    learn_rows_compiled(chunk.rows, chunk.labels, chunk.weights, arrays, watch, known, near, far, learned)
    n, renew, due = learned.tolist()
    for member, changed in zip(members, arrays, strict=True):
        take_numbers(member, changed)
        member.pending.add(chunk, n)
    return Tested(near[:n], far[:n]), n, renew, bool(due)


def take_numbers(member: Member, changed: MemberArrays) -> None:
    """Give a member the weights and counters that the compiled loops have changed."""
    member.current_weight, member.mean_weight = changed.numbers.tolist()
    _, member.clock, member.n_rows = changed.counters.tolist()


def next_classes(member: Member, max_lag: int) -> Array:
    """Return the classes near which planes are to be solved next: as many as are one piece; none if none is due.

    A class is due when it has grown by half, and after `max_lag` rows at the latest.  Those that have grown come first,
    then those that wait longest.  Others that are half of the way to being due are solved along with them, because much
    of the work is the same for one class and for several; but not with a class that is so new that it is due again
    after a few rows.
    """
    growth = member.since_solve / np.maximum(1, member.seen // GROWN)
    waited = (member.clock - member.solved_at) / max_lag
    progress = np.where(member.alive, np.maximum(growth, waited), 0.0)
    due = progress >= 1.0
    if not due.any():
        return np.empty(0, dtype=np.int64)
    along = 0.5 if (due & (member.seen >= _NEW)).any() else 1.0
    order = np.lexsort((member.solved_at, -np.minimum(progress, 1.0), growth < 1.0))[: _at_once(member)]
    return order[progress[order] >= along]


def in_pieces(member: Member) -> list[Array]:
    """Return all classes, in parts that are one piece each."""
    size = _at_once(member)
    return [np.arange(first, min(first + size, member.n_classes)) for first in range(0, member.n_classes, size)]


def _at_once(member: Member) -> int:
    """Return near how many classes planes are solved in one piece: fewer if there are many columns or kept rows."""
    n_columns = member.planes.shape[2]
    return int(max(1, _PIECE // (n_columns * (n_columns + len(member.kept) // _ROWS_PER_COLUMN))))


def learn_block(member: Member, chunk: Chunk) -> Tested:
    """Learn a block of rows for the next re-solve: update sums and roots, keep the rows (not accepted: in reserve).

    A row that pushes a plane begins at the bound of its dual (which the re-solve multiplies by its membership).  On a
    long stream this is nearly the solution, and a re-solve, whose tolerance is relative to all rows so far, would
    change little of duals that are zero.
    """
    chunk = replace(chunk, rows=member.used(chunk.rows))
    tested = _test(member, chunk)
    weights = weigh(member, chunk)
    accepted = _accepts(member, chunk, tested.far)
    summed = accepted | (member.policy.statistics == "all")
    for k in chunk.present:
        rows = np.flatnonzero((chunk.labels == k) & summed)
        if len(rows):
            member.moments.add(k, chunk.rows[rows], weights[rows])
            _update_root(member, int(k), chunk.rows[rows], weights[rows])
    member.clock += len(chunk)
    member.since_solve += np.bincount(chunk.labels, minlength=member.n_classes)
    pushes = (tested.far > -1.0) & member.solved.T[chunk.labels]
    bounds = np.outer(weights * member.class_factors[chunk.labels], member.settings.C) * pushes
    member.keep(Kept.of(chunk, weights, bounds, bounds.copy(), ~accepted))
    return tested


def member_arrays(member: Member, planes: Array) -> MemberArrays:
    """Return what the compiled loops read and change of a member; `planes` are its planes, or a copy to change."""
    settings, policy, moments, roots, pending = (
        member.settings, member.policy, member.moments, member.roots, member.pending,
    )  # fmt: skip
    if member.accepting is None:
        member.accepting = _accepted_gradients(member)
    lower, upper, invert = member.accepting
    mu = float(settings.mu)
    # If only accepted rows are summed, the first class must be accepted, or nothing would ever be summed.
    accept_alone, sum_all = policy.accept == "all" or policy.statistics == "kept", policy.statistics == "all"
    return MemberArrays(
        moments.counts, moments.sums, roots.matrices, roots.places, roots.low_ranks, roots.ridges, roots.late,
        roots.late_place, roots.ranks, planes, member.alive,
        settings.C, member.class_factors, member.farthest, member.low, member.high, lower, upper,
        member.seen, member.since_solve, member.solved_at,
        pending.rows, pending.labels, pending.weights, pending.alpha, pending.box, pending.reserve,
        np.array((member.current_weight, member.mean_weight)),
        np.array((pending.count, member.clock, member.n_rows)),
        mu, 1.0 - mu, policy.decay, invert, accept_alone, sum_all, member.faded,
        max(roots.most_low_rank, 1), roots.most_weight, member.faded_at, member.max_lag, member.hold_lag,
        member.first, policy.starts_again,
    )  # fmt: skip


def _accepted_gradients(member: Member) -> tuple[Array, Array, bool]:
    """Return bounds (K, K) of the gradient -h.u - 1 of an accepted row, and whether it must lie outside of them.

    A plane that has not been solved yet accepts every row.
    """
    shape, accept = member.solved.shape, member.policy.accept
    if accept in ("kkt", "all"):
        lower, upper = np.full(shape, -np.inf), np.full(shape, 0.0 if accept == "kkt" else np.inf)
        upper[~member.solved] = np.inf
        return lower, upper, False
    lower, upper = member.bounds[..., 0].copy(), member.bounds[..., 1].copy()
    invert = accept == "outside"
    lower[~member.solved] = np.inf if invert else -np.inf
    upper[~member.solved] = np.inf
    return lower, upper, invert


def _accepts(member: Member, chunk: Chunk, far: Array) -> Array:
    """Mark the rows of a block that pass the accept rule, by their gradient in the planes that push them."""
    others = np.ones(far.shape, dtype=bool)
    others[np.arange(len(far)), chunk.labels] = False
    others &= member.alive | np.isin(np.arange(member.n_classes), chunk.present)
    alone = not others.any() and member.policy.statistics == "kept"  # see `member_arrays`
    if member.policy.accept == "all" or alone:
        return np.ones(len(chunk), dtype=bool)
    lower, upper, invert = _accepted_gradients(member)
    gradient = -far - 1.0
    inside = (gradient > lower[:, chunk.labels].T) & (gradient < upper[:, chunk.labels].T)
    return np.asarray(((inside != invert) & others).any(axis=1))


def _test(member: Member, chunk: Chunk) -> Tested:
    """Return the plane values of rows that have not been learned yet."""
    near, far = np.empty((len(chunk), member.n_classes)), np.empty((len(chunk), member.n_classes))
    for k in chunk.present:
        rows = chunk.labels == k
        near[rows], far[rows] = chunk.rows[rows] @ member.planes[k].T, chunk.rows[rows] @ member.planes[:, k].T
    return Tested(near, far)


def _update_root(member: Member, k: int, rows: Array, weights: Array) -> None:
    """Update the root of class k with new rows, or mark it to be computed again if that is cheaper."""
    if 8 * len(rows) < rows.shape[1]:
        member.changed_sums[k] = True
        member.roots.update(k, rows, weights * member.class_factors[k])
    else:
        member.mark_changed(k, sums=True)
