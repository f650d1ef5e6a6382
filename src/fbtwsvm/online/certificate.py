"""The duality gaps of a stream, computed from what the member holds at the moment."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
from scipy.linalg import solve_triangular

from .._arrays import Array, class_starts
from ..solver.factors import stream_gram_factor
from .kept import Kept
from .member import Member
from .moments import Grams
from .resolve import boxes_of


def duality_gaps(member: Member) -> Array:
    """Return the gap of every plane in the problem of the present rows, weights and class factors, as the solver does.

    The planes and the duals need not belong together: for any plane u and any duals within their boxes, P(u) - D(alpha)
    bounds how far u is from the solution.  Rows that are no longer kept have fixed duals, so they are linear terms.
    """
    pending = member.pending.kept()
    rows = member.kept.by_class().merged(pending)
    starts, alive = class_starts(rows.labels, member.n_classes), np.flatnonzero(member.alive)
    _, box, _ = boxes_of(member, rows, starts, np.arange(member.n_classes))
    alpha = np.minimum(rows.alpha, box)
    grams = _grams(member, pending)
    gaps = np.zeros((member.n_classes, member.n_classes))
    for a in alive:
        gram, ridge = member.class_factors[a] * grams[int(a)], float(member.ridge[a])
        lower = stream_gram_factor(gram, ridge, member.dtype)
        others = alive[alive != a]
        planes = member.planes[a, others].astype(np.float64)
        fixed = member.forgotten.dual_sums[a, others]
        squares = np.einsum("bi,bi->b", planes @ gram, planes) + ridge * np.einsum("bi,bi->b", planes, planes)
        primal, dual_sums = 0.5 * squares + np.einsum("bi,bi->b", planes, fixed), fixed.copy()
        dual, scale = np.zeros(len(others)), np.zeros(len(others))
        for k, b in enumerate(others):
            block = slice(starts[b], starts[b + 1])
            mapped = rows.rows[block].astype(np.float64)
            primal[k] += box[block, a] @ np.maximum(0.0, 1.0 + mapped @ planes[k])
            dual_sums[k] += alpha[block, a] @ mapped
            dual[k] = alpha[block, a].sum()
            scale[k] = box[block, a].sum() + member.forgotten.box_sums[a, b]
        whitened = solve_triangular(lower, dual_sums.T, lower=True)
        dual -= 0.5 * np.einsum("ib,ib->b", whitened, whitened)
        gaps[a, others] = np.divide(primal - dual, scale, out=np.zeros(len(others)), where=scale > 0)
    return gaps


def _grams(member: Member, pending: Kept) -> Grams:
    """Return the Gram matrices, with the rows that were learned since the last re-solve."""
    moments = deepcopy(member.moments)
    summed = ~pending.reserve | (member.policy.statistics == "all")
    for k in np.unique(pending.labels[summed]):
        chosen = summed & (pending.labels == k)
        moments.add_gram(k, pending.rows[chosen], pending.weights[chosen])
    return moments.grams
