"""Re-solve: bring the duals of all kept rows, and the planes, up to date; then forget and condense."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._arrays import Array, class_starts
from ..model.membership import Extremes, Ranges, distances_to_means
from ..solver._descent_loops import carry_duals
from ..solver.dual import solve_features
from ..solver.problem import Problem, Start
from .condense import condense, forget
from .fading import balance, expire
from .kept import Kept
from .member import Member

_RIDGE_DRIFT = 1.02  # a root is computed again when the ridge has changed by this factor


@dataclass(frozen=True)
class LeftOut:
    """Left-out values of rows, `near` and `far` as in `absorb.Tested`, with their class indices and times."""

    labels: Array
    times: Array
    near: Array
    far: Array


def resolve(member: Member, wanted: Array | None = None) -> LeftOut | None:
    """Solve every plane that has changed on the kept rows, then forget and condense.

    `wanted` are the times of the calibration rows.  Returns their left-out values, or None if no plane was solved.
    """
    member.flush()
    member.seen += member.since_solve
    member.since_solve[:] = 0
    expire(member)
    if member.policy.balanced:
        balance(member)
    kept = member.kept.by_class()
    starts = class_starts(kept.labels, member.n_classes)
    distances = distances_to_means(kept.rows, member.moments.means)
    member.ranges, box = boxes_of(member, kept, starts, distances)
    todo = _changed_planes(member)
    left_out = None
    if todo.any():
        marked = np.isin(kept.times, [] if wanted is None else wanted)
        kept, left_out = _solve(member, kept, starts, box, todo, marked)
    _condense(member, kept, distances[np.arange(len(kept)), kept.labels])
    return left_out


def _changed_planes(member: Member) -> Array:
    """Mark the planes to solve, and compute their roots again where these are no longer accurate."""
    alive = member.alive
    todo = member.changed_sums[:, None] | member.changed_rows
    todo = todo & np.outer(alive, alive) & ~np.eye(member.n_classes, dtype=bool)
    for k in np.flatnonzero(todo.any(axis=1)):
        drift = member.ridge[k] / member.roots.ridges[k]
        if 4 * member.roots.ranks[k] >= member.planes.shape[2] or not 1 / _RIDGE_DRIFT < drift < _RIDGE_DRIFT:
            member.refresh(int(k))
    member.changed_sums[:], member.changed_rows[:] = False, False
    return np.asarray(todo)


def _solve(member: Member, kept: Kept, starts: Array, box: Array, todo: Array, wanted: Array) -> tuple[Kept, LeftOut]:
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
        alpha=carry_duals(kept.alpha, kept.box, box),
        fixed_sums=member.forgotten.dual_sums,
    )
    if member.policy.accept in ("inside", "outside"):  # their bounds are those of a solve from zero, as in the paper
        start = replace(start, first=max(1, len(kept)), alpha=None)
    solution = solve_features(kept.rows, box, problem, start)
    member.solved |= todo
    member.accepting = None
    for name in ("planes", "gaps", "sweeps", "bounds"):
        getattr(member, name)[todo] = getattr(solution, name)[todo]
    left_out = LeftOut(kept.labels[wanted], kept.times[wanted], solution.near, solution.far)
    policy = member.policy
    least = policy.forget_below * member.mean_weight * member.current_weight
    alpha = np.where(todo.T[kept.labels], solution.alpha, carry_duals(kept.alpha, kept.box, box))
    return forget(replace(kept, alpha=alpha, box=box), policy.forget_after, least), left_out


def boxes_of(member: Member, kept: Kept, starts: Array, distances: Array) -> tuple[Ranges, Array]:
    """Return the ranges of the memberships, and the bounds C w s of the duals; zero in planes near a row's own class.

    `distances` are those of the rows, which are sorted by class, to the means of all classes.
    """
    settings, forgotten = member.settings, member.forgotten
    extremes = Extremes.of_classes(distances, starts)
    counts_and_extremes = (forgotten.counts, forgotten.nearest, forgotten.farthest)
    ranges = extremes.ranges(settings.mu, settings.membership, counts_and_extremes)
    shares = ranges.memberships(distances, kept.labels)
    box: Array = shares * settings.C * (kept.weights * member.class_factors[kept.labels])[:, None]
    box[np.arange(len(kept)), kept.labels] = 0.0
    return ranges, box


def _condense(member: Member, kept: Kept, own_distances: Array) -> None:
    """Condense rows beyond the memory; with statistics="kept", let the sums follow the support rows."""
    policy, before = member.policy, member.kept
    member.kept = condense(
        kept, policy.memory, policy.second_look, own_distances, member.class_factors, member.forgotten
    )
    if policy.statistics == "kept":
        was, now = before.times[~before.reserve], member.kept.times[~member.kept.reserve]
        member.move(member.kept, np.isin(member.kept.times, np.setdiff1d(now, was)), 1.0)
        member.move(before, np.isin(before.times, np.setdiff1d(was, now)), -1.0)
