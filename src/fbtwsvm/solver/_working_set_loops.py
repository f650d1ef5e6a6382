"""The compiled loops of working sets: plane values, and which rows join."""

from __future__ import annotations

import numpy as np

from .._arrays import compiled


@compiled
def kth_smallest(values, k):
    """Return the k-th smallest of some values, counted from zero, by Hoare's selection; changes their order.

    np.partition does the same, and takes four seconds to compile.
    """
    low, high = 0, values.shape[0] - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@compiled
def select_violators(values, box, alpha, in_set, starts, todo, primal_at_zero, tol, growth, at_least, gaps, joined):
    """Mark in `in_set` the rows that add most to the gap of each plane that is `todo`.

    `values` are h_i.u in the plane that pushes row i.  A row outside the working set adds box_i max(0, 1 + h_i.u) to
    the gap.  The rows that add most join: at most `growth` times the rows of the class that are in the set already, or
    `at_least` if that is more.  Writes the gap of each class, relative to `primal_at_zero`, into `gaps`, and how many
    of its rows joined into `joined`; both are zero at first.
    """
    for b in range(starts.shape[0] - 1):
        first, last = starts[b], starts[b + 1]
        if not todo[b] or first == last:
            continue
        present, found, gap = 0, 0, 0.0
        excess = np.empty(last - first)
        for i in range(first, last):
            grad = -values[i] - 1.0
            over = box[i] * max(0.0, -grad)
            gap += alpha[i] * grad + over
            if in_set[i]:
                present += 1
            elif over > 0.0:
                excess[found] = over
                found += 1
        gaps[b] = gap / primal_at_zero[b] if primal_at_zero[b] > 0.0 else 0.0
        if gaps[b] <= tol or found == 0:
            continue
        room = max(at_least, np.int64(growth * present))
        if room == 0:
            continue
        threshold = 0.0
        if found > room:
            threshold = kth_smallest(excess[:found], found - room)
        for i in range(first, last):
            if joined[b] < room and not in_set[i]:
                over = box[i] * max(0.0, 1.0 + values[i])
                if over > 0.0 and over >= threshold:
                    in_set[i] = True
                    joined[b] += 1


@compiled
def first_set(values, starts, todo, count, in_set):
    """Mark in `in_set` the `count` rows with the largest guessed values of each class that is `todo`."""
    for b in range(starts.shape[0] - 1):
        first, last = starts[b], starts[b + 1]
        if todo[b] and first < last:
            out = max(last - first - count, 0)
            limit = kth_smallest(values[first:last].copy(), out)
            for i in range(first, last):
                in_set[i] = values[i] >= limit


@compiled
def plane_values(rows, planes, out):
    """Set out[k, i] = rows_i.planes_k for a few planes, in one pass over the rows."""
    zero = rows.dtype.type(0.0)
    for i in range(rows.shape[0]):
        row = rows[i]
        k = 0
        while k + 4 <= planes.shape[0]:  # four planes at a time: the row is read once for all four
            first, second, third, fourth = planes[k], planes[k + 1], planes[k + 2], planes[k + 3]
            a, b, c, d = zero, zero, zero, zero
            for j in range(row.shape[0]):
                a += row[j] * first[j]
                b += row[j] * second[j]
                c += row[j] * third[j]
                d += row[j] * fourth[j]
            out[k, i], out[k + 1, i], out[k + 2, i], out[k + 3, i] = a, b, c, d
            k += 4
        while k < planes.shape[0]:
            only, a = planes[k], zero
            for j in range(row.shape[0]):
                a += row[j] * only[j]
            out[k, i] = a
            k += 1


@compiled
def pushing_plane_values(rows, starts, planes, out):
    """Set out[s, i] = rows_i.planes_bs for the class b of each row; block b of the rows begins at starts[b]."""
    for b in range(starts.shape[0] - 1):
        plane_values(rows[starts[b] : starts[b + 1]], planes[b], out[:, starts[b] : starts[b + 1]])
