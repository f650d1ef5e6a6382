"""The compiled loops of the solver: arrays in, arrays out, no Python objects.

Every function releases the GIL, so that threads over classes run in parallel.  The fast-math flags only allow sums to
be reordered and multiply-adds to be fused; NaN and infinity keep their rules.  Loops that call each other are all in
this file, because numba's cache on disk does not notice a change in another file.
"""

from __future__ import annotations

import numpy as np

from .._arrays import Array, compiled

LEFT_OUT_SWEEPS = np.int64(20)  # most sweeps when a plane is solved again without one row
SMALL_BLOCK = 512  # for at most so many pushed rows, the plane is solved again without each of them
CALL_WORK = 2**29  # most multiplications of the sweeps for one plane in one call: about half a second
_EPS_32, _EPS_64 = float(np.finfo(np.float32).eps), float(np.finfo(np.float64).eps)
_SLACK = 1e-9  # a dual is free if it is farther from its bounds than this, relative to its box


@compiled
def _next_random(v: int) -> int:
    """Return the next number of a 31-bit linear congruential generator: good enough to shuffle."""
    return (v * 1103515245 + 12345) & 0x7FFFFFFF


@compiled
def _products(left, right):
    """Return left @ right.T by BLAS; in one place, because each np.dot costs a second of compile time."""
    out = np.empty((left.shape[0], right.shape[0]), dtype=left.dtype)
    np.dot(left, right.T, out)
    return out


@compiled
def _sum(vector):
    """Return the sum of a vector."""
    total = 0.0
    for i in range(vector.shape[0]):
        total += vector[i]
    return total


@compiled
def _no_bounds():
    """Return bounds of projected gradients, as `descend` widens them, before the first sweep."""
    bounds = np.empty(2)
    bounds[0], bounds[1] = 0.0, 0.0
    return bounds


@compiled
def _times(matrix, vector):
    """Return matrix @ vector for a float64 vector, in the precision of the matrix."""
    out, rounded = np.empty(matrix.shape[0], dtype=matrix.dtype), np.empty(matrix.shape[1], dtype=matrix.dtype)
    for k in range(matrix.shape[1]):
        rounded[k] = vector[k]
    for i in range(matrix.shape[0]):
        total = matrix.dtype.type(0.0)
        row = matrix[i]
        for k in range(row.shape[0]):
            total += row[k] * rounded[k]
        out[i] = total
    return out


@compiled
def _combine(rows, vector, out):
    """Set out = sum_i vector_i rows_i, skipping the zeros, which are most entries of a dual vector."""
    out[:] = 0.0
    for i in range(rows.shape[0]):
        if vector[i] != 0.0:
            factor = rows.dtype.type(vector[i])
            row = rows[i]
            for k in range(row.shape[0]):
                out[k] += factor * row[k]


@compiled
def _relative_gap(v, box, alpha, primal_at_zero):
    """Return the gap, sum of alpha_i grad_i + box_i max(0, -grad_i), relative to `primal_at_zero`; v = Q alpha."""
    gap = 0.0
    for i in range(v.shape[0]):
        grad = v[i] - 1.0
        gap += alpha[i] * grad + box[i] * max(0.0, -grad)
    return gap / primal_at_zero if primal_at_zero > 0.0 else 0.0


@compiled
def _diagonal(matrix):
    """Return a copy of the diagonal."""
    out = np.empty(matrix.shape[0], dtype=matrix.dtype)
    for i in range(matrix.shape[0]):
        out[i] = matrix[i, i]
    return out


@compiled
def _gap_at_rest(rows, box, alpha, v, dual_form):
    """Return the duality gap at a fixed alpha; arguments as in `descend`."""
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
    """Minimise the dual by coordinate descent with shrinking (Hsieh et al. 2008); changes `alpha` and `v` in place.

    The objective is 1/2 alpha'Q alpha - sum(alpha) over 0 <= alpha_i <= box_i, with Q_ij = zeta_i.zeta_j.

    rows form   `rows` are the zeta_i and `v` is sum_i alpha_i zeta_i, so that (Q alpha)_i is a dot product
    dual form   `rows` are those of Q and `v` is Q alpha, so that (Q alpha)_i is v_i

    In both forms a step reads one row and adds a multiple of it to `v`.  Stops when the gap, relative to
    `primal_at_zero` (the sum of C w s), is at most `tol`, when rounding stops all progress, or after `max_sweeps`.
    `bounds` widens to the smallest and largest projected gradient of all sweeps.  Returns the number of sweeps.
    """
    n = box.shape[0]
    active = np.empty(n, dtype=np.int64)
    for i in range(n):
        active[i] = i
    n_active = n
    upper, lower = np.inf, -np.inf  # shrinking thresholds, from the sweep before
    rounding = 4.0 * (_EPS_64 if v.itemsize == 8 else _EPS_32)
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
            # `gap` was added up while alpha changed: compute it again at a fixed alpha.
            if n_active == n and (_gap_at_rest(rows, box, alpha, v, dual_form) <= tol * primal_at_zero or stuck):
                break
            n_active, upper, lower = n, np.inf, -np.inf
            continue
        # Beyond rounding: otherwise rounding errors would decide whether rows are set aside.
        upper = largest if largest > rounding else np.inf
        lower = smallest if smallest < -rounding else -np.inf
    return sweep


