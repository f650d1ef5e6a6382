"""The compiled loops: arrays in, arrays out, no Python objects.

Every function releases the GIL, so that threads over classes really run side by side.  The
fast-math flags allow sums to be reordered and multiply-adds to be fused, and nothing else: NaN
and infinity keep their rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use and keep the machine code on disk."""
    decorate: Callable[..., Any] = numba.njit(
        cache=True, nogil=True, fastmath={"reassoc", "contract"}, error_model="numpy"
    )
    machine_code: Callable[..., Any] = decorate(function)
    return machine_code


@compiled
def _next_random(state: int) -> int:
    """One step of a 31-bit linear congruential generator: enough to shuffle an order."""
    return (state * 1103515245 + 12345) & 0x7FFFFFFF


@compiled
def _products(left, right):  # type: ignore[no-untyped-def]
    """Left @ right.T by BLAS: in one place, because each np.dot costs a second of compile time."""
    return np.dot(left, right.T)


@compiled
def _times(matrix, vector):  # type: ignore[no-untyped-def]
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
def _combine(rows, vector, out):  # type: ignore[no-untyped-def]
    """Out = sum_i vector_i rows_i; most entries of a dual vector are zero and cost nothing."""
    out[:] = 0.0
    for i in range(rows.shape[0]):
        if vector[i] != 0.0:
            factor = rows.dtype.type(vector[i])
            row = rows[i]
            for k in range(row.shape[0]):
                out[k] += factor * row[k]


@compiled
def _relative_gap(state, box, alpha, scale):  # type: ignore[no-untyped-def]
    """Duality gap over `scale` from state = Q alpha: sum of alpha_i grad_i + box_i max(0, -grad_i)."""
    gap = 0.0
    for i in range(state.shape[0]):
        grad = state[i] - 1.0
        gap += alpha[i] * grad + box[i] * max(0.0, -grad)
    return gap / scale if scale > 0.0 else 0.0


@compiled
def _diagonal(matrix):  # type: ignore[no-untyped-def]
    """Copy of the diagonal."""
    out = np.empty(matrix.shape[0], dtype=matrix.dtype)
    for i in range(matrix.shape[0]):
        out[i] = matrix[i, i]
    return out


@compiled
def descend(rows, diagonal, box, alpha, state, dual_form, scale, tol, max_sweeps, seed):  # type: ignore[no-untyped-def]
    """Dual coordinate descent with shrinking (Hsieh et al. 2008); `alpha` and `state` in place.

    Minimises 1/2 alpha'Q alpha - sum(alpha) over 0 <= alpha_i <= box_i with Q_ij = zeta_i.zeta_j.

    rows form   `rows` are the zeta_i and `state` is sum_i alpha_i zeta_i, so (Q alpha)_i is a
                dot product;
    dual form   `rows` are those of Q itself and `state` is Q alpha, so (Q alpha)_i is read off.

    Either way a step reads one row and adds a multiple of one row to the state.  Stops when the
    gap over `scale` (which is sum C w s of the whole problem) is at most `tol`, when rounding lets nothing
    move any more, or after `max_sweeps`.  Returns (sweeps, largest and smallest
    projected gradient over all sweeps): the last two are the bounds of the paper's
    acceptance rule.
    """
    n = box.shape[0]
    active = np.arange(n)
    n_active = n
    upper, lower = np.inf, -np.inf  # shrinking thresholds: those of the sweep before
    highest, lowest = -np.inf, np.inf
    rounding = 4.0 * np.finfo(state.dtype).eps
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
                grad = state[i] - 1.0
            else:
                grad = -1.0
                for k in range(row.shape[0]):
                    grad += row[k] * state[k]
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
                step = state.dtype.type(new - old)
                alpha[i] = new
                for k in range(row.shape[0]):
                    state[k] += step * row[k]
        highest, lowest = max(highest, largest), min(lowest, smallest)
        stuck = largest - smallest <= rounding
        if gap <= 0.5 * tol * scale or stuck:
            if n_active == n:
                # `gap` was added up while alpha moved: certify it at a standstill.
                gap = 0.0
                for i in range(n):
                    grad = -1.0
                    if dual_form:
                        grad += state[i]
                    else:
                        for k in range(rows.shape[1]):
                            grad += rows[i, k] * state[k]
                    gap += alpha[i] * grad + box[i] * max(0.0, -grad)
                if gap <= tol * scale or stuck:
                    break
            n_active, upper, lower = n, np.inf, -np.inf
            continue
        upper = largest if largest > 0.0 else np.inf
        lower = smallest if smallest < 0.0 else -np.inf
    return sweep, highest, lowest


