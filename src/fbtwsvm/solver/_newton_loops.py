"""The compiled loops of Newton's method: the smoothed hinge of many rows, and the line search along a step."""

from __future__ import annotations

import numpy as np

from .._arrays import Array, compiled


def smooth_hinge(x: Array, box: Array, widths: Array) -> tuple[Array, Array, Array]:
    """Compute the smoothed hinge loss of pushed rows in several planes.

    `x` and `box` (n_planes, n) are 1 + h_i.u and C w_i s_i; `widths` are those of the zones.  The loss is
    box (x + width / 2)^2 / (2 width) in the zone |x| < width / 2, and the hinge box max(0, x) outside.

    Returns
    -------
    hinge : (n_planes,), sum of the true hinge loss
    duals : (n_planes, n), slope of the smoothed loss
    roots : (n_planes, n), square root of its curvature
    """
    hinge, duals, roots = np.zeros(len(x)), np.zeros(x.shape, dtype=x.dtype), np.zeros(x.shape, dtype=x.dtype)
    _smooth_hinge(x, box, widths, hinge, duals, roots)
    return hinge, duals, roots


@compiled
def _smooth_hinge(x, box, widths, hinge, duals, roots):
    n_planes, n = x.shape
    for k in range(n_planes):
        half = x.dtype.type(0.5 * widths[k])
        steepness = x.dtype.type(1.0 / widths[k])
        for i in range(n):
            if x[k, i] > 0.0:
                hinge[k] += box[k, i] * x[k, i]
            if x[k, i] >= half:
                duals[k, i] = box[k, i]
            elif x[k, i] > -half:
                duals[k, i] = box[k, i] * (x[k, i] + half) * steepness
                roots[k, i] = np.sqrt(box[k, i] * steepness)


def any_column(values: Array) -> Array:
    """Mark the columns with any entry that is not zero."""
    found = np.zeros(values.shape[1], dtype=np.bool_)
    _any_column(values, found)
    return found


@compiled
def _any_column(values, found):
    for k in range(values.shape[0]):
        for i in range(values.shape[1]):
            if values[k, i] != 0.0:
                found[i] = True


@compiled
def hinge_search(x, ahead, box, width, slope, bend):
    """Return the best step length t from values `x` towards `ahead`, for the loss of `smooth_hinge`.

    The quadratic part of the objective adds `slope` t + `bend` t^2 / 2.  The derivative is piecewise linear and
    increasing; its root is found by Newton's method between bounds.
    """
    half = 0.5 * width
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(30):
        first, second = slope + t * bend, bend
        for i in range(x.shape[0]):
            move = ahead[i] - x[i]
            at = x[i] + t * move
            if at >= half:
                first += box[i] * move
            elif at > -half:
                first += box[i] * move * (at + half) / width
                second += box[i] * move * move / width
        if first > 0.0:
            high = t
        else:
            low = t
        step = first / second if second > 0.0 else 0.0
        new = t - step
        if new <= low or new >= high:
            new = 0.5 * (low + high) if high < np.inf else 2.0 * t
        if abs(new - t) <= 1e-3 * abs(t):
            return new
        t = new
    return t
