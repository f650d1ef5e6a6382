"""The compiled loops of the solver: arrays in, arrays out, no Python objects.

Every function releases the GIL, so that threads over classes really run side by side.  The fast-math flags allow sums
to be reordered and multiply-adds to be fused, and nothing else: NaN and infinity keep their rules.  All loops that call
each other live in this one file, because numba's cache on disk does not notice a change in another.
"""

from __future__ import annotations

import numpy as np

from .._arrays import compiled

LEFT_OUT_SWEEPS = np.int64(20)  # of a solve without one of the rows
SMALL_BLOCK = 512  # up to so many pushed rows, those rows leave by solving again without them
_SLACK = 1e-9  # how far from its bounds a dual is free, relative to its box


@compiled
def _next_random(v: int) -> int:
    """One step of a 31-bit linear congruential generator: enough to shuffle an order."""
    return (v * 1103515245 + 12345) & 0x7FFFFFFF


@compiled
def _products(left, right):
    """Left @ right.T by BLAS: in one place, because each np.dot costs a second of compile time."""
    return np.dot(left, right.T)


@compiled
def _times(matrix, vector):
    """Matrix @ vector for a float64 vector, in the precision of the matrix."""
    out = np.zeros(matrix.shape[0], dtype=matrix.dtype)
    rounded = vector.astype(matrix.dtype)
    for i in range(matrix.shape[0]):
        total = matrix.dtype.type(0.0)
        row = matrix[i]
        for k in range(row.shape[0]):
            total += row[k] * rounded[k]
        out[i] = total
    return out


@compiled
def _combine(rows, vector, out):
    """Out = sum_i vector_i rows_i; most entries of a dual vector are zero and cost nothing."""
    out[:] = 0.0
    for i in range(rows.shape[0]):
        if vector[i] != 0.0:
            factor = rows.dtype.type(vector[i])
            row = rows[i]
            for k in range(row.shape[0]):
                out[k] += factor * row[k]


@compiled
def _relative_gap(v, box, alpha, primal_at_zero):
    """Duality gap over `primal_at_zero` from v = Q alpha: sum of alpha_i grad_i + box_i max(0, -grad_i)."""
    gap = 0.0
    for i in range(v.shape[0]):
        grad = v[i] - 1.0
        gap += alpha[i] * grad + box[i] * max(0.0, -grad)
    return gap / primal_at_zero if primal_at_zero > 0.0 else 0.0


@compiled
def _diagonal(matrix):
    """Copy of the diagonal."""
    out = np.empty(matrix.shape[0], dtype=matrix.dtype)
    for i in range(matrix.shape[0]):
        out[i] = matrix[i, i]
    return out


@compiled
def _gap_at_rest(rows, box, alpha, v, dual_form):
    """Duality gap where alpha is; arguments as in `descend`."""
    gap = 0.0
    for i in range(box.shape[0]):
        grad = -1.0
        if dual_form:
            grad += v[i]
        else:
            for k in range(rows.shape[1]):
                grad += rows[i, k] * v[k]
        gap += alpha[i] * grad + box[i] * max(0.0, -grad)
    return gap