SMALL_BLOCK = 512  # up to so many pushed rows, those rows leave by solving again without them
_SLACK = 1e-9  # how far from its bounds a dual is free, relative to its box


@compiled
def _factor(system):  # type: ignore[no-untyped-def]
    """Cholesky factor in place, lower triangle."""
    n = system.shape[0]
    for j in range(n):
        for i in range(j, n):
            total = system[i, j]
            for k in range(j):
                total -= system[i, k] * system[j, k]
            if i == j:
                system[j, j] = np.sqrt(total)
            else:
                system[i, j] = total / system[j, j]


@compiled
def left_out_near(q, cross, leverage, values, box, alpha, ridge, out):  # type: ignore[no-untyped-def]
    """Values that rows of the near class would get from a plane trained without them, into `out`.

    With the free points F (0 < alpha < box) held at the margin, row i leaves the Gram matrix by a rank-one
    change of the whitened system projected off F (M = I - P_F), which gives h_i.u / (1 - w_i zeta_i'M zeta_i).

    `q` is the dual matrix of the pushed rows, `cross` (pushed, near) holds sqrt(w_i) zeta_j.zeta_i and `leverage` is
    w_i zeta_i.zeta_i.  `ridge`, relative to the largest diagonal entry, keeps the system of F definite.
    """
    free = np.empty(alpha.shape[0], dtype=np.int64)
    n_free = 0
    for j in range(alpha.shape[0]):
        if _SLACK * box[j] < alpha[j] < (1.0 - _SLACK) * box[j]:
            free[n_free] = j
            n_free += 1
    system = np.empty((n_free, n_free))
    largest = 0.0
    for k in range(n_free):
        largest = max(largest, q[free[k], free[k]])
        for m in range(n_free):
            system[k, m] = q[free[k], free[m]]
    for k in range(n_free):
        system[k, k] += ridge * largest
    _factor(system)
    seen = np.empty(n_free)
    for i in range(values.shape[0]):
        projected = leverage[i]
        for k in range(n_free):
            total = np.float64(cross[free[k], i])
            for m in range(k):
                total -= system[k, m] * seen[m]
            seen[k] = total / system[k, k]
            projected -= seen[k] * seen[k]
        out[i] = values[i] / max(1.0 - max(projected, 0.0), 1e-6)


@compiled
def left_out_pushed(q, diagonal, state, wanted, box, alpha, out):  # type: ignore[no-untyped-def]
    """Values that pushed rows would get from a plane trained without them, into `out`.

    The loss of one row moves others to or from the margin, so the plane is solved again without it, from where
    the solution stands (`state` = Q alpha).  Rows with alpha = 0 do not matter to the plane and keep their value.
    """
    scale = box.sum()
    for j in range(alpha.shape[0]):
        out[j] = -state[j]
        if alpha[j] > 0.0 and wanted[j]:
            without, limit, moved = alpha.copy(), box.copy(), state.copy()
            without[j], limit[j] = 0.0, 0.0
            step = q.dtype.type(alpha[j])
            for k in range(moved.shape[0]):
                moved[k] -= step * q[j, k]
            descend(q, diagonal, limit, without, moved, np.bool_(True), scale, 1e-3, np.int64(20), j)
            out[j] = -moved[j]


