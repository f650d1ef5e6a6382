"""Adding what another machine has learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._arrays import Array
from .kept import Trace
from .member import Incremental


def join(machine: Incremental, other: Incremental, classes: Array, clock: int) -> None:
    """Add what another machine knows; its class k is class classes[k] here, its rows come after `clock`."""
    other = other.copy()
    other.flush()
    machine.flush()
    scale = machine.rise / other.rise
    ratios = scale * machine.factors[classes] / other.factors  # of what carries the factors of balanced classes
    for k, mine in enumerate(classes):
        machine.moments.counts[mine] += scale * other.moments.counts[k]
        machine.moments.sums[mine] += scale * other.moments.sums[k]
        machine.moments.grams[mine] += scale * other.moments.grams[k]
        _join_gone(machine, other, k, int(mine))
        machine.gone.frozen[np.ix_(classes, [mine])] += ratios[k] * other.gone.frozen[:, [k]]
        machine.gone.mass[np.ix_(classes, [mine])] += ratios[k] * other.gone.mass[:, [k]]
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
    for key, trace in (other.gone.traces | other.gone.fresh).items():
        mine, shift = int(classes[trace.label]), scale * np.exp(other.gone.levels[trace.label] - trace.level)
        alpha = None
        if trace.alpha is not None:
            alpha = np.zeros(machine.n_classes)
            alpha[classes] = trace.alpha * shift
        level = float(machine.gone.levels[mine])
        machine.gone.fresh[key] = Trace(mine, trace.time + clock, trace.weight * shift, level, trace.total, alpha)
    machine.clock += other.clock
    machine.seen[classes] += other.seen + other.since
    machine.faded |= other.faded
    machine.moved[:], machine.pushed[:] = True, True
    machine.roots.ranks[:] = machine.planes.shape[2]


def _join_gone(machine: Incremental, other: Incremental, k: int, mine: int) -> None:
    """Join what is remembered of the distances of rows that are gone."""
    here, there = machine.gone, other.gone
    if there.counts[k]:
        here.nearest[mine] = min(here.nearest[mine], there.nearest[k]) if here.counts[mine] else there.nearest[k]
        here.farthest[mine] = max(here.farthest[mine], there.farthest[k])
    here.counts[mine] += there.counts[k]
    here.condensed[mine] += there.condensed[k]