@compiled
def is_free(alpha, box):
    """Whether a dual lies between its bounds."""
    return _SLACK * box < alpha < (1.0 - _SLACK) * box


def free_duals(alpha: Array, box: Array) -> Array:
    """Mark the duals (n, k) that lie between their bounds."""
    found = np.zeros(alpha.shape, dtype=np.bool_)
    _free_duals(alpha, box, found)
    return found


@compiled
def _free_duals(alpha, box, found):
    for i in range(alpha.shape[0]):
        for k in range(alpha.shape[1]):
            found[i, k] = is_free(alpha[i, k], box[i, k])


@compiled
def carried(alpha, box, new_box):
    """Return the start of a dual whose bound has changed: a dual at its bound stays at its bound."""
    if alpha > 0.0 and alpha >= (1.0 - 1e-12) * box:
        return new_box
    return min(alpha, new_box)


def carry_duals(alpha: Array, box: Array, new_box: Array) -> Array:
    """Return the start of duals (n, k) whose bounds have changed."""
    out = np.empty_like(new_box)
    _carry_duals(alpha, box, new_box, out)
    return out


@compiled
def _carry_duals(alpha, box, new_box, out):
    for i in range(alpha.shape[0]):
        for k in range(alpha.shape[1]):
            out[i, k] = carried(alpha[i, k], box[i, k], new_box[i, k])


