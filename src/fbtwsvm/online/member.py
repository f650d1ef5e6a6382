"""One member of a stream's committee: its state.

Per class: moments (count, sum, Gram matrix) of all rows, and a root of the inverse Gram matrix.  Per ordered pair
(a, b): the plane u_ab, and the sum of alpha_i h_i over condensed rows.  Per kept row: a dual for each opponent.
The algorithms that change it are in `absorb`, `resolve`, `fading`, `unlearn` and `merge`.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, Index
from ..batch.model import BatchModel
from ..model.membership import Ranges, distances_to_means
from ..model.settings import Settings
from . import axes
from .forgotten import Forgotten
from .kept import Kept
from .moments import Moments, Roots
from .policy import Policy
from .undo import Undo

_LAG, _LAG_HALF_LIVES = 1000, 10  # a re-solve is due after so many rows, or half-lives
_GROWN = 2  # a re-solve is due when a class has grown by one part in so many


class Member:
    """Planes, and all that learning, unlearning and fading need.

    Attributes
    ----------
    moments, roots, planes, gaps, sweeps, bounds
        Sums of the classes, roots of their inverse Gram matrices, planes, and gaps, sweeps and bounds of the solver.
    solved : (K, K)
        Planes that have been solved at least once.
    kept, forgotten, pending, n_pending
        Kept rows, sums over forgotten rows, and rows that are already part of the planes but not yet of the Gram
        matrices and the kept rows.
    farthest, low, high
        Ranges of the memberships at the last re-solve, see `model.membership.Ranges`.
    class_factors : (K,)
        Factors of class_weight="balanced".
    changed_sums, changed_rows : (K,)
        Classes whose sums, or whose kept rows, have changed since the last re-solve.
    seen, since_solve : (K,)
        Rows of each class until the last re-solve, and since then.
    current_weight, mean_weight
        Weight of a new row with a sample weight of one (see `fading`), and mean sample weight.
    faded, faded_at
        Whether any row has lost weight; the clock when distances of forgotten rows were last faded.
    clock, n_rows, max_lag
        Rows learned, how many of them have not been unlearned, and the largest number of rows between two re-solves.
    """

    CLASS_AXES: ClassVar[dict[str, tuple[int, ...]]] = {
        "planes": (0, 1), "gaps": (0, 1), "sweeps": (0, 1), "bounds": (0, 1), "solved": (0, 1), "low": (0, 1),
        "high": (0, 1), "farthest": (0,), "seen": (0,), "since_solve": (0,), "changed_sums": (0,),
        "changed_rows": (0,), "class_factors": (0,),
    }  # fmt: skip
    NEW_CLASS: ClassVar[dict[str, Any]] = {"class_factors": 1.0}

    def __init__(self, settings: Settings, policy: Policy, n_columns: int, dtype: np.dtype) -> None:
        self.settings = settings
        self.policy = policy
        self.dtype = dtype
        n_classes = len(settings.reg)
        self.moments = Moments(n_classes, n_columns)
        self.roots = Roots(n_classes, n_columns, dtype)
        self.planes = np.zeros((n_classes, n_classes, n_columns), dtype=dtype)
        self.gaps = np.zeros((n_classes, n_classes))
        self.sweeps = np.zeros((n_classes, n_classes), dtype=np.int64)
        self.bounds = np.zeros((n_classes, n_classes, 2))
        self.solved = np.zeros((n_classes, n_classes), dtype=bool)
        self.accepting: Any = None  # bounds of the accept rule, see `absorb`; computed again after every re-solve
        self.kept = Kept.empty(n_classes, n_columns, dtype)
        self.forgotten = Forgotten.nothing(n_classes, n_columns)
        self.pending: list[Kept] = []
        self.n_pending = 0
        self.ranges = Ranges.unknown(n_classes, settings.mu)
        self.class_factors = np.ones(n_classes)
        self.changed_sums = np.zeros(n_classes, dtype=bool)
        self.changed_rows = np.zeros(n_classes, dtype=bool)
        self.seen = np.zeros(n_classes, dtype=np.int64)
        self.since_solve = np.zeros(n_classes, dtype=np.int64)
        self.current_weight = 1.0
        self.mean_weight = 1.0
        self.faded = policy.decay < 1.0
        self.faded_at = 0
        self.clock = self.n_rows = 0
        half_life = np.inf if policy.decay == 1.0 else np.log(0.5) / np.log(policy.decay)
        self.max_lag = max(1, int(min(_LAG, _LAG_HALF_LIVES * half_life)))
        for k in range(n_classes):
            self.refresh(k)

    @classmethod
    def from_sums(cls, fit: BatchModel, settings: Settings, policy: Policy) -> Member:
        """Return a member that continues from the sums and support rows of a fit."""
        sums = fit.sums
        assert sums is not None
        n_classes, n_columns = len(fit.classes), fit.planes.shape[2]
        member = cls(settings, policy, n_columns, fit.mapping.dtype)
        for name in ("counts", "sums", "grams"):
            setattr(member.moments, name, getattr(sums, name).copy())
        member.planes, member.gaps = fit.planes.copy(), fit.gaps.copy()
        member.solved[:] = ~np.eye(n_classes, dtype=bool)
        member.ranges = replace(sums.ranges, low=sums.ranges.low.copy(), high=sums.ranges.high.copy())
        member.seen, member.clock = sums.n_rows.copy(), int(sums.n_rows.sum())
        member.n_rows = member.clock
        member.mean_weight = float(sums.counts.sum()) / max(member.clock, 1)
        if policy.balanced:
            member.class_factors = sums.factors.copy()
        support = sums.support
        n = len(support.labels)
        member.kept = Kept(
            rows=support.rows, labels=support.labels, weights=support.weights, times=np.arange(n),
            ids=np.full(n, None, dtype=object), raw=support.raw, alpha=support.alpha, box=support.box,
            idle_count=np.zeros(n, dtype=np.int64), reserve=np.zeros(n, dtype=bool),
        )  # fmt: skip
        forgotten = member.forgotten
        forgotten.dual_sums, forgotten.box_sums = sums.dual_sums.copy(), sums.box_sums.copy()
        forgotten.nearest, forgotten.farthest = sums.nearest.copy(), sums.farthest.copy()
        forgotten.counts = sums.n_rows - np.bincount(support.labels, minlength=n_classes)
        forgotten.n_condensed = sums.n_condensed.copy()
        if policy.statistics == "kept":  # as in the paper, only support rows are summed
            member.moments = Moments(n_classes, n_columns)
            forgotten.dual_sums[:] = 0.0
            forgotten.box_sums[:] = 0.0
            member.move(member.kept, np.ones(n, dtype=bool), 1.0)
        for k in range(n_classes):
            member.refresh(k)
        return member

    @property
    def ranges(self) -> Ranges:
        """Ranges of the memberships at the last re-solve."""
        return Ranges(self.farthest, self.low, self.high, self.settings.mu, 1.0 - self.settings.mu)

    @ranges.setter
    def ranges(self, ranges: Ranges) -> None:
        self.farthest = ranges.farthest
        self.low = ranges.low
        self.high = ranges.high

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.planes)

    @property
    def alive(self) -> Array:
        """Mark the classes with any weight or any kept row."""
        alive: Array = self.moments.counts > 0
        if self.policy.statistics == "kept":
            alive |= np.bincount(self.kept.labels, minlength=self.n_classes) > 0
        return alive

    @property
    def ridge(self) -> Array:
        """The ridge of each class, in the current unit of weight."""
        ridge: Array = self.settings.reg * self.current_weight
        return ridge

    def copy(self) -> Member:
        """Return a copy to work on; rows and traces, which never change, are shared."""
        shared = (self.kept, self.forgotten.traces, self.settings, self.policy, *self.pending)
        return deepcopy(self, {id(thing): thing for thing in shared})

    def remember(self, undo: Undo, classes: Array) -> None:
        """Save in `undo` what changes when rows of these classes are learned row by row."""
        undo.keep(self, "planes", "current_weight", "clock", "n_pending", "pending", "mean_weight", "since_solve")
        undo.keep(self, "accepting", "n_rows")
        undo.keep(self.moments, "counts", "sums")
        undo.keep(self.roots, "ranks")
        for k in classes:
            undo.keep_part(self.roots.matrices, k)

    def mark_changed(self, k: int | Index, *, sums: bool = False, rows: bool = False) -> None:
        """Note that the sums (then the root is computed again from them) or the kept rows of a class have changed."""
        if sums:
            self.changed_sums[k] = True
            self.roots.invalidate(k)
        if rows:
            self.changed_rows[k] = True

    def room(self, labels: Array) -> int:
        """Return how many of these rows to learn until the next re-solve; more than their number if none is due.

        A re-solve is due after `max_lag` rows, or when a class has grown by half since the last one.  A new class, in
        which every row matters, is therefore re-solved often at first.
        """
        room = self.max_lag - self.n_pending
        if len(labels) == 1:
            left = self._rows_left(labels[0])
            return max(1, min(room, left if left <= 1 else 2))
        for k in np.unique(labels):
            left = self._rows_left(k)
            places = np.flatnonzero(labels == k)
            room = min(room, int(places[left - 1]) + 1 if left <= len(places) else len(labels) + 1)
        return max(1, room)

    def _rows_left(self, k: int) -> int:
        """Return how many more rows of class k make it grow by half."""
        return max(1, int(self.seen[k]) // _GROWN) - int(self.since_solve[k])

    def keep(self, rows: Kept) -> None:
        """Append rows to the kept ones; those of the reserve only if the policy has one."""
        self.mark_changed(np.unique(rows.labels), rows=True)
        if self.policy.second_look == 0 and rows.reserve.any():
            self.forget(rows.take(rows.reserve), condense=False)
            rows = rows.take(~rows.reserve)
        self.kept = self.kept.join(rows)

    def forget(self, rows: Kept, *, condense: bool = True) -> None:
        """Add rows that are no longer kept to the sums over forgotten rows."""
        rows = rows.by_class()
        distances = distances_to_means(rows.rows, self.moments.means)[np.arange(len(rows)), rows.labels]
        self.forgotten.take(rows, distances, self.class_factors, condense=condense)

    def known_ids(self) -> set[Any]:
        """Return the ids of all rows that have been learned and not unlearned."""
        kept = [key for rows in (self.kept, *self.pending) for key in rows.ids if key is not None]
        return {*kept, *self.forgotten.traces}

    def flush(self) -> None:
        """Add the rows that were learned row by row to the Gram matrices and the kept rows."""
        pending = self.pending
        self.pending = []
        self.n_pending = 0
        if not pending:
            return
        rows = Kept.empty(self.n_classes, self.planes.shape[2], self.dtype).join(*pending)
        summed = ~rows.reserve | (self.policy.statistics == "all")
        for k in np.unique(rows.labels[summed]):
            chosen = np.flatnonzero((rows.labels == k) & summed)
            self.moments.add_gram(k, rows.rows[chosen], rows.weights[chosen])
            self.changed_sums[k] = True  # the root is up to date
        self.keep(rows)

    def move(self, kept: Kept, marked: Array, sign: float) -> None:
        """Add the marked rows to the sums of their classes, or subtract them if `sign` is -1."""
        for k in np.unique(kept.labels[marked]):
            chosen = np.flatnonzero(marked & (kept.labels == k))
            self.moments.add(k, kept.rows[chosen], kept.weights[chosen], sign)
            if self.moments.counts[k] <= 1e-9 * kept.weights[chosen].sum():  # only rounding errors are left
                self.moments.scale(0.0, k)
            self.mark_changed(int(k), sums=True)

    def reweigh(self, weights: Array, duals: Array) -> None:
        """Multiply the weights of the kept rows by `weights`, their duals and bounds by `duals`."""
        kept = self.kept
        self.kept = replace(kept, weights=kept.weights * weights, alpha=kept.alpha * duals, box=kept.box * duals)

    def refresh(self, k: int) -> None:
        """Compute the root of class k again from its sums."""
        self.roots.refresh(k, self.class_factors[k] * self.moments.grams[k], float(self.ridge[k]))

    def insert_class(self, k: int, settings: Settings) -> None:
        """Insert a new class at index k; nothing else changes."""
        self.flush()
        self.settings = settings
        self.kept = self.kept.insert_class(k)
        self.forgotten.insert_class(k)
        self.accepting = None
        for part in (self, self.moments, self.roots):
            axes.insert_class(part, k)
        self.refresh(k)

    def delete_class(self, k: int, settings: Settings) -> None:
        """Remove class k."""
        self.settings = settings
        self.kept = self.kept.delete_class(k)
        self.forgotten.delete_class(k)
        self.accepting = None
        for part in (self, self.moments, self.roots):
            axes.delete_class(part, k)

    def remap(self, change: Array, rows: Array) -> None:
        """Change the feature map: sums over forgotten rows use h_new = change h, kept rows become `rows`."""
        self.flush()
        kept, n_columns = self.kept, len(change)
        summed = ~kept.reserve | (self.policy.statistics == "all")
        self.move(kept, summed, -1.0)
        self.moments.remap(change)
        self.forgotten.dual_sums = self.forgotten.dual_sums @ change.T
        self.kept = replace(kept, rows=rows)
        self.move(self.kept, summed, 1.0)
        self.roots = Roots(self.n_classes, n_columns, self.dtype)
        self.planes = np.zeros((self.n_classes, self.n_classes, n_columns), dtype=self.dtype)
        for k in range(self.n_classes):
            self.refresh(k)
        self.changed_sums[:], self.changed_rows[:] = True, True
