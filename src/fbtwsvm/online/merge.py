"""Merge two members: add the sums and rows of one to the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._arrays import Array
from .forgotten import UNKNOWN_TOTAL, Traces
from .member import Member


def join(member: Member, other: Member, classes: Array, clock: int) -> None:
    """Add the sums and rows of `other`; its class k is class classes[k] of `member`, its times start at `clock`."""
    other = other.copy()
    other.flush()
    member.flush()
    scale = member.current_weight / other.current_weight
    # Duals also contain the factors of class_weight="balanced".
    ratios = scale * member.class_factors[classes] / other.class_factors
    for name in ("counts", "sums"):
        getattr(member.moments, name)[classes] += scale * getattr(other.moments, name)
    for k, gram in zip(classes, other.moments.grams, strict=True):
        member.moments.grams[k] = member.moments.grams[k] + scale * gram
    _join_kept(member, other, classes, clock, scale, ratios)
    _join_forgotten(member, other, classes, clock, scale, ratios)
    rows = member.n_rows + other.n_rows
    member.mean_weight = (member.mean_weight * member.n_rows + other.mean_weight * other.n_rows) / max(rows, 1)
    member.n_rows = rows
    member.clock += other.clock
    member.seen[classes] += other.seen + other.since_solve
    member.faded |= other.faded
    member.mark_changed(slice(None), sums=True, rows=True)


def restandardised(member: Member, change: Array) -> Member:
    """Return a member whose rows h have become change h; its planes are to be solved again."""
    clone = member.copy()
    clone.flush()
    clone.moments.sums = clone.moments.sums @ change.T
    for k, gram in enumerate(clone.moments.grams):
        clone.moments.grams[k] = change @ gram @ change.T
    clone.kept = replace(clone.kept, rows=(clone.kept.rows @ change.T).astype(clone.dtype))
    clone.forgotten.dual_sums = clone.forgotten.dual_sums @ change.T
    clone.forgotten.traces = Traces(
        [{key: trace._replace(total=UNKNOWN_TOTAL) for key, trace in clone.forgotten.traces.items()}]
    )
    return clone


def _join_kept(member: Member, other: Member, classes: Array, clock: int, scale: float, ratios: Array) -> None:
    """Append the kept rows of the other member."""
    kept = other.kept
    duals = np.zeros((2, len(kept), member.n_classes))
    duals[:, :, classes] = ratios[kept.labels][:, None] * np.stack([kept.alpha, kept.box])
    rows = replace(
        kept,
        labels=classes[kept.labels],
        weights=scale * kept.weights,
        times=kept.times + clock,
        alpha=duals[0],
        box=duals[1],
    )
    member.kept = member.kept.join(rows)


def _join_forgotten(member: Member, other: Member, classes: Array, clock: int, scale: float, ratios: Array) -> None:
    """Add the sums over forgotten rows, and the traces, of the other member."""
    sums, added = member.forgotten, other.forgotten
    for k, label in enumerate(classes):
        if added.counts[k]:
            nearest = added.nearest[k]
            sums.nearest[label] = min(sums.nearest[label], nearest) if sums.counts[label] else nearest
            sums.farthest[label] = max(sums.farthest[label], added.farthest[k])
        sums.counts[label] += added.counts[k]
        sums.n_condensed[label] += added.n_condensed[k]
        sums.dual_sums[np.ix_(classes, [label])] += ratios[k] * added.dual_sums[:, [k]]
        sums.box_sums[np.ix_(classes, [label])] += ratios[k] * added.box_sums[:, [k]]
    traces = {}
    for key, trace in added.traces.items():
        label = int(classes[trace.label])
        shift = scale * float(np.exp(added.log_scales[trace.label] - trace.log_scale))
        traces[key] = trace._replace(
            label=label,
            time=trace.time + clock,
            weight=trace.weight * shift,
            log_scale=float(sums.log_scales[label]),
            alpha=_spread(trace.alpha, shift, classes, member.n_classes),
            box=_spread(trace.box, shift, classes, member.n_classes),
        )
    sums.traces = sums.traces.joined(traces)


def _spread(values: Array | None, factor: float, classes: Array, n_classes: int) -> Array | None:
    """Return values of the classes of the other member as values of all classes."""
    if values is None:
        return None
    wide = np.zeros(n_classes)
    wide[classes] = values * factor
    return wide
