"""Adding what another machine has learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._arrays import Array
from .kept import Trace
from .member import Member


def join(machine: Member, other: Member, classes: Array, clock: int) -> None:
    """Add what another machine knows; its class k is class classes[k] here, its rows come after `clock`."""
    other = other.copy()
    other.flush()
    machine.flush()
    scale = machine.current_weight / other.current_weight
    ratios = (
        scale * machine.class_factors[classes] / other.class_factors
    )  # of what carries the factors of balanced classes
    for k, mine in enumerate(classes):
        machine.moments.counts[mine] += scale * other.moments.counts[k]
        machine.moments.sums[mine] += scale * other.moments.sums[k]
        machine.moments.grams[mine] += scale * other.moments.grams[k]
        _join_gone(machine, other, k, int(mine))
        machine.forgotten.dual_sums[np.ix_(classes, [mine])] += ratios[k] * other.forgotten.dual_sums[:, [k]]
        machine.forgotten.box_sums[np.ix_(classes, [mine])] += ratios[k] * other.forgotten.box_sums[:, [k]]
    kept = other.kept
    duals = np.zeros((2, len(kept), machine.n_classes))
    duals[:, :, classes] = ratios[kept.labels][:, None] * np.stack([kept.alpha, kept.box])
    machine.kept = machine.kept.join(
        replace(
            kept,
            labels=classes[kept.labels],
            weights=scale * kept.weights,
            times=kept.times + clock,
            alpha=duals[0],
            box=duals[1],
        )
    )
    for key, trace in (other.forgotten.traces | other.forgotten.new_traces).items():
        mine, shift = (
            int(classes[trace.label]),
            scale * np.exp(other.forgotten.log_scales[trace.label] - trace.log_scale),
        )
        alpha = None
        if trace.alpha is not None:
            alpha = np.zeros(machine.n_classes)
            alpha[classes] = trace.alpha * shift
        level = float(machine.forgotten.log_scales[mine])
        machine.forgotten.new_traces[key] = Trace(
            mine, trace.time + clock, trace.weight * shift, level, trace.total, alpha
        )
    machine.clock += other.clock
    machine.seen[classes] += other.seen + other.since_solve
    machine.faded |= other.faded
    machine.changed_sums[:], machine.changed_rows[:] = True, True
    machine.roots.ranks[:] = machine.planes.shape[2]


def _join_gone(machine: Member, other: Member, k: int, mine: int) -> None:
    """Join what is remembered of the distances of rows that are forgotten."""
    here, there = machine.forgotten, other.forgotten
    if there.counts[k]:
        here.nearest[mine] = min(here.nearest[mine], there.nearest[k]) if here.counts[mine] else there.nearest[k]
        here.farthest[mine] = max(here.farthest[mine], there.farthest[k])
    here.counts[mine] += there.counts[k]
    here.n_condensed[mine] += there.n_condensed[k]
