"""The compiled loops of vectors and matrices: plane values, and roots of inverse Gram matrices as in `roots.Roots`."""

from __future__ import annotations

import numpy as np

from .._arrays import compiled

_LEAST_SQUARE = 1e-30  # h'G^-1 h is not smaller: rounding errors must not make it negative


@compiled
def dot(left, right):
    """Return the inner product of two vectors."""
    total = left.dtype.type(0.0)
    for k in range(left.shape[0]):
        total += left[k] * right[k]
    return total


@compiled
def values_of(row, planes, values):
    """Set values_k = row.planes_k, for four planes at a time: the row is read once for all four."""
    zero, k = row.dtype.type(0.0), 0
    while k + 4 <= planes.shape[0]:
        first, second, third, fourth = planes[k], planes[k + 1], planes[k + 2], planes[k + 3]
        a, b, c, d = zero, zero, zero, zero
        for j in range(row.shape[0]):
            value = row[j]
            a += value * first[j]
            b += value * second[j]
            c += value * third[j]
            d += value * fourth[j]
        values[k], values[k + 1], values[k + 2], values[k + 3] = a, b, c, d
        k += 4
    while k < planes.shape[0]:
        values[k] = dot(row, planes[k])
        k += 1


@compiled
def whiten(root, row, zeta, solved):
    """Set zeta = R h and solved = R'zeta = G^-1 h; return ||zeta||^2.

    Four rows of R at a time: they are still in the cache for the second product, and its sums are read once for four.
    """
    n, zero, square, r = root.shape[0], root.dtype.type(0.0), 0.0, 0
    for k in range(n):
        solved[k] = zero
    while r + 4 <= n:
        first, second, third, fourth = root[r], root[r + 1], root[r + 2], root[r + 3]
        a, b, c, d = zero, zero, zero, zero
        for k in range(n):
            value = row[k]
            a += first[k] * value
            b += second[k] * value
            c += third[k] * value
            d += fourth[k] * value
        for k in range(n):
            solved[k] += a * first[k] + b * second[k] + c * third[k] + d * fourth[k]
        zeta[r], zeta[r + 1], zeta[r + 2], zeta[r + 3] = a, b, c, d
        square += a * a + b * b + c * c + d * d
        r += 4
    while r < n:
        last = root[r]
        a = dot(last, row)
        for k in range(n):
            solved[k] += a * last[k]
        zeta[r] = a
        square += a * a
        r += 1
    return square


@compiled
def whiten_low_rank(factor, n_rows, ridge, row, solved):
    """Set solved = G^-1 h = (h - T'T h) / ridge, with the first rows of `factor` as T; return h.solved."""
    n, zero, share, r = row.shape[0], row.dtype.type(0.0), row.dtype.type(1.0 / ridge), 0
    for k in range(n):
        solved[k] = row[k]
    while r + 4 <= n_rows:
        first, second, third, fourth = factor[r], factor[r + 1], factor[r + 2], factor[r + 3]
        a, b, c, d = zero, zero, zero, zero
        for k in range(n):
            value = row[k]
            a += first[k] * value
            b += second[k] * value
            c += third[k] * value
            d += fourth[k] * value
        for k in range(n):
            solved[k] -= a * first[k] + b * second[k] + c * third[k] + d * fourth[k]
        r += 4
    while r < n_rows:
        last = factor[r]
        a = dot(last, row)
        for k in range(n):
            solved[k] -= a * last[k]
        r += 1
    for k in range(n):
        solved[k] *= share
    return max(dot(row, solved), _LEAST_SQUARE)


@compiled
def update_root(roots, late, late_place):
    """Make the update that is still to be made, if there is one: subtract late_0 late_1' from a root."""
    if late_place[0] >= 0:
        root, left, right = roots[late_place[0]], late[0], late[1]
        for r in range(root.shape[0]):
            factor = left[r]
            for k in range(root.shape[1]):
                root[r, k] -= factor * right[k]
        late_place[0] = -1


@compiled
def low_rank_rows(gram, tolerance, rows):
    """Write V with V'V = gram, but for diagonal entries up to a tolerance, into `rows` by pivoted Cholesky steps.

    Returns the number of rows, or -1 if there is no room for that many.
    """
    most, n = rows.shape
    left = np.empty(n)
    for k in range(n):
        left[k] = gram[k, k]
    for r in range(most + 1):
        pivot = 0
        for k in range(1, n):
            if left[k] > left[pivot]:
                pivot = k
        if left[pivot] <= tolerance:
            return r
        if r == most:
            return -1
        new = rows[r]
        for k in range(n):
            new[k] = gram[pivot, k]
        for i in range(r):
            row = rows[i]
            share = row[pivot]
            for k in range(n):
                new[k] -= share * row[k]
        scale = 1.0 / np.sqrt(left[pivot])
        for k in range(n):
            new[k] *= scale
            left[k] -= new[k] * new[k]
        left[pivot] = 0.0
    return -1