@compiled
def descend(rows, diagonal, box, alpha, v, dual_form, primal_at_zero, tol, max_sweeps, seed, bounds):
    """Dual coordinate descent with shrinking (Hsieh et al. 2008); `alpha` and `v` in place.

    Minimises 1/2 alpha'Q alpha - sum(alpha) over 0 <= alpha_i <= box_i with Q_ij = zeta_i.zeta_j.

    rows form   `rows` are the zeta_i and `v` is sum_i alpha_i zeta_i, so (Q alpha)_i is a
                dot product;
    dual form   `rows` are those of Q itself and `v` is Q alpha, so (Q alpha)_i is read off.

    Either way a step reads one row and adds a multiple of one row to the v.  Stops when the
    gap over `primal_at_zero` (which is sum C w s of the whole problem) is at most `tol`, when rounding lets nothing
    move any more, or after `max_sweeps`.  `bounds` widens to the smallest and largest projected gradient of all sweeps.
    Returns the number of sweeps.
    """
    n = box.shape[0]
    active = np.arange(n)
    n_active = n
    upper, lower = np.inf, -np.inf  # shrinking thresholds: those of the sweep before
    rounding = 4.0 * np.finfo(v.dtype).eps
    random = (seed * 2654435761 + 1) & 0x7FFFFFFF
    sweep = 0
    while sweep < max_sweeps:
        sweep += 1
        largest, smallest, gap = -np.inf, np.inf, 0.0
        for i in range(n_active - 1, 0, -1):
            random = _next_random(random)
            j = (random >> 8) % (i + 1)
            active[i], active[j] = active[j], active[i]
        position = 0
        while position < n_active:
            i = active[position]
            row = rows[i]
            if dual_form:
                grad = v[i] - 1.0
            else:
                grad = -1.0
                for k in range(row.shape[0]):
                    grad += row[k] * v[k]
            old = alpha[i]
            if (old == 0.0 and grad > upper) or (old == box[i] and grad < lower):
                n_active -= 1
                active[position], active[n_active] = active[n_active], i
                continue
            position += 1
            projected = grad
            if old == 0.0:
                projected = min(grad, 0.0)
            elif old == box[i]:
                projected = max(grad, 0.0)
            largest, smallest = max(largest, projected), min(smallest, projected)
            gap += old * grad + box[i] * max(0.0, -grad)
            if projected != 0.0 and diagonal[i] > 0.0:
                new = min(max(old - grad / diagonal[i], 0.0), box[i])
                step = v.dtype.type(new - old)
                alpha[i] = new
                for k in range(row.shape[0]):
                    v[k] += step * row[k]
        bounds[0], bounds[1] = min(bounds[0], smallest), max(bounds[1], largest)
        stuck = largest - smallest <= rounding
        if gap <= 0.5 * tol * primal_at_zero or stuck:
            # `gap` was added up while alpha moved: certify it at a standstill.
            if n_active == n and (_gap_at_rest(rows, box, alpha, v, dual_form) <= tol * primal_at_zero or stuck):
                break
            n_active, upper, lower = n, np.inf, -np.inf
            continue
        upper = largest if largest > 0.0 else np.inf
        lower = smallest if smallest < 0.0 else -np.inf
    return sweep


@compiled
def is_free(alpha, box):
    """Whether a dual lies between its bounds."""
    return _SLACK * box < alpha < (1.0 - _SLACK) * box


@compiled
def free_duals(alpha, box):
    """Mark the duals (n, k) that lie between their bounds."""
    found = np.zeros(alpha.shape, dtype=np.bool_)
    for i in range(alpha.shape[0]):
        for k in range(alpha.shape[1]):
            found[i, k] = is_free(alpha[i, k], box[i, k])
    return found


@compiled
def carried(alpha, box, new_box):
    """Where a dual starts when its bound changes: what was at its bound stays there."""
    if alpha > 0.0 and alpha >= (1.0 - 1e-12) * box:
        return new_box
    return min(alpha, new_box)


@compiled
def carry_duals(alpha, box, new_box):
    """Where duals (n, k) start when their bounds change."""
    out = np.empty_like(new_box)
    for i in range(alpha.shape[0]):
        for k in range(alpha.shape[1]):
            out[i, k] = carried(alpha[i, k], box[i, k], new_box[i, k])
    return out


@compiled
def _factor(system, floor):
    """Cholesky factor in place, lower triangle; a point that depends on those before it gets an infinite pivot.

    Division by the pivot then makes it count for nothing, which is what a dependent point adds to a projection.
    """
    n = system.shape[0]
    for j in range(n):
        for i in range(j, n):
            total = system[i, j]
            for k in range(j):
                total -= system[i, k] * system[j, k]
            if i == j:
                system[j, j] = np.sqrt(total) if total > floor else np.inf
            else:
                system[i, j] = total / system[j, j]


@compiled
def left_out_near(q, cross, leverage, values, box, alpha, ridge, noise, out):
    """Values that rows of the near class would get from a plane trained without them, into `out`.

    With the free points F (0 < alpha < box) held at the margin, row i leaves the Gram matrix by a rank-one
    change of the whitened system projected off F (M = I - P_F), which gives h_i.u / (1 - w_i zeta_i'M zeta_i).

    `q` is the dual matrix of the pushed rows, `cross` (pushed, near) holds sqrt(w_i) zeta_j.zeta_i and `leverage` is
    w_i zeta_i.zeta_i.  `ridge`, relative to the largest diagonal entry, and `noise`, the rounding
    error of q, keep the system of F definite.
    """
    free = np.empty(alpha.shape[0], dtype=np.int64)
    n_free = 0
    for j in range(alpha.shape[0]):
        if is_free(alpha[j], box[j]):
            free[n_free] = j
            n_free += 1
    system = np.empty((n_free, n_free))
    largest = 0.0
    for k in range(n_free):
        largest = max(largest, q[free[k], free[k]])
        for m in range(n_free):
            system[k, m] = q[free[k], free[m]]
    for k in range(n_free):
        system[k, k] += ridge * largest + noise
    _factor(system, 0.5 * (ridge * largest + noise))
    n = values.shape[0]
    seen = np.empty((n_free, n))  # rows of the near class lie side by side, so that all are projected at once
    projected = np.empty(n)
    for i in range(n):
        projected[i] = leverage[i]
    for k in range(n_free):
        for i in range(n):
            seen[k, i] = cross[free[k], i]
        for m in range(k):
            share = system[k, m]
            for i in range(n):
                seen[k, i] -= share * seen[m, i]
        pivot = system[k, k]
        for i in range(n):
            seen[k, i] /= pivot
            projected[i] -= seen[k, i] * seen[k, i]
    for i in range(n):
        out[i] = values[i] / max(1.0 - max(projected[i], 0.0), 1e-6)


