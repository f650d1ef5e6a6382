"""The machine that learns without end: sums that take every row, few kept rows, and planes that follow.

State, per class: moments (count, mean, Gram matrix) of all rows, and a root of its inverse.  Per ordered pair (a, b):
the plane u_ab and a frozen pull, sum of alpha_i h_i over rows that were condensed.  Per kept row: a dual for each
opponent.

Fading is done by making new rows heavier: the weight of a row that comes at time t is decay^-t, the ridge grows alike,
and since problem (P) does not change when all its terms are multiplied, nothing that is old has to be touched.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from .forgetting import Gone, condense, forget
from .kept import Chunk, Kept
from .kernels import Array
from .machine import Settings
from .membership import distances_to_means, memberships
from .moments import Moments, Roots
from .online import ACCEPT, MEMBERSHIP, learn_rows
from .planes import Problem, Solution, Start, solve_features

_LAG = 100  # rows after which the duals of all kept rows are brought up to date
_RISE = 1e6  # how far weights may rise before all are brought down again
_LEAST_SHARE = 1e-12  # of its weight, that a row keeps until the end of its own chunk
_MELTED = 1e-4  # a kept row of which no more than this is left goes
_LEAST = 10.0  # rows that fading leaves of a class that no longer comes
_BALANCE_DRIFT = 0.01  # how far the weight of a class may be off before it is set anew
_RIDGE_DRIFT = 4.0  # how far the ridge of a root may be off before it is made anew


_PER_CLASS = {"moved": False, "pushed": False, "factors": 1.0, "nearest": 0.0, "farthest": 0.0}  # and of a new class


@dataclass(frozen=True)
class Policy:
    """What is kept and what is forgotten; the names are those of the classifier's parameters."""

    memory: int | None
    second_look: int
    forget_after: int | None
    forget_below: float
    decay: float
    accept: str
    statistics: str
    balanced: bool


@dataclass(frozen=True)
class Tested:
    """What the planes said of rows before they learned them.

    near, far  (n, n_classes): h.u of the planes near the row's own class and near each other one
    values     (n, n_classes, n_classes): of all planes, where asked for
    """

    near: Array
    far: Array
    values: Array | None