@compiled
def _factor(system, floor):
    """Replace the lower triangle by its Cholesky factor; a row that depends on those before it gets an infinite pivot.

    Division by that pivot gives zero, which is what a dependent row adds to a projection.
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
    """Write the left-out values of rows of the near class into `out`.

    The free rows F (0 < alpha < box) stay at the margin.  Taking row i out of the Gram matrix is then a rank-one change
    of the whitened system projected off F (M = I - P_F), which gives h_i.u / (1 - w_i zeta_i'M zeta_i).

    `q` is the dual matrix of the pushed rows, `cross` (n_pushed, n_near) holds sqrt(w_i) zeta_j.zeta_i and `leverage`
    is w_i zeta_i.zeta_i.  Two terms keep the system of F definite: `ridge`, relative to the largest diagonal entry, and
    `noise`, the rounding error of q.
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
    seen = np.empty((n_free, n))  # one column for each near row, so that the inner loop runs over all of them
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
def left_out_pushed(q, diagonal, v, wanted, box, alpha, tol, out):
    """Write the left-out values of pushed rows into `out`.

    Without a row, other rows may move to or from the margin.  The plane is therefore solved again without it, starting
    from the solution (`v` = Q alpha), to ten times `tol` within limits: the decision rule needs no more.  Rows with
    alpha = 0 have no part in the plane and keep their value.
    """
    primal_at_zero, bounds = _sum(box), _no_bounds()
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
                min(max(10.0 * tol, 1e-3), 1e-2),
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
    todo,
    dual_sums,
    near_out,
    push_out,
    sweeps,
    gaps,
):
    """Solve the planes near class `near` against every other class from inner products alone.

    With M = reg I + K_aa = L L', `whitened` holds L^-1 K_ai and `crossed` L^-T L^-1 K_ai, one row for each training
    row i.  The dual matrix of class b is Q = (K_bb - W_b W_b') / reg (Woodbury).  Several multiples of the boxes are
    solved, each from the solution before it; the duals are written to `alpha` (n_multiples, n).

    Only planes that are `todo` (n_multiples, n_classes) are solved.  They stay `todo` if one call is too short for
    them; the next call goes on from their duals.  Results are written into arrays, which are zero before the first
    call:

    dual_sums           (n_multiples, n_classes, n_near): M^-1 K_ab alpha
    near_out, push_out  left-out values of the near rows (n_multiples, n_near, n_classes) and of the pushed rows
                        (n_multiples, n); plain plane values for classes with more than SMALL_BLOCK rows
    sweeps, gaps        (n_multiples, n_classes)
    """
    n_classes, n_near, n_multiples = starts.shape[0] - 1, whitened.shape[1], multiples.shape[0]
    values = np.empty(n_near)
    for b in range(n_classes):
        first, last = starts[b], starts[b + 1]
        n_todo = 0
        for m in range(n_multiples):
            todo[m, b] = todo[m, b] and b != near and first < last
            n_todo += todo[m, b]
        if n_todo == 0:
            continue
        slice_sweeps = max(1, CALL_WORK // ((last - first) * (last - first)))
        rows = whitened[first:last]
        q = _products(rows, rows)
        for i in range(last - first):
            for j in range(last - first):
                q[i, j] = (kernel[first + i, first + j] - q[i, j]) / reg
        diagonal, bounds = _diagonal(q), _no_bounds()
        for m in range(n_multiples):
            if not todo[m, b]:
                continue
            block_alpha, block_box = alpha[m, first:last], np.empty(last - first)
            for i in range(last - first):
                block_box[i] = box[first + i] * multiples[m]
            if m > 0 and sweeps[m, b] == 0:
                for i in range(last - first):
                    block_alpha[i] = carried(alpha[m - 1, first + i], box[first + i] * multiples[m - 1], block_box[i])
            primal_at_zero = _sum(block_box)
            v = _times(q, block_alpha)
            limit = min(slice_sweeps, max_sweeps - sweeps[m, b])
            done = descend(
                q,
                diagonal,
                block_box,
                block_alpha,
                v,
                np.bool_(True),
                primal_at_zero,
                tol,
                limit,
                seed + b,
                bounds,
            )
            sweeps[m, b] += done
            todo[m, b] = done == slice_sweeps and sweeps[m, b] < max_sweeps
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
                left_out_pushed(q, diagonal, v, wanted[first:last], block_box, block_alpha, tol, pushed)
            else:
                for i in range(last - first):
                    pushed[i] = -v[i]


@compiled
def _signed(rows, signs):
    """Return the rows with their columns multiplied by `signs`, or the rows themselves if `signs` is empty."""
    if signs.shape[0] == 0:
        return rows
    out = np.empty_like(rows)
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            out[i, k] = rows[i, k] * signs[k]
    return out


@compiled
def solve_row_blocks(
    rows, signs, starts, todo, primal_at_zero, box, alpha, fixed_sums, dual_sums, bounds, tol, max_sweeps, seed, sweeps
):
    """Solve the planes near one class on a whitened working set; changes `alpha`, `dual_sums` and `bounds` in place.

    Block b of `rows` holds the zeta_i of class b; `fixed_sums[b]` is the sum of alpha_i zeta_i over its forgotten rows.
    Classes that are not `todo` are skipped.  Q_ij = sum_k signs_k zeta_ik zeta_jk, or the plain product if `signs` is
    empty.  A block with fewer rows than columns, or with signs, is solved on its dual matrix; any other on its rows.
    Row b of `dual_sums` becomes fixed_sums[b] + sum alpha_i zeta_i.  A class whose `sweeps` reach `max_sweeps` is done.
    A class stays `todo` if one call is too short for it; the next call goes on from its duals.
    """
    for b in range(starts.shape[0] - 1):
        first, last = starts[b], starts[b + 1]
        if not todo[b]:
            continue
        todo[b] = False
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
            slice_sweeps = max(1, CALL_WORK // (matrix.shape[0] * matrix.shape[1]))
            done = descend(
                matrix,
                diagonal,
                block_box,
                block_alpha,
                v,
                dual_form,
                primal_at_zero[b],
                tol,
                min(slice_sweeps, max(max_sweeps - sweeps[b], 0)),
                seed + b,
                bounds[b],
            )
            sweeps[b] += done
            todo[b] = done == slice_sweeps and sweeps[b] < max_sweeps
        _combine(zeta, block_alpha, dual_sums[b])
        for k in range(zeta.shape[1]):
            dual_sums[b, k] += fixed_sums[b, k]


@compiled
def left_out_blocks(
    rows, signs, starts, near, cross, leverage, near_values, wanted, box, alpha, ridge, tol, values, near_out
):
    """Compute left-out values of the planes near class `near`, for classes with at most SMALL_BLOCK working-set rows.

    `cross` (n, n_near) are the products that `left_out_near` takes, `near_values` (n_near, n_classes) the plane values
    of the near rows.  Left-out values replace plane values in `near_out` and, for working-set rows, in `values`.
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
        left_out_pushed(q, _diagonal(q), v, wanted[first:last], block_box, block_alpha, tol, values[first:last])