@compiled
def solve_kernel_blocks(  # type: ignore[no-untyped-def]
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
    alpha,
    ridge,
    tol,
    max_sweeps,
    seed,
):
    """Solve the planes of class `near` against every other class from inner products alone.

    With M = reg I + K_aa = L L', `whitened` holds L^-1 K_ai and `crossed` L^-T L^-1 K_ai, a row for each training
    row i.  The dual matrix of block b is Q = (K_bb - W_b W_b') / reg (Woodbury).  `alpha` is solved in place.

    Returns
    -------
    pulls : (n_classes, n_near), M^-1 K_ab alpha
    near_out, push_out : left-out values of the near rows (n_near, n_classes) and of the pushed rows (n,); those of
        blocks with more than SMALL_BLOCK rows are plain values
    sweeps, gaps, bounds : per class; the bounds are those of `descend`
    """
    n_classes, n_near = starts.shape[0] - 1, whitened.shape[1]
    pulls = np.zeros((n_classes, n_near), dtype=kernel.dtype)
    near_out, push_out = np.zeros((n_near, n_classes)), np.zeros(box.shape[0])
    sweeps = np.zeros(n_classes, dtype=np.int64)
    gaps, bounds = np.zeros(n_classes), np.zeros((n_classes, 2))
    values = np.empty(n_near)
    for b in range(n_classes):
        first, last = starts[b], starts[b + 1]
        if b == near or first == last:
            continue
        rows, block_alpha, block_box = whitened[first:last], alpha[first:last], box[first:last]
        q = _products(rows, rows)
        for i in range(last - first):
            for j in range(last - first):
                q[i, j] = (kernel[first + i, first + j] - q[i, j]) / reg
        diagonal, scale = _diagonal(q), block_box.sum()
        state = _times(q, block_alpha)
        sweeps[b], bounds[b, 0], bounds[b, 1] = descend(
            q, diagonal, block_box, block_alpha, state, np.bool_(True), scale, tol, max_sweeps, seed + b
        )
        state = _times(q, block_alpha)
        gaps[b] = _relative_gap(state, block_box, block_alpha, scale)
        _combine(crossed[first:last], block_alpha, pulls[b])
        for i in range(n_near):
            values[i] = -pulls[b, i] / root_weights[i]
            near_out[i, b] = values[i]
        if last - first <= SMALL_BLOCK:
            left_out_near(q, crossed[first:last], leverage, values, block_box, block_alpha, ridge, near_out[:, b])
            left_out_pushed(q, diagonal, state, wanted[first:last], block_box, block_alpha, push_out[first:last])
        else:
            for i in range(last - first):
                push_out[first + i] = -state[i]
    return pulls, near_out, push_out, sweeps, gaps, bounds


@compiled
def solve_row_blocks(rows, starts, near, scales, box, alpha, pulls, tol, max_sweeps, seed):  # type: ignore[no-untyped-def]
    """Solve the planes of class `near` on whitened working-set rows; `alpha` and `pulls` in place.

    Block b of `rows` holds the zeta_i of class b.  A block with fewer rows than features works on its dual matrix,
    a larger one on the rows themselves.  Row b of `pulls` becomes sum alpha_i zeta_i.  `max_sweeps` is what each
    class has left.  Returns per class the sweeps and the projected-gradient bounds.
    """
    n_classes = starts.shape[0] - 1
    sweeps = np.zeros(n_classes, dtype=np.int64)
    bounds = np.zeros((n_classes, 2))
    for b in range(n_classes):
        first, last = starts[b], starts[b + 1]
        if b == near or first == last:
            continue
        zeta, block_alpha, block_box = rows[first:last], alpha[first:last], box[first:last]
        dual_form = zeta.shape[0] <= zeta.shape[1]
        if dual_form:
            matrix = _products(zeta, zeta)
            diagonal = _diagonal(matrix)
            state = _times(matrix, block_alpha)
        else:
            matrix = zeta
            diagonal = np.empty(zeta.shape[0], dtype=zeta.dtype)
            for i in range(zeta.shape[0]):
                total = zeta.dtype.type(0.0)
                for k in range(zeta.shape[1]):
                    total += zeta[i, k] * zeta[i, k]
                diagonal[i] = total
            state = np.empty(zeta.shape[1], dtype=zeta.dtype)
            _combine(zeta, block_alpha, state)
        sweeps[b], bounds[b, 0], bounds[b, 1] = descend(
            matrix, diagonal, block_box, block_alpha, state, dual_form, scales[b], tol, max_sweeps[b], seed + b
        )
        _combine(zeta, block_alpha, pulls[b])
    return sweeps, bounds


