"""How a member learns new rows: a few of them row by row, many as a block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import Array
from ._loops import RowResult, RowRule, RowSums
from ._loops import learn_rows as learn_rows_compiled
from .fading import has_room, weigh
from .kept import Chunk, Kept
from .member import Member
from .resolve import resolve


@dataclass(frozen=True)
class Tested:
    """Plane values of rows before they were learned.

    near, far  (n, n_classes): h.u in the planes near the row's own class, and in those near each class that push it
    values     (n, n_classes, n_classes): h.u in all planes, or None
    """

    near: Array
    far: Array
    values: Array | None

    @classmethod
    def join(cls, parts: list[Tested]) -> Tested:
        """Concatenate the values of consecutive parts of a chunk."""
        if len(parts) == 1:
            return parts[0]
        values = [part.values for part in parts if part.values is not None]
        near, far = (np.concatenate([getattr(part, name) for part in parts]) for name in ("near", "far"))
        return cls(near, far, np.concatenate(values) if values else None)


def learn(member: Member, chunk: Chunk, *, every_value: bool = False) -> Tested:
    """Learn a chunk: a small one row by row, with re-solves in between when they are due, a large one as a block."""
    if len(chunk) >= member.max_lag:
        tested = learn_block(member, chunk, every_value=every_value)
        resolve(member)
        return tested
    parts, first = [], 0
    while first < len(chunk):
        room = member.room(chunk.labels[first:])
        part = chunk if first == 0 and len(chunk) < room else chunk.take(slice(first, first + room))
        parts.append(learn_rows(member, part, every_value=every_value))
        first += len(part)
        if len(part) == room:
            resolve(member)
    return Tested.join(parts)


def needs_no_resolve(member: Member, labels: Array) -> bool:
    """Whether rows of these classes can be learned row by row without a re-solve."""
    return has_room(member, len(labels)) and member.room(labels) > len(labels)


def learn_rows(member: Member, chunk: Chunk, *, every_value: bool) -> Tested:
    """Learn row by row; planes are updated at once, Gram matrices and kept rows at the next re-solve."""
    n, n_classes = len(chunk), member.n_classes
    weights = weigh(member, chunk)
    moments, roots = member.moments, member.roots
    sums = RowSums(moments.counts, moments.sums, roots.matrices, roots.ranks, member.planes, member.alive)
    result = RowResult(
        values=np.zeros((n, n_classes, n_classes)),
        box=np.zeros((n, n_classes)),
        alpha=np.zeros((n, n_classes)),
        accepted=np.zeros(n, dtype=np.bool_),
    )
    learn_rows_compiled(chunk.rows, chunk.labels, weights, sums, _row_rule(member, every_value), result)
    member.clock += n
    member.n_pending += n
    member.since_solve += np.bincount(chunk.labels, minlength=member.n_classes)
    member.pending.append(Kept.of(chunk, weights, result.alpha, result.box, ~result.accepted))
    every, own = np.arange(n), chunk.labels
    values = result.values
    return Tested(values[every, own], values[every, :, own], values if every_value else None)


def learn_block(member: Member, chunk: Chunk, *, every_value: bool = False) -> Tested:
    """Learn a block of rows for the next re-solve: update sums and roots, keep the rows (not accepted: in reserve)."""
    tested = _test(member, chunk, every_value)
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
    duals = np.zeros((len(chunk), member.n_classes))
    member.keep(Kept.of(chunk, weights, duals, duals.copy(), ~accepted))
    return tested


def _row_rule(member: Member, every_value: bool) -> RowRule:
    """Return the numbers that stay the same while rows are learned row by row."""
    settings, policy = member.settings, member.policy
    if member.accepting is None:
        member.accepting = _accepted_gradients(member)
    lower, upper, invert = member.accepting
    return RowRule(
        C=settings.C,
        factors=member.class_factors,
        farthest=member.farthest,
        low=member.low,
        high=member.high,
        noisy=float(settings.mu),
        usual=1.0 - float(settings.mu),
        lower=lower,
        upper=upper,
        invert=invert,
        # If only accepted rows are summed, the first class must be accepted, or nothing would ever be summed.
        accept_alone=policy.accept == "all" or policy.statistics == "kept",
        sum_all=policy.statistics == "all",
        every_value=every_value,
    )


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
    alone = not others.any() and member.policy.statistics == "kept"  # see `_row_rule`
    if member.policy.accept == "all" or alone:
        return np.ones(len(chunk), dtype=bool)
    lower, upper, invert = _accepted_gradients(member)
    gradient = -far - 1.0
    inside = (gradient > lower[:, chunk.labels].T) & (gradient < upper[:, chunk.labels].T)
    return np.asarray(((inside != invert) & others).any(axis=1))


def _test(member: Member, chunk: Chunk, every_value: bool) -> Tested:
    """Return the plane values of rows that have not been learned yet."""
    near, far = np.empty((len(chunk), member.n_classes)), np.empty((len(chunk), member.n_classes))
    for k in chunk.present:
        rows = chunk.labels == k
        near[rows], far[rows] = chunk.rows[rows] @ member.planes[k].T, chunk.rows[rows] @ member.planes[:, k].T
    if not every_value:
        return Tested(near, far, None)
    flat = member.planes.reshape(-1, member.planes.shape[2])
    values = (chunk.rows @ flat.T).astype(np.float64).reshape(-1, member.n_classes, member.n_classes)
    return Tested(near, far, values)


def _update_root(member: Member, k: int, rows: Array, weights: Array) -> None:
    """Update the root of class k with new rows, or mark it to be computed again if that is cheaper."""
    if 8 * len(rows) < rows.shape[1]:
        member.changed_sums[k] = True
        member.roots.update(k, rows, weights * member.class_factors[k])
    else:
        member.mark_changed(k, sums=True)
