"""Problem (P) from inner products alone, by Woodbury's identity; the problem and its solution are those of `planes`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg.lapack import dtrtri

from .._arrays import Array
from . import _loops
from .factors import kernel_factor
from .left_out import left_out_large, ridge
from .problem import Problem, Solution


def solve_kernel_path(
    kernel: Array, box: Array, problem: Problem, multiples: Sequence[float], rows: Array | None = None
) -> list[Solution]:
    """Solve every plane from the kernel matrix of all rows, with the bias's 1 already added to it.

    Several multiples of the boxes are solved, each from the solution before it.  The planes come back as coefficients
    of the training rows, or as u when the mapped `rows` are given too.  In float64 always: Q is a difference of near
    equals divided by reg.
    """
    solutions = [Solution.empty(problem, 0) for _ in multiples]
    options = problem.options
    near_coefficients: list[dict[int, Array]] = [{} for _ in multiples]

    def solve_near(a: int) -> None:
        own, reg = problem.block(a), float(problem.reg[a])
        root = np.sqrt(problem.weights[own])
        near_rows = kernel[own] * root[:, None]
        system = near_rows[:, own] * root
        system[np.diag_indices_from(system)] += reg
        inverse_factor, _ = dtrtri(kernel_factor(system), lower=True)
        leverage = 1.0 - reg * np.einsum("ij,ij->j", inverse_factor, inverse_factor)
        whitened = near_rows.T @ inverse_factor.T
        crossed = whitened @ inverse_factor
        alpha, own_box = np.zeros((len(multiples), len(kernel))), np.ascontiguousarray(box[:, a])
        # Q is a difference of near equals divided by reg: what rounding leaves in it.
        noise = 100.0 * np.finfo(np.float64).eps * len(root) * float(np.abs(np.diag(kernel)).max()) / reg
        dual_sums, near_out, push_out, sweeps, gaps = _loops.solve_kernel_blocks(
            kernel, whitened, crossed, leverage, root, problem.starts, a, reg, problem.wanted, own_box,
            np.array(multiples), alpha, ridge(kernel.dtype), noise, options.tol, options.max_iter, a,
        )  # fmt: skip
        for m, solution in enumerate(solutions):
            for b in problem.large_blocks(problem.starts):
                if b != a:
                    far = problem.block(b)
                    used = np.flatnonzero(alpha[m, far] > 0)
                    mine = np.arange(far.start, far.stop)[used]
                    q = (kernel[np.ix_(mine, mine)] - whitened[mine] @ whitened[mine].T) / reg
                    near_out[m, :, b], push_out[m, mine] = left_out_large(
                        q, crossed[mine], leverage, near_out[m, :, b], push_out[m, mine],
                        own_box[mine] * multiples[m], alpha[m, mine], noise,
                    )  # fmt: skip
            _, lines = problem.wanted_rows(a)
            solution.alpha[:, a] = alpha[m]
            solution.near[lines] = near_out[m][problem.wanted[own]]
            solution.far[:, a] = push_out[m][problem.wanted]
            solution.sweeps[a], solution.gaps[a] = sweeps[m], gaps[m]
            solution.box_sums[a] = multiples[m] * np.add.reduceat(own_box, problem.starts[:-1])
            near_coefficients[m][a] = dual_sums[m] * root / reg

    problem.each(solve_near, range(problem.n_classes))
    for solution, near in zip(solutions, near_coefficients, strict=True):
        solution.planes = _expand(near, solution.alpha, problem, rows)
    return solutions


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
