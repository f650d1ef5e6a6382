"""Re-solve: bring planes, and the duals of the kept rows in them, up to date; then forget and condense."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._arrays import Array, class_starts
from ..model.membership import Extremes, Ranges, distances_to_means, distances_to_own_mean
from ..solver._descent_loops import carry_duals
from ..solver.dual import solve_features
from ..solver.problem import Problem, Start
from .condense import condense, forget
from .fading import balance, expire
from .kept import Kept
from .member import Member


@dataclass(frozen=True)
class LeftOut:
    """Left-out values of rows, `near` and `far` as in `absorb.Tested`, with their class indices and times."""

    labels: Array
    times: Array
    near: Array
    far: Array

    def __add__(self, other: LeftOut) -> LeftOut:
        """Add the values in planes near other classes; those of one re-solve are zero where the other has values."""
        return replace(self, near=self.near + other.near, far=self.far + other.far)


def resolve(
    member: Member, near: Array | None = None, wanted: Array | None = None, *, drop: bool = True
) -> LeftOut | None:
    """Solve the planes that have changed, near all classes or some, on the kept rows; then forget and condense.

    With `near`, rows of these classes are forgotten and condensed; a stream re-solves a few classes at a time, so that
    no call takes long.  `wanted` are the times of the calibration rows.  Returns their left-out values, or None if no
    plane was solved.  Without `drop`, all rows are kept until `drop_rows` is called.
    """
    member.flush()
    if near is None:
        expire(member)
    if member.policy.balanced:
        balance(member, only=near)
    solved = np.arange(member.n_classes) if near is None else np.sort(near)
    member.seen[solved] += member.since_solve[solved]
    member.since_solve[solved] = 0
    member.solved_at[solved] = member.clock
    kept = member.kept = member.kept.by_class()
    starts = class_starts(kept.labels, member.n_classes)
    ranges, box, own_distances = boxes_of(member, kept, starts, solved)
    member.farthest = ranges.farthest
    member.low[:, solved], member.high[:, solved] = ranges.low, ranges.high
    box = _with_columns(kept.box, solved, box)
    alpha = _with_columns(kept.alpha, solved, carry_duals(kept.alpha[:, solved], kept.box[:, solved], box[:, solved]))
    kept = replace(kept, alpha=alpha, box=box)
    todo = _changed_planes(member, solved)
    left_out = None
    if todo.any():
        marked = np.isin(kept.times, [] if wanted is None else wanted)
        kept, left_out = _solve(member, kept, starts, todo, marked)
    if drop:
        drop_rows(member, kept, solved, own_distances, forget_idle=left_out is not None)
    else:
        member.kept = kept
    return left_out


def drop_rows(
    member: Member, kept: Kept, classes: Array, own_distances: Array | None = None, *, forget_idle: bool = True
) -> None:
    """Forget rows of some classes that are idle, and condense those beyond the memory; `kept` are all kept rows."""
    if own_distances is None:
        own_distances = distances_to_own_mean(kept.rows, kept.labels, member.moments.means)
    if forget_idle:
        least = member.policy.forget_below * member.mean_weight * member.current_weight
        kept = forget(kept, np.isin(kept.labels, classes), member.policy.forget_after, least)
    _condense(member, kept, classes, own_distances)


def _with_columns(matrix: Array, columns: Array, values: Array) -> Array:
    """Return a copy of a matrix with some columns replaced."""
    if matrix.shape == values.shape:
        return values
    changed = matrix.copy()
    changed[:, columns] = values
    return changed


def _changed_planes(member: Member, near: Array) -> Array:
    """Mark the planes near some classes to solve, and compute their roots again where these are no longer accurate."""
    alive = member.alive
    todo = np.zeros((member.n_classes, member.n_classes), dtype=bool)
    todo[near] = (member.changed_sums[:, None] | member.changed_rows)[near]
    todo &= np.outer(alive, alive) & ~np.eye(member.n_classes, dtype=bool)
    for k in np.flatnonzero(todo.any(axis=1)):
        if member.roots.outdated(int(k), float(member.ridge[k])):
            member.refresh(int(k))
    member.changed_sums[near], member.changed_rows[near] = False, False
    return todo


def _solve(member: Member, kept: Kept, starts: Array, todo: Array, wanted: Array) -> tuple[Kept, LeftOut]:
    """Solve planes on the kept rows; return the rows with their new duals, and left-out values."""
    options = member.settings.options
    problem = Problem(
        starts=starts,
        weights=kept.weights * member.class_factors[kept.labels],
        reg=member.ridge,
        wanted=wanted,
        # A re-solve is too small to gain from threads, unless the user asks for them.
        options=replace(options, n_jobs=options.n_jobs or 1),
    )
    start = Start(
        factor=member.roots.factor,
        guess=member.moments.means,
        todo=todo,
        fixed_box=member.forgotten.box_sums,
        alpha=kept.alpha,
        fixed_sums=member.forgotten.dual_sums,
    )
    if member.policy.accept in ("inside", "outside"):  # their bounds are those of a solve from zero, as in the paper
        start = replace(start, first=max(1, len(kept)), alpha=None)
    solution = solve_features(kept.rows, kept.box, problem, start)
    member.solved |= todo
    member.accepting = None
    for name in ("planes", "gaps", "sweeps", "bounds"):
        getattr(member, name)[todo] = getattr(solution, name)[todo]
    left_out = LeftOut(kept.labels[wanted], kept.times[wanted], solution.near, solution.far)
    return replace(kept, alpha=np.where(todo.T[kept.labels], solution.alpha, kept.alpha)), left_out


def boxes_of(member: Member, kept: Kept, starts: Array, near: Array) -> tuple[Ranges, Array, Array]:
    """Return ranges of memberships, bounds C w s of the duals in planes near some classes, and distances to own means.

    The rows are sorted by class.  The bounds are zero in planes near a row's own class.
    """
    settings, forgotten, means = member.settings, member.forgotten, member.moments.means
    own = distances_to_own_mean(kept.rows, kept.labels, means)
    distances = distances_to_means(kept.rows, means[near])
    extremes = Extremes.of_classes(distances, starts, own)
    counts_and_extremes = (forgotten.counts, forgotten.nearest, forgotten.farthest)
    ranges = extremes.ranges(settings.mu, settings.membership, counts_and_extremes)
    shares = ranges.memberships(distances, kept.labels, own)
    box: Array = shares * settings.C[near] * (kept.weights * member.class_factors[kept.labels])[:, None]
    box[kept.labels[:, None] == near] = 0.0
    return ranges, box, own


def _condense(member: Member, kept: Kept, classes: Array, own_distances: Array) -> None:
    """Condense rows of some classes beyond the memory; with statistics="kept", let the sums follow the support rows."""
    policy, before = member.policy, member.kept
    member.kept = condense(
        kept, classes, policy.memory, policy.second_look, own_distances, member.class_factors, member.forgotten
    )
    if policy.statistics == "kept":
        was, now = before.times[~before.reserve], member.kept.times[~member.kept.reserve]
        member.move(member.kept, np.isin(member.kept.times, np.setdiff1d(now, was)), 1.0)
        member.move(before, np.isin(before.times, np.setdiff1d(was, now)), -1.0)
