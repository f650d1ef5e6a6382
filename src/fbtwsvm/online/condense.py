"""Which kept rows a stream drops, and which go first: forgetting and condensing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._arrays import Array
from ..solver._descent_loops import free_duals
from .forgotten import Forgotten
from .kept import Kept


def forget(kept: Kept, solved: Array, forget_after: int | None, threshold: float) -> Kept:
    """Move support rows that have been idle in `forget_after` re-solves of their class to the reserve.

    `solved` marks the rows of the classes that have just been re-solved; the others are left alone.

    The paper's rule: all duals at or below the threshold (phi) in `forget_after` (d) re-solves, consecutive or not.  A
    row of the reserve with a larger dual becomes a support row again.
    """
    idle = (kept.alpha <= threshold).all(axis=1)
    idle_count = np.where(kept.reserve & ~idle, 0, kept.idle_count + (idle & ~kept.reserve & solved))
    reserve = kept.reserve & idle
    if forget_after is not None:
        reserve |= idle & solved & (idle_count >= forget_after)
    return replace(kept, idle_count=idle_count, reserve=reserve)


def condense(
    kept: Kept,
    classes: Array,
    memory: int | None,
    second_look: int,
    own_distances: Array,
    factors: Array,
    forgotten: Forgotten,
) -> Kept:
    """Reduce some classes to at most `memory` support rows each, and their reserves to the newest `second_look` rows.

    Support rows with the smallest sum of free duals leave first, the oldest first among equals (duals at a bound count
    as zero).  Those whose duals are all zero go to the reserve, the others are condensed into the dual sums.
    """
    leaving = np.zeros(len(kept), dtype=bool)
    reserve = kept.reserve.copy()
    if memory is not None:
        for k in classes[np.bincount(kept.labels[~reserve], minlength=classes[-1] + 1)[classes] > memory]:
            support = np.flatnonzero((kept.labels == k) & ~reserve)
            alpha, box = kept.alpha[support], kept.box[support]
            free = np.where(free_duals(alpha, box), alpha, 0.0).sum(axis=1)
            surplus = support[np.lexsort((kept.times[support], free))[: len(support) - memory]]
            idle = ~kept.alpha[surplus].any(axis=1)
            reserve[surplus[idle]] = True
            leaving[surplus[~idle]] = True
    for k in classes[np.bincount(kept.labels[reserve], minlength=classes[-1] + 1)[classes] > second_look]:
        rows = np.flatnonzero((kept.labels == k) & reserve)
        newest_last = np.argsort(kept.times[rows], kind="stable")
        leaving[rows[newest_last[: len(rows) - second_look]]] = True
    kept = replace(kept, reserve=reserve)
    if leaving.any():
        forgotten.take(kept.take(leaving), own_distances[leaving], factors)
        kept = kept.take(~leaving)
    return kept