@compiled
def select_violators(values, box, alpha, in_set, starts, near, tol, growth, at_least):  # type: ignore[no-untyped-def]
    """Mark in `in_set` the rows that contribute most to the gap of each plane of class `near`.

    `values` are h_i.u of the plane that pushes row i.  Row i outside the working set adds
    box_i max(0, 1 + h_i.u) to the gap; of those that add anything the largest join, at most
    `growth` times the block's present set (and `at_least` at a time).  Returns the relative gap per class
    and how many rows joined each.
    """
    n_classes = starts.shape[0] - 1
    gaps = np.zeros(n_classes)
    joined = np.zeros(n_classes, dtype=np.int64)
    for b in range(n_classes):
        first, last = starts[b], starts[b + 1]
        if b == near or first == last:
            continue
        present, found, scale, gap = 0, 0, 0.0, 0.0
        excess = np.empty(last - first)
        for i in range(first, last):
            grad = -values[i] - 1.0
            over = box[i] * max(0.0, -grad)
            gap += alpha[i] * grad + over
            scale += box[i]
            if in_set[i]:
                present += 1
            elif over > 0.0:
                excess[found] = over
                found += 1
        gaps[b] = gap / scale
        if gaps[b] <= tol or found == 0:
            continue
        room = max(at_least, np.int64(growth * present))
        threshold = 0.0
        if found > room:
            threshold = np.partition(excess[:found], found - room)[found - room]
        for i in range(first, last):
            if joined[b] < room and not in_set[i]:
                over = box[i] * max(0.0, 1.0 + values[i])
                if over > 0.0 and over >= threshold:
                    in_set[i] = True
                    joined[b] += 1
    return gaps, joined


@compiled
def left_out_blocks(rows, starts, near, near_rows, leverage, near_values, wanted, box, alpha, ridge, values, near_out):  # type: ignore[no-untyped-def]
    """Left-out values of the planes of class `near` on the whitened working set, for blocks up to SMALL_BLOCK.

    `near_rows` are sqrt(w_i) zeta_i of near rows, `near_values` (n_near, n_classes) their plane values; `near_out`
    and the working-set rows' `values` are corrected in place.
    """
    for b in range(starts.shape[0] - 1):
        first, last = starts[b], starts[b + 1]
        if b == near or first == last or last - first > SMALL_BLOCK:
            continue
        zeta, block_alpha, block_box = rows[first:last], alpha[first:last], box[first:last]
        q = _products(zeta, zeta)
        left_out_near(
            q, _products(zeta, near_rows), leverage, near_values[:, b], block_box, block_alpha, ridge, near_out[:, b]
        )
        state = np.empty(last - first, dtype=q.dtype)
        for i in range(last - first):
            state[i] = -values[first + i]
        left_out_pushed(q, _diagonal(q), state, wanted[first:last], block_box, block_alpha, values[first:last])


FLOOR = 1e-12  # plane values below this count as zero, so that their logarithm exists


@compiled
def pair_margin(near_first, near_second, offset, slope):  # type: ignore[no-untyped-def]
    """Signed margin of a pair from its two plane values: positive means the second class.

    slope (log|h.u_ab| - log|h.u_ba| - offset); zero, so the first class, when both values vanish.
    """
    first, second = abs(near_first), abs(near_second)
    if first <= FLOOR and second <= FLOOR:
        return 0.0
    return slope * (np.log(max(first, FLOOR)) - np.log(max(second, FLOOR)) - offset)


@compiled
def walk_planes(rows, planes, offsets, slopes):  # type: ignore[no-untyped-def]
    """King of the hill over the classes in order: 2 (n_classes - 1) plane values a row.

    The challenger is the outer loop, so that its planes stay in the cache for all rows.
    """
    n, n_classes, n_columns = rows.shape[0], planes.shape[0], rows.shape[1]
    king = np.zeros(n, dtype=np.int64)
    for challenger in range(1, n_classes):
        for i in range(n):
            holder = king[i]
            row, near_king, near_challenger = rows[i], planes[holder, challenger], planes[challenger, holder]
            first, second = row[0] * near_king[0], row[0] * near_challenger[0]
            for k in range(1, n_columns):
                first += row[k] * near_king[k]
                second += row[k] * near_challenger[k]
            if pair_margin(first, second, offsets[holder, challenger], slopes[holder, challenger]) > 0.0:
                king[i] = challenger
    return king


