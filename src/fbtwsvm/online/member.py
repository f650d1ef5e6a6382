"""One member of a stream's committee: its state.

Per class: moments (count, sum, Gram matrix) of all rows, and a root of the inverse Gram matrix.  Per ordered pair
(a, b): the plane u_ab, and the sum of alpha_i h_i over condensed rows.  Per kept row: a dual for each opponent.
The algorithms that change it are in `absorb`, `resolve`, `fading`, `unlearn` and `merge`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, Index
from ..batch.model import BatchModel
from ..model.membership import Ranges, distances_to_own_mean
from ..model.new_map import NewMap
from ..model.settings import Settings
from ..solver.factors import gram_matrix
from . import axes
from .forgotten import Forgotten
from .kept import Kept
from .member_columns import used_columns
from .moments import Grams, Moments
from .pending import Pending
from .policy import Policy, settings_of
from .roots import Roots, most_low_rank
from .undo import Undo

_LAG, _LAG_HALF_LIVES = 1000, 10  # a re-solve is due after so many rows, or half-lives
_HOLD_HALF_LIVES = 5  # after so many, weights of classes that no longer come are raised again


class Member:
    """Planes, and all that learning, unlearning and fading need.

    Attributes
    ----------
    bounded
        Whether no mapped row is long.
    first
        The first column of mapped rows that the member uses; there are as many as its planes have, and the bias.
    moments, roots, planes, gaps, sweeps, bounds
        Sums of the classes, roots of their inverse Gram matrices, planes, and gaps, sweeps and bounds of the solver.
    solved : (K, K)
        Planes that have been solved at least once.
    kept, forgotten, pending
        Kept rows sorted by class, sums over forgotten rows, and rows that are already part of the planes but not yet of
        the Gram matrices and the kept rows.
    farthest, low, high
        Ranges of the memberships at the last re-solve, see `model.membership.Ranges`.
    class_factors : (K,)
        Factors of class_weight="balanced".
    changed_sums : (K,), changed_rows : (K, K)
        Classes whose sums have changed since the planes near them were solved; [a, b]: kept rows of b have changed
        since the planes near a were solved.
    seen, since_solve, solved_at : (K,)
        Rows of each class until the planes near it were last solved, rows since then, and the clock at that time.
    current_weight, mean_weight
        Weight of a new row with a sample weight of one (see `fading`), and mean sample weight.
    faded, faded_at
        Whether any row has lost weight; the clock when distances of forgotten rows were last faded.
    clock, n_rows, max_lag, hold_lag
        Rows learned, how many of them have not been unlearned, the number of rows after which a class is re-solved at
        the latest, and that after which faded weights are brought up to date.
    """

    CLASS_AXES: ClassVar[dict[str, tuple[int, ...]]] = {
        "planes": (0, 1), "gaps": (0, 1), "sweeps": (0, 1), "bounds": (0, 1), "solved": (0, 1), "low": (0, 1),
        "high": (0, 1), "farthest": (0,), "seen": (0,), "since_solve": (0,), "solved_at": (0,), "changed_sums": (0,),
        "changed_rows": (0, 1), "class_factors": (0,),
    }  # fmt: skip
    NEW_CLASS: ClassVar[dict[str, Any]] = {"class_factors": 1.0}

    def __init__(
        self,
        settings: Settings,
        policy: Policy,
        features: slice,
        dtype: np.dtype,
        *,
        bounded: bool = False,
    ) -> None:
        self.first, n_columns = features.start, features.stop - features.start + 1
        self.settings = settings = settings_of(policy, settings)
        self.policy = policy
        self.dtype = dtype
        n_classes = len(settings.reg)
        self.moments = Moments(n_classes, n_columns)
        self.bounded = bounded
        self.roots = self.empty_roots(n_classes, n_columns)
        self.planes = np.zeros((n_classes, n_classes, n_columns), dtype=dtype)
        self.gaps = np.zeros((n_classes, n_classes))
        self.sweeps = np.zeros((n_classes, n_classes), dtype=np.int64)
        self.bounds = np.zeros((n_classes, n_classes, 2))
        self.solved = np.zeros((n_classes, n_classes), dtype=bool)
        self.accepting: Any = None  # bounds of the accept rule, see `absorb`; computed again after every re-solve
        self.kept = Kept.empty(n_classes, n_columns, dtype)
        self.forgotten = Forgotten.nothing(n_classes, n_columns)
        self.pending = Pending(n_classes, n_columns, dtype)
        self.ranges = Ranges.unknown(n_classes, settings.mu)
        self.class_factors = np.ones(n_classes)
        self.changed_sums = np.zeros(n_classes, dtype=bool)
        self.changed_rows = np.zeros((n_classes, n_classes), dtype=bool)
        self.seen = np.zeros(n_classes, dtype=np.int64)
        self.since_solve = np.zeros(n_classes, dtype=np.int64)
        self.solved_at = np.zeros(n_classes, dtype=np.int64)
        self.current_weight = 1.0
        self.mean_weight = 1.0
        self.faded = policy.decay < 1.0
        self.faded_at = 0
        self.clock = self.n_rows = 0
        self.max_lag = max(1, round(min(_LAG, _LAG_HALF_LIVES * policy.half_life)))
        self.hold_lag = hold_lag(policy)
        for k in range(n_classes):
            self.roots.start(k, float(self.ridge[k]))

    @classmethod
    def from_sums(cls, fit: BatchModel, settings: Settings, policy: Policy, features: slice) -> Member:
        """Return a member that continues from the sums and support rows of a fit."""
        sums = fit.sums
        assert sums is not None
        n_classes = len(fit.classes)
        member = cls(settings, policy, features, fit.mapping.dtype, bounded=fit.mapping.bounded)
        columns = member.columns
        member.moments.counts, member.moments.sums = sums.counts.copy(), sums.sums[:, columns]
        member.moments.grams = Grams(gram[np.ix_(columns, columns)] for gram in sums.grams)
        member.planes, member.gaps = fit.planes[..., columns], fit.gaps.copy()
        member.solved[:] = ~np.eye(n_classes, dtype=bool)
        member.ranges = replace(sums.ranges, low=sums.ranges.low.copy(), high=sums.ranges.high.copy())
        member.seen, member.clock = sums.n_rows.copy(), int(sums.n_rows.sum())
        member.n_rows = member.clock
        member.solved_at[:] = member.clock
        member.mean_weight = float(sums.counts.sum()) / max(member.clock, 1)
        if policy.balanced:
            member.class_factors = sums.factors.copy()
        support = sums.support
        n = len(support.labels)
        member.kept = Kept(
            rows=support.rows[:, columns], labels=support.labels, weights=support.weights, times=np.arange(n),
            ids=np.full(n, None, dtype=object), raw=support.raw, alpha=support.alpha, box=support.box,
            idle_count=np.zeros(n, dtype=np.int64), reserve=np.zeros(n, dtype=bool),
        ).by_class()  # fmt: skip
        forgotten = member.forgotten
        forgotten.dual_sums, forgotten.box_sums = sums.dual_sums[..., columns], sums.box_sums.copy()
        forgotten.nearest, forgotten.farthest = sums.nearest.copy(), sums.farthest.copy()
        forgotten.counts = sums.n_rows - np.bincount(support.labels, minlength=n_classes)
        forgotten.n_condensed = sums.n_condensed.copy()
        if policy.statistics == "kept":  # as in the paper, only support rows are summed
            member.moments = Moments(n_classes, len(columns))
            forgotten.dual_sums[:] = 0.0
            forgotten.box_sums[:] = 0.0
            member.move(member.kept, np.ones(n, dtype=bool), 1.0)
        for k in range(n_classes):
            member.refresh(k)
        if len(columns) < fit.planes.shape[2]:  # its planes are not those of the fit
            member.mark_changed(slice(None), sums=True)
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
    def columns(self) -> Array:
        """The columns of mapped rows that the member uses; the last one is the bias."""
        return np.append(self.first + np.arange(self.planes.shape[2] - 1), -1)

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

    def empty_roots(self, n_classes: int, n_columns: int) -> Roots:
        """Return roots that are still to be computed; only bounded rows may have some of low rank."""
        most = most_low_rank(n_columns, self.dtype, self.settings.reg) if self.bounded else 0
        return Roots(n_classes, n_columns, self.dtype, most)

    def used(self, rows: Array) -> Array:
        """Return the columns of mapped rows that the member uses."""
        return used_columns(rows, self.first, self.planes.shape[2])

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the bounds of the accept rule, which follow from the rest."""
        return {**vars(self), "accepting": None}

    def copy(self) -> Member:
        """Return a copy to work on; rows and traces, which never change, are shared."""
        shared = (self.kept, self.forgotten.traces, self.settings, self.policy)
        return deepcopy(self, {id(thing): thing for thing in shared})

    def snapshot(self) -> Member:
        """Return a copy without roots and planes, which shares the Gram matrices and the rows."""
        clone = copy(self)
        for name in self.CLASS_AXES:
            setattr(clone, name, getattr(self, name).copy())
        clone.planes = np.zeros((self.n_classes, self.n_classes, 0), dtype=self.dtype)
        clone.roots = Roots(0, 0, self.dtype)
        clone.moments, clone.pending = deepcopy(self.moments), deepcopy(self.pending)
        clone.forgotten = deepcopy(self.forgotten, {id(self.forgotten.traces): self.forgotten.traces})
        return clone

    def remember(self, undo: Undo, classes: Iterable[int]) -> None:
        """Save in `undo` what changes when rows of these classes, and one more, are learned row by row."""
        undo.keep(self, "planes", "since_solve")
        undo.keep(self.moments, "counts", "sums")
        self._remember_roots(undo, classes, "ranks")
        self.pending.remember(undo)

    def _remember_roots(self, undo: Undo, classes: Iterable[int], *names: str, whole: bool = False) -> None:
        """Save arrays of the roots, and the roots of these classes, and the one that is still to be updated.

        A root of low rank only grows unless it is computed again, which `whole` says.
        """
        roots = self.roots
        late = roots.late_place.item()
        if late >= 0:
            undo.keep_part(roots.matrices, late)
        undo.keep(roots, "late", "late_place", "low_ranks", *names)
        for k in classes:
            low_rank, place = int(roots.low_ranks[k]), int(roots.places[k])
            if low_rank < 0:
                undo.keep_part(roots.matrices, place)
            elif whole:
                undo.keep_part(roots.matrices, (place, slice(0, roots.most_low_rank)))

    def remember_references(self, undo: Undo) -> None:
        """Save in `undo` what changes when a class comes: pending rows are added, arrays become wider."""
        undo.keep(self, "changed_sums", "changed_rows")
        undo.keep(self.moments, "grams")
        self._remember_roots(undo, ())
        undo.keep(self.forgotten, *(self.forgotten.CLASS_AXES if self.policy.second_look == 0 else ()))
        self.pending.remember(undo)

    def remember_all(self, undo: Undo, classes: Iterable[int]) -> None:
        """Save in `undo` what changes when planes near these classes are solved, or when their rows fade."""
        undo.keep(self, *self.CLASS_AXES)
        undo.keep(self.moments, "counts", "sums", "grams")
        self._remember_roots(undo, classes, "places", "ranks", "ridges", whole=True)
        undo.keep(self.forgotten, *(name for name in self.forgotten.CLASS_AXES if name != "dual_sums"))
        for k in classes:
            undo.keep_part(self.forgotten.dual_sums, (slice(None), int(k)))
        self.pending.remember(undo)

    def mark_changed(self, k: int | Index, *, sums: bool = False, rows: bool = False) -> None:
        """Note that the sums (then the root is computed again from them) or the kept rows of a class have changed."""
        if sums:
            self.changed_sums[k] = True
            self.roots.invalidate(k)
        if rows:
            self.changed_rows[:, k] = True

    def keep(self, rows: Kept) -> None:
        """Add rows to the kept ones; those of the reserve only if the policy has one."""
        self.mark_changed(np.unique(rows.labels), rows=True)
        if self.policy.second_look == 0 and rows.reserve.any():
            self.forget(rows.take(rows.reserve), condense=False)
            rows = rows.take(~rows.reserve)
        self.kept = self.kept.merged(rows)

    def forget(self, rows: Kept, *, condense: bool = True) -> None:
        """Add rows that are no longer kept to the sums over forgotten rows."""
        rows = rows.by_class()
        distances = distances_to_own_mean(rows.rows, rows.labels, self.moments.means)
        self.forgotten.take(rows, distances, self.class_factors, condense=condense)

    def known_ids(self) -> set[Any]:
        """Return the ids of all rows that have been learned and not unlearned."""
        stored = (self.kept.ids, self.pending.ids[: len(self.pending)])
        return {*(key for ids in stored for key in ids if key is not None), *self.forgotten.traces}

    def flush(self) -> None:
        """Add the rows that were learned row by row to the Gram matrices and the kept rows."""
        if not len(self.pending):
            return
        rows = self.pending.kept()
        self.pending.clear()
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
        self.settings = settings_of(self.policy, settings)
        self.kept = self.kept.insert_class(k)
        self.forgotten.insert_class(k)
        self.accepting = None
        axes.insert_class(self, k)
        axes.insert_class(self.pending, k)
        self.moments.insert_class(k)
        self.roots.insert_class(k)
        self.roots.start(k, float(self.ridge[k]))

    def delete_class(self, k: int, settings: Settings) -> None:
        """Remove class k."""
        self.settings = settings_of(self.policy, settings)
        self.kept = self.kept.delete_class(k)
        self.forgotten.delete_class(k)
        self.accepting = None
        for part in (self, self.roots):
            axes.delete_class(part, k)
        self.moments.delete_class(k)
        self.pending = Pending(self.n_classes, self.planes.shape[2], self.dtype)

    def remap(self, new_map: NewMap, rows: Array, features: slice) -> Callable[[int], None]:
        """Change the feature map: kept rows become `rows`, sums over forgotten rows follow the change of the map.

        The member then uses these features of the new map.  Returns a function that does the rest for a class; it must
        be called for each.
        """
        self.flush()
        new_columns = np.append(np.arange(features.start, features.stop), -1)
        old_columns = np.append(self.first + np.arange(self.kept.rows.shape[1] - 1), -1)
        change, missed = new_map.change[np.ix_(new_columns, old_columns)], new_map.missed[np.ix_(*2 * [new_columns])]
        self.first, rows = features.start, rows[:, new_columns]
        kept, n_columns = self.kept, len(change)
        summed = ~kept.reserve | (self.policy.statistics == "all")
        every = [np.flatnonzero(summed & (kept.labels == k)) for k in range(self.n_classes)]
        weight_left = self.moments.counts - [kept.weights[own].sum() for own in every]
        any_left = weight_left > 1e-9 * self.moments.counts  # otherwise only rounding errors are left
        old_grams, sums = self.moments.grams, np.zeros((self.n_classes, n_columns))
        for k, own in enumerate(every):
            sums[k] = kept.weights[own] @ rows[own].astype(np.float64)
            if any_left[k]:
                sums[k] += change @ (self.moments.sums[k] - kept.weights[own] @ kept.rows[own].astype(np.float64))
        self.moments.sums, self.moments.grams = sums, old_grams.copy()
        self.forgotten.dual_sums = self.forgotten.dual_sums @ change.T
        self.kept = replace(kept, rows=rows)
        self.roots = self.empty_roots(self.n_classes, n_columns)
        self.planes = np.zeros((self.n_classes, self.n_classes, n_columns), dtype=self.dtype)
        self.pending = Pending(self.n_classes, n_columns, self.dtype)
        self.changed_sums[:], self.changed_rows[:] = True, True

        def remap_class(k: int) -> None:
            own = every[k]
            gram = gram_matrix(rows[own], kept.weights[own])
            if any_left[k]:
                gram += change @ (old_grams[k] - gram_matrix(kept.rows[own], kept.weights[own])) @ change.T
                gram += weight_left[k] * missed
            self.moments.grams[k] = gram
            self.refresh(k)

        return remap_class


def hold_lag(policy: Policy) -> int:
    """Return after how many rows faded weights are brought up to date."""
    return max(1, round(min(_LAG, _HOLD_HALF_LIVES * policy.half_life)))
