"""Left-out values of planes with many pushed rows: what each row would get from a plane trained without it."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from .._arrays import Array
from .factors import factor

_MOST_FREE = 600  # free points that a projection takes into account


def _definite_factor(system: Array) -> Array:
    """Cholesky factor for points that may depend on each other: the ridge grows until there is one."""
    for share in (0.0, 1e-6, 1e-4, 1e-2):
        try:
            ridged = system + share * np.diag(system).max() * np.eye(len(system))
            lower: Array = cholesky(ridged, lower=True, check_finite=False)
        except LinAlgError:
            continue
        return lower
    return factor(system)  # raises


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

    Arguments as in `kernels.left_out_near`, for pushed rows with alpha > 0.
    """
    span, projected = np.diag(q).astype(np.float64), leverage.astype(np.float64)
    free = np.flatnonzero((alpha > 1e-9 * box) & (alpha < (1.0 - 1e-9) * box))
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