@compiled
def pair_margins(values, offsets, slopes):  # type: ignore[no-untyped-def]
    """Turn plane values (n, K, K) into margins in place: [i, a, b] > 0 means b beats a on row i."""
    n_classes = values.shape[1]
    for i in range(values.shape[0]):
        for a in range(n_classes):
            values[i, a, a] = 0.0
            for b in range(a + 1, n_classes):
                margin = pair_margin(values[i, a, b], values[i, b, a], offsets[a, b], slopes[a, b])
                values[i, a, b] = margin
                values[i, b, a] = -margin


@compiled
def walk_margins(margins):  # type: ignore[no-untyped-def]
    """King of the hill on margins that are already there."""
    king = np.zeros(margins.shape[0], dtype=np.int64)
    for i in range(margins.shape[0]):
        for challenger in range(1, margins.shape[1]):
            if margins[i, king[i], challenger] > 0.0:
                king[i] = challenger
    return king


@compiled
def vote_scores(margins):  # type: ignore[no-untyped-def]
    """Pairs won by each class, plus less than a third of a vote for how clearly (ties count for the first)."""
    n, n_classes = margins.shape[0], margins.shape[1]
    scores = np.zeros((n, n_classes))
    for i in range(n):
        for a in range(n_classes):
            votes, total = 0.0, 0.0
            for b in range(n_classes):
                if b != a:
                    margin = -margins[i, a, b]
                    total += margin
                    if margin > 0.0 or (margin == 0.0 and a < b):
                        votes += 1.0
            scores[i, a] = votes + total / (3.0 * (abs(total) + 1.0))
    return scores


@compiled
def couple(margins):  # type: ignore[no-untyped-def]
    """Class probabilities from pairwise ones (Wu, Lin and Weng 2004, second method).

    r_ab = 1 / (1 + exp(margin_ab)); minimises sum (r_ba p_a - r_ab p_b)^2 on the simplex by the
    fixed-point sweeps of their algorithm 2.
    """
    n, n_classes = margins.shape[0], margins.shape[1]
    result = np.empty((n, n_classes))
    r = np.empty((n_classes, n_classes))
    q = np.empty((n_classes, n_classes))
    qp = np.empty(n_classes)
    for i in range(n):
        if n_classes == 2:
            result[i, 0] = 1.0 / (1.0 + np.exp(margins[i, 0, 1]))
            result[i, 1] = 1.0 - result[i, 0]
            continue
        for a in range(n_classes):
            for b in range(n_classes):
                r[a, b] = min(max(1.0 / (1.0 + np.exp(margins[i, a, b])), 1e-7), 1.0 - 1e-7)
        for a in range(n_classes):
            q[a, a] = 0.0
            for b in range(n_classes):
                if b != a:
                    q[a, a] += r[b, a] * r[b, a]
                    q[a, b] = -r[b, a] * r[a, b]
        p = result[i]
        p[:] = 1.0 / n_classes
        for _ in range(max(100, n_classes)):
            pqp = 0.0
            for a in range(n_classes):
                qp[a] = 0.0
                for b in range(n_classes):
                    qp[a] += q[a, b] * p[b]
                pqp += p[a] * qp[a]
            error = 0.0
            for a in range(n_classes):
                error = max(error, abs(qp[a] - pqp))
            if error < 0.001 / n_classes:
                break
            for a in range(n_classes):
                step = (pqp - qp[a]) / q[a, a]
                p[a] += step
                pqp = (pqp + step * (step * q[a, a] + 2.0 * qp[a])) / ((1.0 + step) * (1.0 + step))
                for b in range(n_classes):
                    qp[b] = (qp[b] + step * q[a, b]) / (1.0 + step)
                    p[b] /= 1.0 + step
        p /= p.sum()
    return result