@compiled
def left_out_pushed(q, diagonal, v, wanted, box, alpha, out):
    """Values that pushed rows would get from a plane trained without them, into `out`.

    The loss of one row moves others to or from the margin, so the plane is solved again without it, from where
    the solution stands (`v` = Q alpha).  Rows with alpha = 0 do not matter to the plane and keep their value.
    """
    primal_at_zero, bounds = box.sum(), np.zeros(2)
    for j in range(alpha.shape[0]):
        out[j] = -v[j]
        if alpha[j] > 0.0 and wanted[j]:
            without, limit, moved = alpha.copy(), box.copy(), v.copy()
            without[j], limit[j] = 0.0, 0.0
            step = q.dtype.type(alpha[j])
            for k in range(moved.shape[0]):
                moved[k] -= step * q[j, k]
            descend(
                q,
                diagonal,
                limit,
                without,
                moved,
                np.bool_(True),
                primal_at_zero,
                1e-3,
                np.int64(LEFT_OUT_SWEEPS),
                j,
                bounds,
            )
            out[j] = -moved[j]


@compiled
def solve_kernel_blocks(
    kernel,
    whitened,
    crossed,
    leverage,
    root_weights,
    starts,
    near,
    reg,
    wanted,
    box,
    multiples,
    alpha,
    ridge,
    noise,
    tol,
    max_sweeps,
    seed,
):
    """Solve the planes of class `near` against every other class from inner products alone.

    With M = reg I + K_aa = L L', `whitened` holds L^-1 K_ai and `crossed` L^-T L^-1 K_ai, a row for each training
    row i.  The dual matrix of block b is Q = (K_bb - W_b W_b') / reg (Woodbury).  `alpha` (n_multiples, n) is solved
    in place, for several multiples of the boxes, each from the solution before it.

    Returns
    -------
    dual_sums : (n_multiples, n_classes, n_near), M^-1 K_ab alpha
    near_out, push_out : left-out values of the near rows (n_multiples, n_near, n_classes) and of the pushed rows
        (n_multiples, n); those of blocks with more than SMALL_BLOCK rows are plain values
    sweeps, gaps : (n_multiples, n_classes)
    """
    n_classes, n_near, n_multiples = starts.shape[0] - 1, whitened.shape[1], multiples.shape[0]
    dual_sums = np.zeros((n_multiples, n_classes, n_near), dtype=kernel.dtype)
    near_out, push_out = np.zeros((n_multiples, n_near, n_classes)), np.zeros((n_multiples, box.shape[0]))
    sweeps = np.zeros((n_multiples, n_classes), dtype=np.int64)
    gaps = np.zeros((n_multiples, n_classes))
    values = np.empty(n_near)
    for b in range(n_classes):
        first, last = starts[b], starts[b + 1]
        if b == near or first == last:
            continue
        rows = whitened[first:last]
        q = _products(rows, rows)
        for i in range(last - first):
            for j in range(last - first):
                q[i, j] = (kernel[first + i, first + j] - q[i, j]) / reg
        diagonal, bounds = _diagonal(q), np.zeros(2)
        for m in range(n_multiples):
            block_alpha, block_box = alpha[m, first:last], box[first:last] * multiples[m]
            if m > 0:
                for i in range(last - first):
                    block_alpha[i] = carried(alpha[m - 1, first + i], box[first + i] * multiples[m - 1], block_box[i])
            primal_at_zero = block_box.sum()
            v = _times(q, block_alpha)
            sweeps[m, b] = descend(
                q,
                diagonal,
                block_box,
                block_alpha,
                v,
                np.bool_(True),
                primal_at_zero,
                tol,
                max_sweeps,
                seed + b,
                bounds,
            )
            v = _times(q, block_alpha)
            gaps[m, b] = _relative_gap(v, block_box, block_alpha, primal_at_zero)
            _combine(crossed[first:last], block_alpha, dual_sums[m, b])
            for i in range(n_near):
                values[i] = -dual_sums[m, b, i] / root_weights[i]
                near_out[m, i, b] = values[i]
            pushed = push_out[m, first:last]
            if last - first <= SMALL_BLOCK:
                left_out_near(
                    q, crossed[first:last], leverage, values, block_box, block_alpha, ridge, noise, near_out[m, :, b]
                )
                left_out_pushed(q, diagonal, v, wanted[first:last], block_box, block_alpha, pushed)
            else:
                for i in range(last - first):
                    pushed[i] = -v[i]
    return dual_sums, near_out, push_out, sweeps, gaps


