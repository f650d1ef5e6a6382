"""Left-out values: what a row would get from a plane trained without it.

Small blocks of pushed rows: `_loops.left_out_near` and `left_out_pushed`, by a rank-one change and by solving again.
Large blocks: `left_out_large`, the span estimate.  Newton's method: `left_out_newton`, one step after taking a row out.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from .._arrays import Array
from .._linalg import lower_factor
from . import _loops
from .factors import weighted
from .problem import Factor, Problem, Solution

_MOST_FREE = 600  # free points that a projection takes into account


def _definite_factor(system: Array) -> Array:
    """Cholesky factor for points that may depend on each other: the ridge grows until there is one."""
    largest = float(np.diag(system).max())
    return lower_factor(
        system,
        "The kernel matrix is not positive semi-definite. A kernel that is a function must be symmetric and have no "
        "negative eigenvalues; where it is only nearly singular, raise reg.",
        ridges=tuple(share * largest for share in (0.0, 1e-6, 1e-4, 1e-2)),
    )


def ridge(dtype: np.dtype) -> float:
    """Return what keeps the system of the free points definite, relative to its largest diagonal entry."""
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
    """Left-out values of a plane with many pushed rows, where one row more or less moves no other to the margin.

    The span estimate (Vapnik and Chapelle 2000): with the free points F held at the margin and M = I - P_F,

        row i of the near class:    h_i.u / (1 - w_i zeta_i'M zeta_i)
        row j of the pushed class:  h_j.u + alpha_j zeta_j'M zeta_j   (M without j itself if j is free)

    Arguments as in `_loops.left_out_near`, for pushed rows with alpha > 0.
    """
    span, projected = np.diag(q).astype(np.float64), leverage.astype(np.float64)
    free = np.flatnonzero(_loops.free_duals(alpha[:, None], box[:, None]))
    if len(free) > _MOST_FREE:  # those well between their bounds leave the plane no room already
        inside = np.minimum(alpha[free] / box[free], 1.0 - alpha[free] / box[free])
        free = np.sort(free[np.argpartition(inside, -_MOST_FREE)[-_MOST_FREE:]])
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


class _Solved(Protocol):
    """The planes near one class after the dual solver is done with them (`dual._NearPlanes`)."""

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
    problem, a, whitener, chosen = solved.problem, solved.near, solved.whitener, solved.working_set
    own, lines = problem.wanted_rows(a)
    near_values = solved.rows[own] @ solution.planes[a].T
    starts = np.searchsorted(chosen, problem.starts)
    box, alpha, wanted = solved.box[chosen], solved.alpha[chosen], problem.wanted[chosen]
    cross = np.zeros((len(box), len(own)), dtype=solved.rows.dtype)
    between = (alpha > 0) & (alpha < box)  # nobody asks for the products of the others
    own_rows = weighted(solved.rows[own], problem.weights[own])
    cross[between], leverage = whitener.near(solved.whitened[between], own_rows, own - problem.starts[a])
    values = solved.values[chosen].astype(np.float64)
    near_out = near_values.astype(np.float64)
    _loops.left_out_blocks(
        solved.whitened, whitener.signs, starts, a, cross, leverage, near_values, wanted, box, alpha,
        ridge(solved.rows.dtype), values, near_out,
    )  # fmt: skip
    for b in problem.large_blocks(starts):
        if b != a:
            # Free points make the projection; of those at the bound only the wanted ones are needed.
            block = np.arange(starts[b], starts[b + 1])
            used = block[(alpha[block] > 0) & ((alpha[block] < box[block]) | wanted[block])]
            zeta = solved.whitened[used]
            signed = zeta * whitener.signs if len(whitener.signs) else zeta
            near_out[:, b], values[used] = left_out_large(
                signed @ zeta.T, cross[used], leverage, near_values[:, b], values[used], box[used], alpha[used]
            )
    solution.near[lines] = near_out
    far = solved.values.astype(np.float64)
    far[chosen] = values
    solution.far[:, a] = far[problem.wanted]


def left_out_newton(rows: Array, u: Array, factor: Array, weights: Array) -> Array:
    """Left-out values of rows of the near class: h_i.u / (1 - w_i h_i'H^-1 h_i), H = L L' being the Hessian."""
    values, leverage = _values_and_leverage(rows, u, factor)
    return np.asarray(values / np.maximum(1.0 - weights * leverage, 1e-6))


def left_out_newton_pushed(rows: Array, u: Array, factor: Array, duals: Array, curvature: Array) -> Array:
    """Left-out values of pushed rows: h_j.u + alpha_j l / (1 - c l), l = h_j'H^-1 h_j and c the row's own curvature."""
    values, leverage = _values_and_leverage(rows, u, factor)
    return np.asarray(values + duals * leverage / np.maximum(1.0 - curvature * leverage, 1e-6))


def _values_and_leverage(rows: Array, u: Array, factor: Array) -> tuple[Array, Array]:
    precise = rows.astype(np.float64)
    zeta = solve_triangular(factor, precise.T, lower=True, check_finite=False)
    return precise @ u, np.einsum("ij,ij->j", zeta, zeta)
