"""Left-out values: the plane value that a row would get from a plane trained without it.

Few pushed rows: `left_out_near` (rank-one change) and `left_out_pushed` (solve again without the row), both compiled.
Many pushed rows: `left_out_large`, the span estimate.  Newton's method: `left_out_newton`, one step without the row.
Rows that were merged: `leave_out_one_copy`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from .._arrays import Array
from .._linalg import at_once, lower_factor, solve_lower
from .._namespace import as_float, is_foreign, namespace, to_numpy
from . import _descent_loops
from .factors import weighted
from .problem import Factor, Problem, Solution

MOST_FREE = 600  # most rows with a free dual that a projection uses


def _definite_factor(system: Array) -> Array:
    """Return a Cholesky factor of a matrix that may be singular: the ridge grows until the factor exists."""
    largest = float(np.diag(system).max())
    return lower_factor(
        system,
        "The kernel matrix is not positive semi-definite. A kernel function of your own must be symmetric and have no "
        "negative eigenvalues. If the matrix is only nearly singular, raise reg.",
        ridges=tuple(share * largest for share in (0.0, 1e-6, 1e-4, 1e-2)),
    )


def ridge(dtype: np.dtype) -> float:
    """Return the ridge, relative to the largest diagonal entry, that keeps the system of the free rows definite."""
    return max(1e-8, 100.0 * float(np.finfo(dtype).eps))


def left_out_large(
    q: Array,
    cross: Array,
    leverage: Array,
    near_values: Array,
    push_values: Array,
    box: Array,
    alpha: Array,
    noise: float = 0.0,
) -> tuple[Array, Array]:
    """Return the left-out values of a plane with many pushed rows, by the span estimate (Vapnik and Chapelle 2000).

    It assumes that one row less moves no other row to or from the margin.  With the free rows F (0 < alpha < box) held
    at the margin and M = I - P_F,

        row i of the near class:    h_i.u / (1 - w_i zeta_i'M zeta_i)
        row j of the pushed class:  h_j.u + alpha_j zeta_j'M zeta_j   (M without j itself if j is free)

    Arguments are as in `_descent_loops.left_out_near`, for pushed rows with alpha > 0.
    """
    span, projected = np.diag(q).astype(np.float64), leverage.astype(np.float64)
    free = np.flatnonzero(_descent_loops.free_duals(alpha[:, None], box[:, None]))
    if len(free) > MOST_FREE:  # rows well between their bounds are enough to fix the plane
        inside = np.minimum(alpha[free] / box[free], 1.0 - alpha[free] / box[free])
        free = np.sort(free[np.argpartition(inside, -MOST_FREE)[-MOST_FREE:]])
    if len(free):
        system = q[np.ix_(free, free)].astype(np.float64)
        system[np.diag_indices_from(system)] += ridge(q.dtype) * np.diag(system).max() + noise
        lower = _definite_factor(system)
        projected -= (solve_triangular(lower, cross[free], lower=True, check_finite=False) ** 2).sum(axis=0)
        span -= (solve_triangular(lower, q[free], lower=True, check_finite=False) ** 2).sum(axis=0)
        inverse = solve_triangular(lower, np.eye(len(free)), lower=True, check_finite=False)
        span[free] = 1.0 / np.einsum("ij,ij->j", inverse, inverse)
    near_out = near_values / np.maximum(1.0 - np.maximum(projected, 0.0), 1e-6)
    return near_out, push_values + alpha * np.maximum(span, 0.0)


def leave_out_one_copy(solution: Solution, rows: Array, labels: Array, share: Array, alpha: Array, box: Array) -> None:
    """Turn left-out values of merged rows, which are without all copies of a row, into values without one of them.

    `rows` are the wanted rows, `share` is that of one copy in the weight of each, `alpha` and `box` are its duals and
    their bounds.  Without a copy the leverage of a near row falls by its share, and of a dual that much goes as is then
    above the bound.
    """
    for k in np.unique(labels[share < 1.0]):
        own = np.flatnonzero((labels == k) & (share < 1.0))
        part = share[own, None]
        values = rows[own] @ solution.planes[k].T
        kept = np.divide(values, solution.near[own], out=np.ones_like(values), where=solution.near[own] != 0.0)
        solution.near[own] = values / np.maximum(1.0 - part * (1.0 - kept), 1e-6)
        values = rows[own] @ solution.planes[:, k].T
        above = np.maximum(alpha[own] - (1.0 - part) * box[own], 0.0)
        moved = np.divide(above, alpha[own], out=np.zeros_like(above), where=alpha[own] > 0.0)
        solution.far[own] = values + moved * (solution.far[own] - values)


class _Solved(Protocol):
    """The solved planes near one class (`dual._NearPlanes`)."""

    rows: Array
    problem: Problem
    near: int
    whitener: Factor
    working_set: Array
    whitened: Array
    box: Array
    alpha: Array
    values: Array


def left_out_features(solved: _Solved, solution: Solution) -> None:
    """Write the left-out values of planes that were solved on mapped rows into the solution."""
    problem, a = solved.problem, solved.near
    whitener, working_set = solved.whitener, solved.working_set
    near, lines = problem.wanted_rows(a)
    near_values = solved.rows[near] @ solution.planes[a].T
    starts = np.searchsorted(working_set, problem.starts)
    box = solved.box[working_set]
    alpha = solved.alpha[working_set]
    wanted = problem.wanted[working_set]
    cross = np.zeros((len(box), len(near)), dtype=solved.rows.dtype)
    between = (alpha > 0) & (alpha < box)  # only their products are needed
    near_rows = weighted(solved.rows[near], problem.weights[near])
    cross[between], leverage = whitener.near(solved.whitened[between], near_rows, near - problem.starts[a])
    values = solved.values[working_set].astype(np.float64)
    near_out = near_values.astype(np.float64)
    _descent_loops.left_out_blocks(
        solved.whitened, whitener.signs, starts, a, cross, leverage, near_values, wanted, box, alpha,
        ridge(solved.rows.dtype), problem.options.tol, values, near_out,
    )  # fmt: skip
    for b in problem.large_blocks(starts):
        if b != a:
            # The projection uses the free rows; of the rows at the bound only the wanted ones are needed.
            block = np.arange(starts[b], starts[b + 1])
            used = block[(alpha[block] > 0) & ((alpha[block] < box[block]) | wanted[block])]
            zeta = solved.whitened[used]
            signed = zeta * whitener.signs if len(whitener.signs) else zeta
            near_out[:, b], values[used] = left_out_large(
                signed @ zeta.T, cross[used], leverage, near_values[:, b], values[used], box[used], alpha[used]
            )
    solution.near[lines] = near_out
    far = solved.values.astype(np.float64)
    far[working_set] = values
    solution.far[:, a] = far[problem.wanted]


def left_out_newton(rows: Array, planes: Array, factors: list[Array], weights: Array) -> Array:
    """Return the left-out values (m, n) of near rows in m planes: h_i.u / (1 - w_i h_i'H^-1 h_i), for H = L L'."""
    values, leverage = _values_and_leverage(rows, planes, factors)
    return np.asarray(values / np.maximum(1.0 - weights * leverage, 1e-6))


def left_out_newton_pushed(rows: Array, planes: Array, factors: list[Array], duals: Array, curvature: Array) -> Array:
    """Return those (m, n) of pushed rows: h_j.u + alpha_j l / (1 - c l), l = h_j'H^-1 h_j, c the curvature."""
    values, leverage = _values_and_leverage(rows, planes, factors)
    return np.asarray(values + duals * leverage / np.maximum(1.0 - curvature * leverage, 1e-6))


def _values_and_leverage(rows: Array, planes: Array, factors: list[Array]) -> tuple[Array, Array]:
    """Return h_i.u and h_i'H^-1 h_i (m, n) of rows in m planes."""
    precise = as_float(rows, "float64")
    xp = namespace(precise)
    if is_foreign(precise) and at_once(precise.shape[1]):
        columns = xp.broadcast_to(precise.T, (len(factors), *precise.T.shape))
        zeta = solve_lower(xp.stack(factors), columns)
        leverage = xp.sum(zeta * zeta, axis=1)
    else:
        parts = (solve_lower(factor, precise.T) for factor in factors)
        leverage = xp.stack([xp.sum(zeta * zeta, axis=0) for zeta in parts])
    return to_numpy(planes @ precise.T), to_numpy(leverage)