@compiled
def _signed(rows, signs):
    """Rows with their columns multiplied by `signs`, or the rows themselves where there are none."""
    if signs.shape[0] == 0:
        return rows
    out = np.empty_like(rows)
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            out[i, k] = rows[i, k] * signs[k]
    return out


@compiled
def solve_row_blocks(
    rows, signs, starts, todo, primal_at_zero, box, alpha, fixed_sums, dual_sums, bounds, tol, max_sweeps, seed
):
    """Solve planes of one near class on whitened working-set rows; `alpha`, `dual_sums` and `bounds` in place.

    Block b of `rows` holds the zeta_i of class b, and `fixed_sums[b]` is the sum of alpha_i zeta_i over rows that are
    no longer there; classes that are not `todo` are left alone.  Q_ij = sum_k signs_k zeta_ik zeta_jk, without `signs`
    the plain product.  A block with fewer rows than features works on its dual matrix, a larger one without signs on
    the rows themselves.  Row b of
    `dual_sums` becomes fixed_sums[b] + sum alpha_i zeta_i.  `max_sweeps` is what each class has left.  Returns the
    sweeps per class.
    """
    n_classes = starts.shape[0] - 1
    sweeps = np.zeros(n_classes, dtype=np.int64)
    for b in range(n_classes):
        first, last = starts[b], starts[b + 1]
        if not todo[b]:
            continue
        zeta, block_alpha, block_box = rows[first:last], alpha[first:last], box[first:last]
        dual_form = signs.shape[0] > 0 or zeta.shape[0] <= zeta.shape[1]
        if dual_form:
            signed = _signed(zeta, signs)
            matrix = _products(signed, zeta)
            diagonal = _diagonal(matrix)
            v = _times(matrix, block_alpha)
            v += _times(signed, fixed_sums[b])
        else:
            matrix = zeta
            diagonal = np.empty(zeta.shape[0], dtype=zeta.dtype)
            for i in range(zeta.shape[0]):
                total = zeta.dtype.type(0.0)
                for k in range(zeta.shape[1]):
                    total += zeta[i, k] * zeta[i, k]
                diagonal[i] = total
            v = np.empty(zeta.shape[1], dtype=zeta.dtype)
            _combine(zeta, block_alpha, v)
            for k in range(zeta.shape[1]):
                v[k] += fixed_sums[b, k]
        if first < last:
            sweeps[b] = descend(
                matrix,
                diagonal,
                block_box,
                block_alpha,
                v,
                dual_form,
                primal_at_zero[b],
                tol,
                max_sweeps[b],
                seed + b,
                bounds[b],
            )
        _combine(zeta, block_alpha, dual_sums[b])
        for k in range(zeta.shape[1]):
            dual_sums[b, k] += fixed_sums[b, k]
    return sweeps


@compiled
def left_out_blocks(
    rows, signs, starts, near, cross, leverage, near_values, wanted, box, alpha, ridge, values, near_out
):
    """Left-out values of the planes of class `near` on the whitened working set, for blocks up to SMALL_BLOCK.

    `cross` (n, n_near) are the products with near rows that `left_out_near` wants, `near_values` (n_near, n_classes)
    the plane values of those; `near_out` and the working-set rows' `values` are corrected in place.
    """
    for b in range(starts.shape[0] - 1):
        first, last = starts[b], starts[b + 1]
        if b == near or first == last or last - first > SMALL_BLOCK:
            continue
        zeta, block_alpha, block_box = rows[first:last], alpha[first:last], box[first:last]
        q = _products(_signed(zeta, signs), zeta)
        left_out_near(
            q,
            cross[first:last],
            leverage,
            near_values[:, b],
            block_box,
            block_alpha,
            ridge,
            0.0,
            near_out[:, b],
        )
        v = np.empty(last - first, dtype=q.dtype)
        for i in range(last - first):
            v[i] = -values[first + i]
        left_out_pushed(q, _diagonal(q), v, wanted[first:last], block_box, block_alpha, values[first:last])
