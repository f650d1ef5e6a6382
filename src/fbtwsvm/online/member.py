"""The machine that learns without end: it absorbs rows, re-solves its planes on those it keeps, and forgets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from .._arrays import Array
from ..model.membership import distances_to_means, memberships
from ..solver.dual import solve_features
from ..solver.problem import Problem, Start
from ._loops import ACCEPT, MEMBERSHIP, learn_rows
from .kept import Chunk, Kept, condense, forget
from .moments import Roots
from .state import State

_RIDGE_DRIFT = 1.02  # by what factor the ridge of a root may be off before it is made anew


@dataclass(frozen=True)
class Tested:
    """What the planes said of rows before they learned them.

    near, far  (n, n_classes): h.u of the planes near the row's own class and near each other one
    values     (n, n_classes, n_classes): of all planes, where asked for
    """

    near: Array
    far: Array
    values: Array | None


@dataclass(frozen=True)
class LeftOut:
    """What rows would get from planes trained without them: near and far as in `Tested`."""

    labels: Array
    times: Array
    near: Array
    far: Array


class Member(State):
    """A machine whose planes follow a stream."""

    def learn(self, chunk: Chunk, *, every_value: bool = False) -> Tested:
        """Learn a chunk: small ones row by row, with a resolve in between when it is due, large ones as a block."""
        if len(chunk) >= self.max_lag:
            tested = self.absorb(chunk, every_value)
            self.resolve()
            return tested
        parts, first = [], 0
        while first < len(chunk):
            room = self.room(chunk.labels[first:])
            part = chunk if first == 0 and len(chunk) < room else chunk.take(slice(first, first + room))
            parts.append(self.learn_rows(part, every_value))
            first += len(part)
            if len(part) == room:
                self.resolve()
        if len(parts) == 1:
            return parts[0]
        values = np.concatenate([part.values for part in parts if part.values is not None]) if every_value else None
        return Tested(np.concatenate([p.near for p in parts]), np.concatenate([p.far for p in parts]), values)

    def learn_rows(self, chunk: Chunk, every_value: bool) -> Tested:
        """Learn row by row: planes follow at once, Gram matrices and kept rows at the next resolve."""
        n, n_classes = len(chunk), self.n_classes
        weights = self.weigh(chunk)
        values = np.zeros((n, n_classes, n_classes))
        box, alpha = np.zeros((n, n_classes)), np.zeros((n, n_classes))
        accepted = np.zeros(n, dtype=np.bool_)
        learn_rows(
            chunk.rows, chunk.labels, weights, self.class_factors, self.moments.counts, self.moments.sums,
            self.roots.matrices, self.roots.ranks, self.planes, self.nearest, self.farthest,
            self.settings.C, self.settings.mu, MEMBERSHIP.index(self.settings.membership),
            ACCEPT.index(self.policy.accept), self.bounds, self.solved, self.alive,
            self.policy.statistics == "all", every_value, values, box, alpha, accepted,
        )  # fmt: skip
        self.clock += n
        self.n_pending += n
        np.add.at(self.since_solve, chunk.labels, 1)
        self.pending.append(Kept.of(chunk, weights, alpha, box, ~accepted))
        every, own = np.arange(n), chunk.labels
        return Tested(values[every, own], values[every, :, own], values if every_value else None)

    def absorb(self, chunk: Chunk, every_value: bool = False) -> Tested:
        """Take a block of rows in, to resolve later: all into the sums, those that the accept rule passes are kept."""
        tested = self._test(chunk, every_value)
        weights = self.weigh(chunk)
        accepted = self._accepts(chunk, tested.far)
        summed = accepted | (self.policy.statistics == "all")
        for k in chunk.present:
            rows = np.flatnonzero((chunk.labels == k) & summed)
            if len(rows):
                self.moments.add(k, chunk.rows[rows], weights[rows])
                self._follow(k, chunk.rows[rows], weights[rows])
        self.clock += len(chunk)
        np.add.at(self.since_solve, chunk.labels, 1)
        duals = np.zeros((len(chunk), self.n_classes))
        self.keep(Kept.of(chunk, weights, duals, duals.copy(), ~accepted))
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
        others &= self.alive | np.isin(np.arange(self.n_classes), chunk.present)
        alone = not others.any() and self.policy.statistics == "kept"  # else nothing would ever be summed
        if self.policy.accept == "all" or alone:
            return np.ones(len(chunk), dtype=bool)
        gradient = -far - 1.0
        if self.policy.accept == "kkt":
            passes = gradient < 0.0
        else:
            low, high = self.bounds[:, chunk.labels, 0].T, self.bounds[:, chunk.labels, 1].T
            passes = ((low < gradient) & (gradient < high)) == (self.policy.accept == "inside")
        passes |= ~self.solved[:, chunk.labels].T  # a pair with a new class has no plane yet
        return np.asarray((passes & others).any(axis=1))

    def _follow(self, k: int, rows: Array, weights: Array) -> None:
        """Let the root of class k follow new rows, or mark it to be made anew where that is cheaper."""
        self.changed_sums[k] = True
        if 8 * len(rows) < rows.shape[1]:
            self.roots.update(k, rows, weights * self.class_factors[k])
        else:
            self.roots.ranks[k] = rows.shape[1]

    def resolve(self, judged: Array | None = None) -> LeftOut | None:
        """Solve every plane that changed on the kept rows, then forget and condense.

        `judged` are times of rows whose left-out values are wanted.  Returns None where nothing was solved.
        """
        self.flush()
        self.seen += self.since_solve
        self.since_solve[:] = 0
        self.expire()
        if self.policy.balanced:
            self.balance()
        kept = self.kept.by_class()
        starts = np.searchsorted(kept.labels, np.arange(self.n_classes + 1))
        distances = distances_to_means(kept.rows, self.moments.means)
        box = self._boxes(kept, starts, distances)
        at_bound = (kept.alpha > 0) & (kept.alpha >= (1.0 - 1e-12) * kept.box)
        alpha = np.where(at_bound, box, np.minimum(kept.alpha, box))
        alive = self.alive
        todo = (
            (self.changed_sums[:, None] | self.changed_rows)
            & np.outer(alive, alive)
            & ~np.eye(self.n_classes, dtype=bool)
        )
        for k in np.flatnonzero(todo.any(axis=1)):
            drift = self.ridge[k] / self.roots.ridges[k]
            if 4 * self.roots.ranks[k] >= self.planes.shape[2] or not 1 / _RIDGE_DRIFT < drift < _RIDGE_DRIFT:
                self.refresh(int(k))
        self.changed_sums[:], self.changed_rows[:] = False, False
        left_out = None
        if todo.any():
            wanted = np.isin(kept.times, [] if judged is None else judged)
            problem = self._problem(kept, starts, box, wanted)
            start = Start(
                self.roots.factor, self.moments.means, todo, self.forgotten.box_sums, alpha, self.forgotten.dual_sums
            )
            if self.policy.accept in (
                "inside",
                "outside",
            ):  # from zero, as in the paper, for their bounds
                start = replace(start, first=max(1, len(kept)), alpha=None)
            solution = solve_features(kept.rows, problem, start)
            self.solved |= todo
            self.planes[todo] = solution.planes[todo]
            self.gaps[todo], self.sweeps[todo] = solution.gaps[todo], solution.sweeps[todo]
            self.bounds[todo] = solution.bounds[todo]
            left_out = LeftOut(kept.labels[wanted], kept.times[wanted], solution.near[wanted], solution.far[wanted])
            kept = forget(replace(kept, alpha=solution.alpha, box=box), self.policy.forget_after, self._least_dual)
        self._condense(kept, distances[np.arange(len(kept)), kept.labels])
        return left_out

    @property
    def _least_dual(self) -> float:
        """The dual up to which a row does nothing, in the present unit of weight."""
        return self.policy.forget_below * self.mean_weight * self.current_weight

    def _boxes(self, kept: Kept, starts: Array, distances: Array) -> Array:
        """Bounds C w s of the kept rows' duals; a row has none in a plane near its own class."""
        box = np.zeros(distances.shape)
        for k, (first, last) in enumerate(pairwise(starts)):
            forgotten = (self.forgotten.nearest[k], self.forgotten.farthest[k]) if self.forgotten.counts[k] else None
            if first < last:
                own = distances[first:last, k]
                self.nearest[k] = min(own.min(), forgotten[0]) if forgotten else own.min()
                self.farthest[k] = max(own.max(), forgotten[1]) if forgotten else own.max()
                share = memberships(own, distances[first:last], self.settings.mu, self.settings.membership, forgotten)
                box[first:last] = share * self.settings.C * (kept.weights[first:last] * self.class_factors[k])[:, None]
                box[first:last, k] = 0.0
        return box

    def _problem(self, kept: Kept, starts: Array, box: Array, wanted: Array) -> Problem:
        """State the problem of the kept rows."""
        settings = self.settings
        return Problem(
            starts=starts,
            weights=kept.weights * self.class_factors[kept.labels],
            box=box,
            reg=self.ridge,
            wanted=wanted,
            tol=settings.tol,
            max_iter=settings.max_iter,
            n_jobs=settings.n_jobs or 1,  # a resolve is too small for threads that nobody asked for
        )

    def _condense(self, kept: Kept, own_distances: Array) -> None:
        """Condense what is too much; in the paper's way, keep the sums to those of the support."""
        policy, before = self.policy, self.kept
        self.kept = condense(kept, policy.memory, policy.second_look, own_distances, self.class_factors, self.forgotten)
        if policy.statistics == "kept":
            was, now = before.times[~before.reserve], self.kept.times[~self.kept.reserve]
            self.move(self.kept, np.isin(self.kept.times, np.setdiff1d(now, was)), 1.0)
            self.move(before, np.isin(before.times, np.setdiff1d(was, now)), -1.0)

    def remap(self, change: Array, rows: Array) -> None:
        """Go over to another feature map: h_new = change h for what is forgotten, `rows` for what is kept."""
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
        self.resolve()
