"""Change the weight of rows: decay, drift, balanced classes.

Old rows lose weight because new rows get more: a row at time t has the weight decay^-t, and the ridge grows by the same
factor.  A common factor of all terms does not change problem (P), so the weights of old rows stay as they are.
"""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array
from ._loops import LARGEST_WEIGHT
from .kept import Chunk
from .member import Member

_START_AGAIN = 1e-3  # factor on the weight of all rows before a change
_LARGE_WEIGHT = 1e3  # weights of new rows that are rescaled along with other work
_LEAST_SHARE = 1e-12  # smallest factor by which a row fades within its own chunk
_EXPIRED_SHARE = 1e-4  # a kept row expires when less than this share of its weight is left
_LEAST_ROWS = 10.0  # a class does not fade below the weight of so many rows
_BALANCE_DRIFT = 0.01  # relative error of a class factor at which it is set again


def weigh(member: Member, chunk: Chunk) -> Array:
    """Return the weights of a block of new rows; with decay, each row weighs a little more than the one before."""
    n, decay = len(chunk), member.policy.decay
    member.mean_weight = (member.mean_weight * member.n_rows + float(chunk.weights.sum())) / (member.n_rows + n)
    member.n_rows += n
    if decay == 1.0:
        return chunk.weights * member.current_weight
    if math.log(member.current_weight) - n * math.log(decay) > math.log(LARGEST_WEIGHT):
        rescale(member, max(decay**n, 1e-30))  # so that the last of these rows has weight 1
    else:
        member.current_weight *= decay**-n
    weights: Array = chunk.weights * member.current_weight
    return weights * np.maximum(decay ** np.arange(n - 1.0, -1.0, -1.0), _LEAST_SHARE)


def needs_update(member: Member, *, along: bool = False) -> bool:
    """Whether weights must be rescaled or old rows expire; `along` with other work, at half of the way already."""
    share = 0.5 if along else 1.0
    faded = member.faded and member.clock - member.faded_at >= share * member.hold_lag
    return faded or member.current_weight > LARGEST_WEIGHT


def update_weights(member: Member) -> None:
    """Rescale weights if they are large, and let old rows expire."""
    if member.current_weight > _LARGE_WEIGHT:
        rescale(member)
    expire(member)


def rescale(member: Member, to: float = 1.0) -> None:
    """Rescale all weights: what is the current weight now becomes `to`, and the current weight is 1 again."""
    member.flush()
    factor = to / member.current_weight
    member.moments.scale(factor)
    member.roots.scale(factor)
    member.forgotten.scale(factor, slice(None))
    member.reweigh(np.full(len(member.kept), factor), np.full((len(member.kept), 1), factor))
    member.current_weight = 1.0


def fade(member: Member, factor: float) -> None:
    """Multiply the weight of all rows so far by this factor, at once."""
    member.flush()
    member.current_weight /= factor
    member.faded = True
    if member.current_weight > LARGEST_WEIGHT:
        rescale(member)
    member.changed_sums[:] = member.moments.counts > 0
    member.roots.invalidate(slice(None))


def start_again(member: Member, since: int) -> None:
    """Let rows from before the time `since` lose nearly all of their weight; planes are then solved again."""
    member.flush()
    kept = member.kept
    new = kept.times >= since
    summed = new & (~kept.reserve | (member.policy.statistics == "all"))
    for k in np.unique(kept.labels[summed]):  # what fades with all others is added again
        own = np.flatnonzero(summed & (kept.labels == k))
        member.moments.add(int(k), kept.rows[own], kept.weights[own] * (1.0 / _START_AGAIN - 1.0))
    factors = np.where(new, 1.0 / _START_AGAIN, 1.0)
    member.reweigh(factors, factors[:, None])
    fade(member, _START_AGAIN)
    member.mark_changed(slice(None), rows=True)
    member.solved_at[:] = member.clock - member.max_lag


def expire(member: Member) -> None:
    """On a fading stream, forget kept rows that have expired, and stop the fading of classes that no longer come."""
    if not member.faded:
        return
    member.flush()
    expired = member.kept.weights < _EXPIRED_SHARE * member.mean_weight * member.current_weight
    if expired.any():
        member.mark_changed(np.unique(member.kept.labels[expired]), rows=True)
        member.forget(member.kept.take(expired))
        member.kept = member.kept.take(~expired)
    _hold_weights(member)
    member.forgotten.farthest *= member.policy.decay ** (member.clock - member.faded_at)
    member.faded_at = member.clock


def _hold_weights(member: Member) -> None:
    """Raise the weight of classes that have faded below that of a few rows."""
    counts = member.moments.counts
    rows = member.forgotten.counts + np.bincount(member.kept.labels, minlength=member.n_classes)
    least = np.minimum(_LEAST_ROWS, rows) * member.mean_weight * member.current_weight
    low = np.flatnonzero((counts > 0) & (counts < least))
    if not len(low):
        return
    factors = np.ones(member.n_classes)
    factors[low] = least[low] / counts[low]
    of_rows = factors[member.kept.labels]
    member.reweigh(of_rows, of_rows[:, None])
    for k in low.tolist():
        member.moments.scale(float(factors[k]), k)
        member.roots.scale(float(factors[k]), k)
        member.forgotten.scale(float(factors[k]), k)
        if member.since_solve[k] or not _held_before(member, k, factors[k]):
            member.mark_changed(int(k), sums=True, rows=True)


def _held_before(member: Member, k: int, factor: float) -> bool:
    """Whether a class was held at this weight the last time too: relative to new rows, nothing of it has changed."""
    passed = member.policy.decay ** (member.faded_at - member.clock)
    return abs(factor / passed - 1.0) < _BALANCE_DRIFT


def balance(member: Member, tolerance: float = _BALANCE_DRIFT, only: Array | None = None) -> None:
    """Give every class, or some, the same total weight, by its weight so far (class_weight="balanced")."""
    counts = member.moments.counts
    alive = counts > 0
    factors = np.ones(member.n_classes)
    factors[alive] = counts[alive].sum() / (alive.sum() * counts[alive])
    changed = np.abs(factors / member.class_factors - 1.0) > tolerance
    for k in np.flatnonzero(changed) if only is None else only[changed[only]]:
        ratio = factors[k] / member.class_factors[k]
        member.forgotten.dual_sums[:, k] *= ratio
        member.forgotten.box_sums[:, k] *= ratio
        ratios = np.where(member.kept.labels == k, ratio, 1.0)[:, None]
        member.reweigh(np.ones(len(member.kept)), ratios)
        member.class_factors[k] = factors[k]
        member.mark_changed(int(k), sums=True, rows=True)
