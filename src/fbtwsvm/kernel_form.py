"""Problem (P) from inner products alone, by Woodbury's identity; the problem and its solution are those of `planes`."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from . import kernels
from .kernels import Array
from .left_out import factor, left_out_large, ridge
from .planes import Problem, Solution


def solve_kernel(kernel: Array, problem: Problem, rows: Array | None = None) -> Solution:
    """Solve every plane from the kernel matrix of all rows, with the bias's 1 already added to it.

    The planes come back as coefficients of the training rows, or as u when the mapped `rows` are given too.  In
    float64 always: Q is a difference of near equals divided by reg.
    """
    solution = Solution.empty(problem)

    def solve_near(a: int) -> None:
        own, reg = problem.block(a), float(problem.reg[a])
        root = np.sqrt(problem.weights[own])
        near_rows = kernel[own] * root[:, None]
        system = near_rows[:, own] * root
        system[np.diag_indices_from(system)] += reg
        lower = factor(system)
        inverse_factor = solve_triangular(lower, np.eye(len(lower)), lower=True, check_finite=False)
        leverage = 1.0 - reg * np.einsum("ij,ij->j", inverse_factor, inverse_factor)
        whitened = near_rows.T @ inverse_factor.T
        crossed = whitened @ inverse_factor
        alpha, box = np.zeros(len(kernel)), np.ascontiguousarray(problem.box[:, a])
        # Q is a difference of near equals divided by reg: what rounding leaves in it.
        noise = 100.0 * np.finfo(np.float64).eps * len(lower) * float(np.abs(np.diag(kernel)).max()) / reg
        pulls, near_out, push_out, sweeps, gaps = kernels.solve_kernel_blocks(
            kernel, whitened, crossed, leverage, root, problem.starts, a, reg,
            problem.judged, box, alpha, ridge(kernel.dtype), noise, problem.tol, problem.max_iter, a,
        )  # fmt: skip
        solution.alpha[:, a] = alpha
        for b in problem.large_blocks(problem.starts):
            if b != a:
                far = problem.block(b)
                used = np.flatnonzero(alpha[far] > 0)
                cross = crossed[far][used]
                q = (kernel[far][:, far][np.ix_(used, used)] - whitened[far][used] @ whitened[far][used].T) / reg
                near_out[:, b], push_out[far][used] = left_out_large(
                    q, cross, leverage, near_out[:, b], push_out[far][used], box[far][used], alpha[far][used], noise
                )
        solution.near[own] = near_out
        solution.far[:, a] = push_out
        solution.sweeps[a], solution.gaps[a] = sweeps, gaps
        near_coefficients[a] = pulls * root / reg

    near_coefficients: dict[int, Array] = {}
    problem.each(solve_near, range(problem.n_classes))
    solution.planes = _expand(near_coefficients, solution.alpha, problem, rows)
    return solution


def _expand(near: dict[int, Array], alpha: Array, problem: Problem, rows: Array | None) -> Array:
    """Planes from the coefficients of the kernel form, as u = H'c or, without rows, as the c themselves.

    c_a = sqrt(w) M^-1 K_ab alpha / reg on the near rows (given) and c_b = -alpha / reg on the pushed ones (Woodbury).
    """
    n_columns = len(alpha) if rows is None else rows.shape[1]
    planes = np.zeros((problem.n_classes, problem.n_classes, n_columns))
    for k in range(problem.n_classes):
        block = problem.block(k)
        pushed = -alpha[block].T / problem.reg[:, None]  # as class k is pushed by the planes near every other
        if rows is None:
            planes[k][:, block] += near[k]
            planes[:, k, block] += pushed
        else:
            planes[k] += near[k] @ rows[block]
            planes[:, k] += pushed @ rows[block]
    return planes
