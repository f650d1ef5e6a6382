"""The compiled loop of Newton's method: the smoothed hinge of many rows."""

from __future__ import annotations

import numpy as np

from .._arrays import Array, compiled


def smooth_hinge(x: Array, box: Array, widths: Array) -> tuple[Array, Array, Array]:
    """Compute the smoothed hinge loss of pushed rows in several planes.

    `x` and `box` (n_planes, n) are 1 + h_i.u and C w_i s_i; `widths` are those of the zones.  The loss is
    box (x + width / 2)^2 / (2 width) in the zone |x| < width / 2, and the hinge box max(0, x) outside.

    Returns
    -------
    losses : (n_planes, 2), sums of the true hinge loss and of the smoothed one
    duals : (n_planes, n), slope of the smoothed loss
    roots : (n_planes, n), square root of its curvature
    """
    losses, duals, roots = np.zeros((len(x), 2)), np.zeros(x.shape, dtype=x.dtype), np.zeros(x.shape, dtype=x.dtype)
    _smooth_hinge(x, box, widths, losses, duals, roots)
    return losses, duals, roots


@compiled
def _smooth_hinge(x, box, widths, losses, duals, roots):
    n_planes, n = x.shape
    for k in range(n_planes):
        half = x.dtype.type(0.5 * widths[k])
        steepness = x.dtype.type(1.0 / widths[k])
        for i in range(n):
            if x[k, i] > 0.0:
                losses[k, 0] += box[k, i] * x[k, i]
            if x[k, i] >= half:
                losses[k, 1] += box[k, i] * x[k, i]
                duals[k, i] = box[k, i]
            elif x[k, i] > -half:
                inside = x[k, i] + half
                losses[k, 1] += 0.5 * box[k, i] * inside * inside * steepness
                duals[k, i] = box[k, i] * inside * steepness
                roots[k, i] = np.sqrt(box[k, i] * steepness)
