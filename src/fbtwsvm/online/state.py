"""What a machine on a stream knows, and its upkeep: weights that fade, classes that come and go, sums that follow.

Per class: moments (count, mean, Gram matrix) of all rows, and a root of its inverse.  Per ordered pair (a, b): the
plane u_ab and the sum of alpha_i h_i over condensed rows.  Per kept row: a dual for each opponent.

Fading is done by making new rows heavier: the weight of a row that comes at time t is decay^-t, the ridge grows alike,
and since problem (P) does not change when all its terms are multiplied, nothing that is old has to be touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from .._arrays import Array
from ..model.membership import distances_to_means
from ..model.settings import Settings
from .kept import Chunk, Forgotten, Kept
from .moments import Moments, Roots
from .policy import Policy

_LAG, _LAG_HALF_LIVES = 1000, 10  # rows, or half-lives, after which the duals of all kept rows are brought up to date
_LARGEST_WEIGHT = 1e6  # how far weights may current_weight before all are brought down again
_LEAST_SHARE = 1e-12  # of its weight, that a row keeps until the end of its own chunk
_EXPIRED_SHARE = 1e-4  # a kept row of which no more than this is left goes
_LEAST = 10.0  # rows that fading leaves of a class that no longer comes
_BALANCE_DRIFT = 0.01  # how far the weight of a class may be off before it is set anew
_SHARE = 2  # a class that has grown by one part in so many is due for a resolve
_PER_CLASS = {
    "seen": 0,
    "since_solve": 0,
    "changed_sums": False,
    "changed_rows": False,
    "class_factors": 1.0,
    "nearest": 0.0,
    "farthest": 0.0,
}  # and of a new class


class State:
    """Planes, and all that is needed to go on learning, unlearning and fading."""

    def __init__(self, settings: Settings, policy: Policy, n_columns: int, dtype: np.dtype) -> None:
        self.settings, self.policy, self.dtype = settings, policy, dtype
        n_classes = len(settings.reg)
        self.moments = Moments(n_classes, n_columns)
        self.roots = Roots(n_classes, n_columns, dtype)
        self.planes = np.zeros((n_classes, n_classes, n_columns), dtype=dtype)
        self.gaps = np.zeros((n_classes, n_classes))
        self.sweeps = np.zeros((n_classes, n_classes), dtype=np.int64)
        self.bounds = np.zeros((n_classes, n_classes, 2))
        self.solved = np.zeros((n_classes, n_classes), dtype=bool)
        self.kept = Kept.empty(n_classes, n_columns, dtype)
        self.forgotten = Forgotten.nothing(n_classes, n_columns)
        self.changed_sums = np.zeros(n_classes, dtype=bool)  # classes whose sums changed since the last resolve
        self.changed_rows = np.zeros(n_classes, dtype=bool)  # classes whose kept rows changed
        self.class_factors = np.ones(n_classes)  # what class_weight="balanced" multiplies each class by
        self.nearest, self.farthest = np.zeros(n_classes), np.zeros(n_classes)  # extremes of the distance to the mean
        self.current_weight = 1.0  # the weight of a row that comes now
        self.faded = policy.decay < 1.0  # whether rows weigh less than when they came
        self.faded_at = 0  # the clock when extremes of distances were last faded
        self.mean_weight = 1.0  # mean sample weight of a row
        self.pending: list[Kept] = []  # rows that the planes know and the Gram matrices do not yet
        self.n_pending = 0  # how many those are
        self.seen = np.zeros(n_classes, dtype=np.int64)  # rows of each class until the last resolve
        self.since_solve = np.zeros(n_classes, dtype=np.int64)  # and since then
        self.clock = 0
        half_life = np.inf if policy.decay == 1.0 else np.log(0.5) / np.log(policy.decay)
        self.max_lag = max(1, int(min(_LAG, _LAG_HALF_LIVES * half_life)))
        for k in range(n_classes):
            self.refresh(k)

    def copy(self) -> Self:
        """Return a copy to work on; rows and traces, which are never changed in place, are shared."""
        shared = (self.kept, self.forgotten.traces, self.settings, self.policy, *self.pending)
        return deepcopy(self, {id(thing): thing for thing in shared})

    def before(self, classes: Array) -> Callable[[], None]:
        """Return what takes rows of these classes back that `learn` is about to learn one by one."""
        planes, counts, sums = self.planes.copy(), self.moments.counts.copy(), self.moments.sums.copy()
        ranks, roots = self.roots.ranks.copy(), [(k, self.roots.matrices[k].copy()) for k in classes]
        current_weight, clock, waiting, parts, unit = (
            self.current_weight,
            self.clock,
            self.n_pending,
            len(self.pending),
            self.mean_weight,
        )
        since = self.since_solve.copy()

        def undo() -> None:
            self.planes[:], self.moments.counts[:], self.moments.sums[:] = planes, counts, sums
            self.roots.ranks[:], self.since_solve[:] = ranks, since
            for k, root in roots:
                self.roots.matrices[k] = root
            self.current_weight, self.clock, self.n_pending, self.mean_weight = current_weight, clock, waiting, unit
            del self.pending[parts:]

        return undo

    def fits_in_place(self, labels: Array) -> bool:
        """Whether rows of these classes can be learned one by one without a resolve."""
        return self._fits(len(labels)) and self.room(labels) > len(labels)

    def room(self, labels: Array) -> int:
        """Return how many rows of these classes to learn until the next resolve, which may be more than there are.

        Duals of older rows grow old with the rows that come: at the latest after the lag, and when a class has grown by
        half since, so that a new class, whose every row counts, is settled often at first.
        """
        room = self.max_lag - self.n_pending
        if len(labels) == 1:
            k = labels[0]
            left = max(1, int(self.seen[k]) // _SHARE) - int(self.since_solve[k])
            return max(1, min(room, left if left <= 1 else 2))
        for k in np.unique(labels):
            left = max(1, int(self.seen[k]) // _SHARE) - int(self.since_solve[k])
            places = np.flatnonzero(labels == k)
            room = min(room, int(places[left - 1]) + 1 if left <= len(places) else len(labels) + 1)
        return max(1, room)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.planes)

    @property
    def alive(self) -> Array:
        """Classes of which there is anything: sums, or kept rows."""
        alive: Array = self.moments.counts > 0
        if self.policy.statistics == "kept":
            alive |= np.bincount(self.kept.labels, minlength=self.n_classes) > 0
        return alive

    @property
    def ridge(self) -> Array:
        """The ridge of each class, in the present unit of weight."""
        ridge: Array = self.settings.reg * self.current_weight
        return ridge

    def weigh(self, chunk: Chunk) -> Array:
        """Weights of new rows: each a little heavier than the one before when old rows fade."""
        n = len(chunk)
        self.mean_weight = (self.mean_weight * self.clock + float(chunk.weights.sum())) / (self.clock + n)
        if self.policy.decay == 1.0:
            return chunk.weights * self.current_weight
        if not self._fits(n):  # then let the last of these rows weigh 1
            self._rescale(max(self.policy.decay**n, 1e-30))
        else:
            self.current_weight *= self.policy.decay**-n
        shares = np.maximum(self.policy.decay ** np.arange(n - 1.0, -1.0, -1.0), _LEAST_SHARE)
        weights: Array = chunk.weights * self.current_weight * shares
        return weights

    def _fits(self, n_rows: int) -> bool:
        """Whether weights stay small enough while so many rows come."""
        return math.log(self.current_weight) - n_rows * math.log(self.policy.decay) <= math.log(_LARGEST_WEIGHT)

    def keep(self, rows: Kept) -> None:
        """Append rows to the kept ones; those that were not accepted only if there are second looks."""
        self.changed_rows[np.unique(rows.labels)] = True
        if self.policy.second_look == 0 and rows.reserve.any():
            dropped = rows.take(rows.reserve).by_class()
            self.forgotten.take(dropped, self.own_distances(dropped), self.class_factors, pull=False)
            rows = rows.take(~rows.reserve)
        self.kept = self.kept.join(rows)

    def known_ids(self) -> set[Any]:
        """Ids of rows that have been learned and not been unlearned."""
        kept = [key for rows in (self.kept, *self.pending) for key in rows.ids if key is not None]
        return {*kept, *self.forgotten.traces, *self.forgotten.new_traces}

    def own_distances(self, rows: Kept) -> Array:
        """Squared distance of each row to the mean of its class."""
        distances: Array = distances_to_means(rows.rows, self.moments.means)[np.arange(len(rows)), rows.labels]
        return distances

    def flush(self) -> None:
        """Bring Gram matrices and kept rows up to date with rows that were learned one by one."""
        pending, self.pending, self.n_pending = self.pending, [], 0
        if not pending:
            return
        rows = Kept.empty(self.n_classes, self.planes.shape[2], self.dtype).join(*pending)
        summed = ~rows.reserve | (self.policy.statistics == "all")
        for k in np.unique(rows.labels[summed]):
            own = np.flatnonzero((rows.labels == k) & summed)
            self.moments.add_gram(k, rows.rows[own], rows.weights[own])
            self.changed_sums[k] = True
        self.keep(rows)

    def move(self, kept: Kept, marked: Array, sign: float) -> None:
        """Add the marked rows to the sums of their classes, or take them out."""
        for k in np.unique(kept.labels[marked]):
            own = np.flatnonzero(marked & (kept.labels == k))
            self.moments.add(k, kept.rows[own], kept.weights[own], sign)
            if self.moments.counts[k] <= 1e-9 * kept.weights[own].sum():  # what is left is rounding
                self.moments.scale(0.0, k)
            self.changed_sums[k], self.roots.ranks[k] = True, kept.rows.shape[1]

    def expire(self) -> None:
        """On a fading stream: drop rows that have expired away, hold classes that have not come for long."""
        if not self.faded:
            return
        expired = self.kept.weights < _EXPIRED_SHARE * self.mean_weight * self.current_weight
        if expired.any():
            self.changed_rows[np.unique(self.kept.labels[expired])] = True
            leaving = self.kept.take(expired).by_class()
            self.forgotten.take(leaving, self.own_distances(leaving), self.class_factors)
            self.kept = self.kept.take(~expired)
        rows = self.forgotten.counts + np.bincount(self.kept.labels, minlength=self.n_classes)
        least = np.minimum(_LEAST, rows) * self.mean_weight * self.current_weight
        for k in np.flatnonzero((self.moments.counts > 0) & (self.moments.counts < least)):
            self.scale_class(int(k), float(least[k] / self.moments.counts[k]))
        self.forgotten.farthest *= self.policy.decay ** (self.clock - self.faded_at)
        self.faded_at = self.clock

    def scale_class(self, k: int, factor: float) -> None:
        """Multiply the weight of everything that is known of class k."""
        self.moments.scale(factor, k)
        self.forgotten.scale(factor, k)
        own = np.where(self.kept.labels == k, factor, 1.0)
        self._reweigh(own, own[:, None])
        self.changed_sums[k] = self.changed_rows[k] = True
        self.roots.ranks[k] = self.planes.shape[2]

    def _reweigh(self, weights: Array, duals: Array) -> None:
        kept = self.kept
        self.kept = replace(kept, weights=kept.weights * weights, alpha=kept.alpha * duals, box=kept.box * duals)

    def _rescale(self, to: float = 1.0) -> None:
        """Divide all weights, so that a row that came now would weigh `to`, and the unit of weight is again 1."""
        self.flush()
        factor = to / self.current_weight
        self.moments.scale(factor)
        self.roots.scale(factor)
        self.forgotten.scale(factor, slice(None))
        self._reweigh(np.full(len(self.kept), factor), np.full((len(self.kept), 1), factor))
        self.current_weight = 1.0

    def fade(self, factor: float) -> None:
        """Fade everything that is known, at once, to this share of its weight."""
        self.flush()
        self.current_weight /= factor
        self.faded = True
        if self.current_weight > _LARGEST_WEIGHT:
            self._rescale()
        self.changed_sums[:] = self.moments.counts > 0
        self.roots.ranks[:] = self.planes.shape[2]

    def balance(self) -> None:
        """Give every class the same total weight, by its count so far (class_weight="balanced")."""
        alive = self.moments.counts > 0
        wanted = np.ones(self.n_classes)
        wanted[alive] = self.moments.counts[alive].sum() / (alive.sum() * self.moments.counts[alive])
        for k in np.flatnonzero(np.abs(wanted / self.class_factors - 1.0) > _BALANCE_DRIFT):
            ratio = wanted[k] / self.class_factors[k]
            self.forgotten.dual_sums[:, k] *= ratio
            self.forgotten.box_sums[:, k] *= ratio
            self._reweigh(np.ones(len(self.kept)), np.where(self.kept.labels == k, ratio, 1.0)[:, None])
            self.class_factors[k] = wanted[k]
            self.changed_sums[k] = self.changed_rows[k] = True
            self.roots.ranks[k] = self.planes.shape[2]

    def refresh(self, k: int) -> None:
        """Make the root of class k anew from its sums."""
        self.roots.refresh(k, self.class_factors[k] * self.moments.grams[k], float(self.ridge[k]))

    def insert_class(self, k: int, settings: Settings) -> None:
        """Make room for a new class at index k; nothing that is known changes."""
        self.flush()
        self.settings = settings
        self.moments.insert(k)
        self.roots.insert(k)
        self.forgotten.insert_class(k)
        self.kept = self.kept.insert_class(k)
        for axis in (0, 1):
            self._each_pair(partial(np.insert, obj=k, values=0, axis=axis))
        for name, value in _PER_CLASS.items():
            setattr(self, name, np.insert(getattr(self, name), k, value))
        self.refresh(k)

    def delete_class(self, k: int, settings: Settings) -> None:
        """Remove class k."""
        self.settings = settings
        self.moments.delete(k)
        self.roots.delete(k)
        self.forgotten.delete_class(k)
        self.kept = self.kept.delete_class(k)
        for axis in (0, 1):
            self._each_pair(partial(np.delete, obj=k, axis=axis))
        for name in _PER_CLASS:
            setattr(self, name, np.delete(getattr(self, name), k))

    def _each_pair(self, change: Callable[[Array], Array]) -> None:
        for name in ("planes", "gaps", "sweeps", "bounds", "solved"):
            setattr(self, name, change(getattr(self, name)))