@compiled
def fit_offset(ratio, second, weight, start_slope, strength):  # type: ignore[no-untyped-def]
    """Logistic fit of P(second class) = 1 / (1 + exp(-(slope ratio - shift))); returns (offset, slope).

    Newton's method on the log loss with a ridge of `strength` that draws the slope to `start_slope` and the
    shift to zero, the plain rule: a pair with few rows stays near it.
    """
    slope, shift = start_slope, 0.0
    best = np.inf
    step_slope, step_shift = 0.0, 0.0
    for _ in range(100):
        loss = 0.5 * strength * ((slope - start_slope) ** 2 + shift**2)
        g0, g1 = strength * (slope - start_slope), strength * shift
        h00, h01, h11 = strength, 0.0, strength
        for i in range(ratio.shape[0]):
            z = slope * ratio[i] - shift
            p = 1.0 / (1.0 + np.exp(-z))
            target = 1.0 if second[i] else 0.0
            loss += weight[i] * (max(z, 0.0) + np.log1p(np.exp(-abs(z))) - target * z)
            d, h = weight[i] * (p - target), weight[i] * p * (1.0 - p)
            g0 += d * ratio[i]
            g1 -= d
            h00 += h * ratio[i] * ratio[i]
            h01 -= h * ratio[i]
            h11 += h
        if loss > best + 1e-12 * abs(best):  # overshot: go half the way back
            step_slope, step_shift = 0.5 * step_slope, 0.5 * step_shift
            slope, shift = slope + step_slope, shift + step_shift
            if abs(step_slope) + abs(step_shift) < 1e-12:
                break
            continue
        best = loss
        determinant = h00 * h11 - h01 * h01
        step_slope = (h11 * g0 - h01 * g1) / determinant
        step_shift = (h00 * g1 - h01 * g0) / determinant
        slope, shift = slope - step_slope, shift - step_shift
        if abs(step_slope) + abs(step_shift) < 1e-10:
            break
    if slope < MIN_SLOPE:
        # Left-out rows say the planes are no better than chance: only the shift means anything.
        slope = MIN_SLOPE
    return shift / slope, slope


MIN_SLOPE = 0.05


@compiled
def pooled_slope(near, far, owner, sampled, weights, start_slope, strength):  # type: ignore[no-untyped-def]
    """Slope that all pairs share: least log loss of "own class beats class k" over left-out rows."""
    slope = start_slope
    for _ in range(50):
        gradient, curvature = strength * (slope - start_slope), strength
        for i in range(near.shape[0]):
            if sampled[i]:
                for k in range(near.shape[1]):
                    if k != owner[i]:
                        margin = pair_margin(near[i, k], far[i, k], 0.0, 1.0)
                        p = 1.0 / (1.0 + np.exp(-slope * margin))
                        gradient += weights[i] * p * margin
                        curvature += weights[i] * p * (1.0 - p) * margin * margin
        step = gradient / curvature
        slope = max(slope - step, 0.5 * slope)
        if abs(step) < 1e-8:
            break
    return slope


@compiled
def fit_offsets(near, far, starts, sampled, weights, start_slope, strength):  # type: ignore[no-untyped-def]
    """Offset and slope of every pair a < b from left-out values; the upper triangles are filled.

    A pair of which one class has no row to judge by keeps the plain rule.
    """
    n_classes = starts.shape[0] - 1
    offsets = np.zeros((n_classes, n_classes))
    slopes = np.ones((n_classes, n_classes))
    for a in range(n_classes):
        for b in range(a + 1, n_classes):
            size = starts[a + 1] - starts[a] + starts[b + 1] - starts[b]
            ratio, weight = np.empty(size), np.empty(size)
            second = np.empty(size, dtype=np.bool_)
            count = 0
            for own, other in ((a, b), (b, a)):
                for i in range(starts[own], starts[own + 1]):
                    if sampled[i]:
                        margin = pair_margin(near[i, other], far[i, other], 0.0, 1.0)
                        second[count] = own == b
                        ratio[count] = -margin if second[count] else margin
                        weight[count] = weights[i]
                        count += 1
            slopes[a, b] = start_slope
            if 0 < second[:count].sum() < count:
                offsets[a, b], slopes[a, b] = fit_offset(
                    ratio[:count], second[:count], weight[:count], start_slope, strength
                )
    return offsets, slopes


@compiled
def left_out_margins(near, far, starts, offsets, slopes):  # type: ignore[no-untyped-def]
    """Margin (n, n_classes) by which each class beats a row's own class, from left-out values; 0 for itself."""
    n_classes = starts.shape[0] - 1
    margins = np.zeros((near.shape[0], n_classes))
    for own in range(n_classes):
        for i in range(starts[own], starts[own + 1]):
            for k in range(n_classes):
                if k > own:
                    margins[i, k] = pair_margin(near[i, k], far[i, k], offsets[own, k], slopes[own, k])
                elif k < own:
                    margins[i, k] = -pair_margin(far[i, k], near[i, k], offsets[k, own], slopes[k, own])
    return margins
