"""Adding what another machine has learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._arrays import Array
from .member import Member


def join(member: Member, other: Member, classes: Array, clock: int) -> None:
    """Add what another machine knows; its class k is class classes[k] here, its rows come after `clock`."""
    other = other.copy()
    other.flush()
    member.flush()
    scale = member.current_weight / other.current_weight
    # The duals also carry the factors of balanced classes.
    ratios = scale * member.class_factors[classes] / other.class_factors
    for name in ("counts", "sums", "grams"):
        getattr(member.moments, name)[classes] += scale * getattr(other.moments, name)
    _join_kept(member, other, classes, clock, scale, ratios)
    _join_forgotten(member, other, classes, clock, scale, ratios)
    member.clock += other.clock
    member.seen[classes] += other.seen + other.since_solve
    member.faded |= other.faded
    member.mark_changed(slice(None), sums=True, rows=True)


def _join_kept(member: Member, other: Member, classes: Array, clock: int, scale: float, ratios: Array) -> None:
    """Append the kept rows of the other machine."""
    kept = other.kept
    duals = np.zeros((2, len(kept), member.n_classes))
    duals[:, :, classes] = ratios[kept.labels][:, None] * np.stack([kept.alpha, kept.box])
    theirs = replace(
        kept,
        labels=classes[kept.labels],
        weights=scale * kept.weights,
        times=kept.times + clock,
        alpha=duals[0],
        box=duals[1],
    )
    member.kept = member.kept.join(theirs)


def _join_forgotten(member: Member, other: Member, classes: Array, clock: int, scale: float, ratios: Array) -> None:
    """Add what is left of rows that the other machine no longer keeps."""
    here, there = member.forgotten, other.forgotten
    for k, mine in enumerate(classes):
        if there.counts[k]:
            here.nearest[mine] = min(here.nearest[mine], there.nearest[k]) if here.counts[mine] else there.nearest[k]
            here.farthest[mine] = max(here.farthest[mine], there.farthest[k])
        here.counts[mine] += there.counts[k]
        here.n_condensed[mine] += there.n_condensed[k]
        here.dual_sums[np.ix_(classes, [mine])] += ratios[k] * there.dual_sums[:, [k]]
        here.box_sums[np.ix_(classes, [mine])] += ratios[k] * there.box_sums[:, [k]]
    for key, trace in there.all_traces().items():
        mine = int(classes[trace.label])
        shift = scale * float(np.exp(there.log_scales[trace.label] - trace.log_scale))
        alpha = None
        if trace.alpha is not None:
            alpha = np.zeros(member.n_classes)
            alpha[classes] = trace.alpha * shift
        here.new_traces[key] = trace._replace(
            label=mine,
            time=trace.time + clock,
            weight=trace.weight * shift,
            log_scale=float(here.log_scales[mine]),
            alpha=alpha,
        )