class Incremental:
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
        self.kept = Kept.empty(n_classes, n_columns, dtype)
        self.gone = Gone.nothing(n_classes, n_columns)
        self.moved = np.zeros(n_classes, dtype=bool)  # classes whose sums changed since the last settle
        self.pushed = np.zeros(n_classes, dtype=bool)  # classes whose kept rows changed
        self.factors = np.ones(n_classes)  # what class_weight="balanced" multiplies each class by
        self.nearest, self.farthest = np.zeros(n_classes), np.zeros(n_classes)  # extremes of the distance to the mean
        self.rise = 1.0  # the weight of a row that comes now
        self.pending: list[Kept] = []  # rows that the planes know and the Gram matrices do not yet
        self.waiting = 0  # how many those are
        self.clock = 0
        fade = -np.log(policy.decay)
        self.most_lag = _LAG if fade == 0 else min(_LAG, max(1, int(np.log(_RISE) / fade)))
        for k in range(n_classes):
            self._refresh(k)

    def copy(self) -> Incremental:
        """Return a copy to work on; rows and traces, which are never changed in place, are shared."""
        shared = (self.kept, self.gone.traces, self.settings, self.policy, *self.pending)
        return deepcopy(self, {id(thing): thing for thing in shared})

    def before(self, classes: Array) -> Callable[[], None]:
        """Return what takes rows of these classes back that `learn` is about to learn one by one."""
        planes, counts, sums = self.planes.copy(), self.moments.counts.copy(), self.moments.sums.copy()
        ranks, roots = self.roots.ranks.copy(), [(k, self.roots.matrices[k].copy()) for k in classes]
        rise, clock, waiting, parts = self.rise, self.clock, self.waiting, len(self.pending)

        def undo() -> None:
            self.planes[:], self.moments.counts[:], self.moments.sums[:] = planes, counts, sums
            self.roots.ranks[:] = ranks
            for k, root in roots:
                self.roots.matrices[k] = root
            self.rise, self.clock, self.waiting = rise, clock, waiting
            del self.pending[parts:]

        return undo

    def takes_at_once(self, n_rows: int) -> bool:
        """Whether so many rows can be learned one by one before the next settle."""
        return self.waiting + n_rows < self.lag and self._fits(n_rows)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.planes)

    @property
    def ridge(self) -> Array:
        """The ridge of each class, in the present unit of weight."""
        ridge: Array = self.settings.reg * self.rise
        return ridge

    @property
    def lag(self) -> int:
        """After how many rows, at the latest, duals are brought up to date."""
        return max(1, min(self.most_lag, self.clock // 5))

    def learn(self, chunk: Chunk, *, every_value: bool = False) -> Tested:
        """Learn a chunk: small ones row by row, with a settle in between when it is due, large ones as a block."""
        if len(chunk) >= self.most_lag:
            tested = self.absorb(chunk, every_value)
            self.settle()
            return tested
        parts, first = [], 0
        while first < len(chunk):
            room = max(1, self.lag - self.waiting)
            part = chunk if first == 0 and len(chunk) <= room else chunk.take(slice(first, first + room))
            parts.append(self._learn_rows(part, every_value))
            first += len(part)
            if self.waiting >= self.lag:
                self.settle()
        if len(parts) == 1:
            return parts[0]
        values = np.concatenate([part.values for part in parts if part.values is not None]) if every_value else None
        return Tested(np.concatenate([p.near for p in parts]), np.concatenate([p.far for p in parts]), values)

    def _weights(self, chunk: Chunk) -> Array:
        """Weights of new rows: each a little heavier than the one before when old rows fade."""
        if self.policy.decay == 1.0:
            return chunk.weights * self.rise
        n = len(chunk)
        if not self._fits(n):  # then let the last of these rows weigh 1
            self._bring_down(max(self.policy.decay**n, 1e-30))
        else:
            self.rise *= self.policy.decay**-n
        shares = np.maximum(self.policy.decay ** np.arange(n - 1.0, -1.0, -1.0), _LEAST_SHARE)
        weights: Array = chunk.weights * self.rise * shares
        return weights

    def _fits(self, n_rows: int) -> bool:
        """Whether weights stay small enough while so many rows come."""
        return bool(np.log(self.rise) - n_rows * np.log(self.policy.decay) <= np.log(_RISE))

    def _learn_rows(self, chunk: Chunk, every_value: bool) -> Tested:
        """Learn row by row: planes follow at once, Gram matrices and kept rows at the next settle."""
        n, n_classes = len(chunk), self.n_classes
        weights = self._weights(chunk)
        values = np.zeros((n, n_classes, n_classes))
        box, alpha = np.zeros((n, n_classes)), np.zeros((n, n_classes))
        accepted = np.zeros(n, dtype=np.bool_)
        learn_rows(
            chunk.rows, chunk.labels, weights, self.factors, self.moments.counts, self.moments.sums,
            self.roots.matrices, self.roots.ranks, self.planes, self.nearest, self.farthest,
            self.settings.box, self.settings.mu, MEMBERSHIP.index(self.settings.membership),
            ACCEPT.index(self.policy.accept), self.bounds, self.policy.statistics == "all", every_value,
            values, box, alpha, accepted,
        )  # fmt: skip
        self.clock += n
        self.waiting += n
        self.pending.append(Kept.of(replace(chunk, weights=weights), alpha, box, ~accepted))
        every, own = np.arange(n), chunk.labels
        return Tested(values[every, own], values[every, :, own], values if every_value else None)

    def absorb(self, chunk: Chunk, every_value: bool = False) -> Tested:
        """Take a block of rows in, to settle later: all into the sums, those that the accept rule passes are kept."""
        tested = self._test(chunk, every_value)
        weights = self._weights(chunk)
        accepted = self._accepts(chunk, tested.far)
        chunk = replace(chunk, weights=weights)
        summed = accepted | (self.policy.statistics == "all")
        for k in chunk.present:
            rows = np.flatnonzero((chunk.labels == k) & summed)
            if len(rows):
                self.moments.add(k, chunk.rows[rows], weights[rows])
                self._follow(k, chunk.rows[rows], weights[rows])
        self.clock += len(chunk)
        duals = np.zeros((len(chunk), self.n_classes))
        self._keep(Kept.of(chunk, duals, duals.copy(), ~accepted))
        return tested

    def _test(self, chunk: Chunk, every_value: bool) -> Tested:
        """Plane values of rows that have not been learned yet."""
        near, far = np.empty((len(chunk), self.n_classes)), np.empty((len(chunk), self.n_classes))
        for k in chunk.present:
            rows = chunk.labels == k
            near[rows], far[rows] = chunk.rows[rows] @ self.planes[k].T, chunk.rows[rows] @ self.planes[:, k].T
        if not every_value:
            return Tested(near, far, None)
        flat = self.planes.reshape(-1, self.planes.shape[2])
        values = (chunk.rows @ flat.T).astype(np.float64).reshape(-1, self.n_classes, self.n_classes)
        return Tested(near, far, values)

    def _accepts(self, chunk: Chunk, far: Array) -> Array:
        """Which rows the accept rule lets in: by the gradient -h.u - 1 in the planes that push them."""
        others = np.ones(far.shape, dtype=bool)
        others[np.arange(len(far)), chunk.labels] = False
        others &= (self.moments.counts > 0) | np.isin(np.arange(self.n_classes), chunk.present)
        if self.policy.accept == "all":
            return np.ones(len(chunk), dtype=bool)
        gradient = -far - 1.0
        if self.policy.accept == "kkt":
            passes = gradient < 0.0
        else:
            low, high = self.bounds[:, chunk.labels, 0].T, self.bounds[:, chunk.labels, 1].T
            passes = ((low < gradient) & (gradient < high)) == (self.policy.accept == "inside")
        passes |= far == 0.0  # a pair with a new class has no plane yet
        return np.asarray((passes & others).any(axis=1))

    def _follow(self, k: int, rows: Array, weights: Array) -> None:
        """Let the root of class k follow new rows, or mark it to be made anew where that is cheaper."""
        self.moved[k] = True
        if 8 * len(rows) < rows.shape[1]:
            self.roots.update(k, rows, weights * self.factors[k])
        else:
            self.roots.ranks[k] = rows.shape[1]

    def _keep(self, rows: Kept) -> None:
        """Append rows to the kept ones; those that were not accepted only if there are second looks."""
        self.pushed[np.unique(rows.labels)] = True
        if self.policy.second_look == 0 and rows.second.any():
            dropped = rows.take(rows.second).by_class()
            self.gone.take(dropped, self._own_distances(dropped), self.factors, pull=False)
            rows = rows.take(~rows.second)
        self.kept = self.kept.join(rows)

    def _own_distances(self, rows: Kept) -> Array:
        """Squared distance of each row to the mean of its class."""
        distances: Array = distances_to_means(rows.rows, self.moments.means)[np.arange(len(rows)), rows.labels]
        return distances

    def flush(self) -> None:
        """Bring Gram matrices and kept rows up to date with rows that were learned one by one."""
        pending, self.pending, self.waiting = self.pending, [], 0
        if not pending:
            return
        rows = Kept.empty(self.n_classes, self.planes.shape[2], self.dtype).join(*pending)
        summed = ~rows.second | (self.policy.statistics == "all")
        for k in np.unique(rows.labels[summed]):
            own = np.flatnonzero((rows.labels == k) & summed)
            self.moments.add_gram(k, rows.rows[own], rows.weights[own])
            self.moved[k] = True
        self._keep(rows)

    def settle(self, judged: Array | None = None) -> Solution | None:
        """Solve every plane that changed on the kept rows, then forget and condense.

        `judged` marks kept rows, sorted by class, whose left-out values the solution is to hold.  Returns None
        where there is nothing to solve.
        """
        self.flush()
        self._fade_out()
        if self.policy.balanced:
            self._balance()
        kept = self.kept.by_class()
        starts = np.searchsorted(kept.labels, np.arange(self.n_classes + 1))
        distances = distances_to_means(kept.rows, self.moments.means)
        box = self._boxes(kept, starts, distances)
        at_bound = (kept.alpha > 0) & (kept.alpha >= (1.0 - 1e-12) * kept.box)
        alpha = np.where(at_bound, box, np.minimum(kept.alpha, box))
        alive = self.moments.counts > 0
        todo = (self.moved[:, None] | self.pushed) & np.outer(alive, alive) & ~np.eye(self.n_classes, dtype=bool)
        for k in np.flatnonzero(todo.any(axis=1)):
            drift = self.ridge[k] / self.roots.ridges[k]
            if 4 * self.roots.ranks[k] >= self.planes.shape[2] or not 1 / _RIDGE_DRIFT < drift < _RIDGE_DRIFT:
                self._refresh(int(k))
        solution = None
        if todo.any():
            problem = self._problem(kept, starts, box, np.zeros(len(kept), dtype=bool) if judged is None else judged)
            start = Start(self.roots.factor, self.moments.means, todo, self.gone.mass, alpha, self.gone.frozen)
            if self.policy.accept in ("inside", "outside"):  # their bounds are those of a descent on all rows
                start = replace(start, first=max(1, len(kept)))
            solution = solve_features(kept.rows, problem, start)
            cold = todo & ~self.planes.any(axis=2)
            self.planes[todo] = solution.planes[todo]
            self.gaps[todo], self.sweeps[todo] = solution.gaps[todo], solution.sweeps[todo]
            self.bounds[cold] = solution.bounds[cold]
            alpha = solution.alpha
        self.moved[:], self.pushed[:] = False, False
        self._forget(replace(kept, alpha=alpha, box=box), distances[np.arange(len(kept)), kept.labels])
        return solution

    def _boxes(self, kept: Kept, starts: Array, distances: Array) -> Array:
        """Bounds C w s of the kept rows' duals; a row has none in a plane near its own class."""
        box = np.zeros(distances.shape)
        for k, (first, last) in enumerate(pairwise(starts)):
            gone = (self.gone.nearest[k], self.gone.farthest[k]) if self.gone.counts[k] else None
            if first < last:
                own = distances[first:last, k]
                self.nearest[k] = min(own.min(), gone[0]) if gone else own.min()
                self.farthest[k] = max(own.max(), gone[1]) if gone else own.max()
                share = memberships(own, distances[first:last], self.settings.mu, self.settings.membership, gone)
                box[first:last] = share * self.settings.box * (kept.weights[first:last] * self.factors[k])[:, None]
                box[first:last, k] = 0.0
        return box

    def _problem(self, kept: Kept, starts: Array, box: Array, judged: Array) -> Problem:
        """State the problem of the kept rows."""
        settings = self.settings
        return Problem(
            starts=starts,
            weights=kept.weights * self.factors[kept.labels],
            box=box,
            reg=self.ridge,
            judged=judged,
            tol=settings.tol,
            max_iter=settings.max_iter,
            n_jobs=settings.n_jobs,
            say=settings.say,
        )

    def _forget(self, kept: Kept, own_distances: Array) -> None:
        """Let rows go that do nothing, and condense what is too much."""
        policy, before = self.policy, kept
        kept = forget(kept, policy.forget_after, policy.forget_below * self.rise)
        if policy.statistics == "kept":
            # A row that is not in the support is not in the Gram matrices either.
            self._move(kept, before.second & ~kept.second, 1.0)
            self._move(kept, kept.second & ~before.second, -1.0)
            support = np.setdiff1d(kept.times, kept.times[kept.second])
        self.kept = condense(kept, policy.memory, policy.second_look, own_distances, self.factors, self.gone)
        if policy.statistics == "kept":
            still = np.isin(kept.times, self.kept.times[~self.kept.second])
            self._move(kept, np.isin(kept.times, support) & ~still, -1.0)

    def _move(self, kept: Kept, marked: Array, sign: float) -> None:
        """Add the marked rows to the sums of their classes, or take them out."""
        for k in np.unique(kept.labels[marked]):
            own = np.flatnonzero(marked & (kept.labels == k))
            self.moments.add(k, kept.rows[own], kept.weights[own], sign)
            self.moved[k], self.roots.ranks[k] = True, kept.rows.shape[1]

    def _fade_out(self) -> None:
        """On a fading stream: drop rows that have melted away, hold classes that have not come for long."""
        if self.policy.decay == 1.0:
            return
        melted = self.kept.weights < _MELTED * self.rise
        if melted.any():
            self.pushed[np.unique(self.kept.labels[melted])] = True
            leaving = self.kept.take(melted).by_class()
            self.gone.take(leaving, self._own_distances(leaving), self.factors)
            self.kept = self.kept.take(~melted)
        rows = self.gone.counts + np.bincount(self.kept.labels, minlength=self.n_classes)
        least = np.minimum(_LEAST, rows) * self.rise
        for k in np.flatnonzero((self.moments.counts > 0) & (self.moments.counts < least)):
            self.scale_class(int(k), float(least[k] / self.moments.counts[k]))
        self.gone.farthest *= self.policy.decay**self.lag

    def scale_class(self, k: int, factor: float) -> None:
        """Multiply the weight of everything that is known of class k."""
        self.moments.scale(factor, k)
        self.gone.scale(factor, k)
        own = np.where(self.kept.labels == k, factor, 1.0)
        self._reweigh(own, own[:, None])
        self.moved[k] = self.pushed[k] = True
        self.roots.ranks[k] = self.planes.shape[2]

    def _reweigh(self, weights: Array, duals: Array) -> None:
        kept = self.kept
        self.kept = replace(kept, weights=kept.weights * weights, alpha=kept.alpha * duals, box=kept.box * duals)

    def _bring_down(self, to: float = 1.0) -> None:
        """Divide all weights, so that a row that came now would weigh `to`, and the unit of weight is again 1."""
        self.flush()
        factor = to / self.rise
        self.moments.scale(factor)
        self.roots.scale(factor)
        self.gone.scale(factor, slice(None))
        self._reweigh(np.full(len(self.kept), factor), np.full((len(self.kept), 1), factor))
        self.rise = 1.0

    def fade(self, factor: float) -> None:
        """Fade everything that is known, at once, to this share of its weight."""
        self.flush()
        self.rise /= factor
        self.moved[:] = self.moments.counts > 0
        self.roots.ranks[:] = self.planes.shape[2]

    def _balance(self) -> None:
        """Give every class the same total weight, by its count so far (class_weight="balanced")."""
        alive = self.moments.counts > 0
        wanted = np.ones(self.n_classes)
        wanted[alive] = self.moments.counts[alive].sum() / (alive.sum() * self.moments.counts[alive])
        for k in np.flatnonzero(np.abs(wanted / self.factors - 1.0) > _BALANCE_DRIFT):
            ratio = wanted[k] / self.factors[k]
            self.gone.frozen[:, k] *= ratio
            self.gone.mass[:, k] *= ratio
            self._reweigh(np.ones(len(self.kept)), np.where(self.kept.labels == k, ratio, 1.0)[:, None])
            self.factors[k] = wanted[k]
            self.moved[k] = self.pushed[k] = True
            self.roots.ranks[k] = self.planes.shape[2]

    def remap(self, change: Array, rows: Array) -> None:
        """Go over to another feature map: h_new = change h for what is gone, `rows` for what is kept."""
        self.flush()
        kept, n_columns = self.kept, len(change)
        summed = ~kept.second | (self.policy.statistics == "all")
        self._move(kept, summed, -1.0)
        self.moments.remap(change)
        self.gone.frozen = self.gone.frozen @ change.T
        self.kept = replace(kept, rows=rows)
        self._move(self.kept, summed, 1.0)
        self.roots = Roots(self.n_classes, n_columns, self.dtype)
        self.planes = np.zeros((self.n_classes, self.n_classes, n_columns), dtype=self.dtype)
        for k in range(self.n_classes):
            self._refresh(k)
        self.moved[:], self.pushed[:] = True, True
        self.settle()

    def _refresh(self, k: int) -> None:
        """Make the root of class k anew from its sums."""
        self.roots.refresh(k, self.factors[k] * self.moments.grams[k], float(self.ridge[k]))

    def insert_class(self, k: int, settings: Settings) -> None:
        """Make room for a new class at index k; nothing that is known changes."""
        self.flush()
        self.settings = settings
        self.moments.insert(k)
        self.roots.insert(k)
        self.gone.insert_class(k)
        self.kept = self.kept.insert_class(k)
        for axis in (0, 1):
            self._each_pair(partial(np.insert, obj=k, values=0, axis=axis))
        for name, value in _PER_CLASS.items():
            setattr(self, name, np.insert(getattr(self, name), k, value))
        self._refresh(k)

    def delete_class(self, k: int, settings: Settings) -> None:
        """Remove class k."""
        self.settings = settings
        self.moments.delete(k)
        self.roots.delete(k)
        self.gone.delete_class(k)
        self.kept = self.kept.delete_class(k)
        for axis in (0, 1):
            self._each_pair(partial(np.delete, obj=k, axis=axis))
        for name in _PER_CLASS:
            setattr(self, name, np.delete(getattr(self, name), k))

    def _each_pair(self, change: Callable[[Array], Array]) -> None:
        for name in ("planes", "gaps", "sweeps", "bounds"):
            setattr(self, name, change(getattr(self, name)))
