"""How rows lose weight: decay, drift, classes that are balanced.

Fading is done by making new rows heavier: the weight of a row that comes at time t is decay^-t, the ridge grows alike,
and since problem (P) does not change when all its terms are multiplied, nothing that is old has to be touched.
"""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array
from .kept import Chunk
from .member import Member

_LARGEST_WEIGHT = 1e6  # how far the weight of new rows may grow before all weights are rescaled
_LEAST_SHARE = 1e-12  # of its weight, that a row keeps until the end of its own chunk
_EXPIRED_SHARE = 1e-4  # a kept row of which no more than this is left goes
_LEAST_ROWS = 10.0  # rows that fading leaves of a class that no longer comes
_BALANCE_DRIFT = 0.01  # how far the weight of a class may be off before it is set anew


def weigh(member: Member, chunk: Chunk) -> Array:
    """Return the weights of new rows: each a little heavier than the one before when old rows fade."""
    n, decay = len(chunk), member.policy.decay
    member.mean_weight = (member.mean_weight * member.clock + float(chunk.weights.sum())) / (member.clock + n)
    if decay == 1.0:
        return chunk.weights * member.current_weight
    if not has_room(member, n):  # then let the last of these rows weigh 1
        rescale(member, max(decay**n, 1e-30))
    else:
        member.current_weight *= decay**-n
    shares = np.maximum(decay ** np.arange(n - 1.0, -1.0, -1.0), _LEAST_SHARE)
    weights: Array = chunk.weights * member.current_weight * shares
    return weights


def has_room(member: Member, n_rows: int) -> bool:
    """Whether weights stay small enough while so many rows come."""
    return math.log(member.current_weight) - n_rows * math.log(member.policy.decay) <= math.log(_LARGEST_WEIGHT)


def rescale(member: Member, to: float = 1.0) -> None:
    """Divide all weights, so that a row that came now would weigh `to`, and the unit of weight is again 1."""
    member.flush()
    factor = to / member.current_weight
    member.moments.scale(factor)
    member.roots.scale(factor)
    member.forgotten.scale(factor, slice(None))
    member.reweigh(np.full(len(member.kept), factor), np.full((len(member.kept), 1), factor))
    member.current_weight = 1.0


def fade(member: Member, factor: float) -> None:
    """Fade everything that is known, at once, to this share of its weight."""
    member.flush()
    member.current_weight /= factor
    member.faded = True
    if member.current_weight > _LARGEST_WEIGHT:
        rescale(member)
    member.changed_sums[:] = member.moments.counts > 0
    member.roots.invalidate(slice(None))


def expire(member: Member) -> None:
    """On a fading stream: drop kept rows of which nothing is left, hold classes that have not come for long."""
    if not member.faded:
        return
    expired = member.kept.weights < _EXPIRED_SHARE * member.mean_weight * member.current_weight
    if expired.any():
        member.mark_changed(np.unique(member.kept.labels[expired]), rows=True)
        member.forget(member.kept.take(expired))
        member.kept = member.kept.take(~expired)
    counts = member.moments.counts
    rows = member.forgotten.counts + np.bincount(member.kept.labels, minlength=member.n_classes)
    least = np.minimum(_LEAST_ROWS, rows) * member.mean_weight * member.current_weight
    for k in np.flatnonzero((counts > 0) & (counts < least)):
        _scale_class(member, int(k), float(least[k] / counts[k]))
    member.forgotten.farthest *= member.policy.decay ** (member.clock - member.faded_at)
    member.faded_at = member.clock


def balance(member: Member) -> None:
    """Give every class the same total weight, by its count so far (class_weight="balanced")."""
    counts = member.moments.counts
    alive = counts > 0
    wanted = np.ones(member.n_classes)
    wanted[alive] = counts[alive].sum() / (alive.sum() * counts[alive])
    for k in np.flatnonzero(np.abs(wanted / member.class_factors - 1.0) > _BALANCE_DRIFT):
        ratio = wanted[k] / member.class_factors[k]
        member.forgotten.dual_sums[:, k] *= ratio
        member.forgotten.box_sums[:, k] *= ratio
        own = np.where(member.kept.labels == k, ratio, 1.0)[:, None]
        member.reweigh(np.ones(len(member.kept)), own)
        member.class_factors[k] = wanted[k]
        member.mark_changed(int(k), sums=True, rows=True)


def _scale_class(member: Member, k: int, factor: float) -> None:
    """Multiply the weight of everything that is known of class k."""
    member.moments.scale(factor, k)
    member.forgotten.scale(factor, k)
    own = np.where(member.kept.labels == k, factor, 1.0)
    member.reweigh(own, own[:, None])
    member.mark_changed(k, sums=True, rows=True)
