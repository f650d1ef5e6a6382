"""Solve problem (P) from inner products alone, by Woodbury's identity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dtrtri

from .._arrays import Array
from .._threads import stop_if_interrupted
from . import _descent_loops
from .factors import kernel_factor
from .left_out import left_out_large, ridge
from .problem import Problem, Solution


def solve_kernel_path(
    kernel: Array,
    box: Array,
    problem: Problem,
    multiples: Sequence[float],
    rows: Array | None = None,
    rounding: float = 0.0,
) -> list[Solution]:
    """Solve every plane from the kernel matrix of all rows, to which the 1 of the bias is already added.

    Solves several multiples of the boxes, each from the solution before it.  The planes are coefficients of the
    training rows, or u if the mapped `rows` are given.  Always works in float64: Q is a difference of nearly equal
    numbers, divided by reg.  `rounding` is the error of the entries of the matrix, if it was computed in float32.
    """
    solutions = [Solution.empty(problem, 0) for _ in multiples]
    options = problem.options
    near_coefficients: list[dict[int, Array]] = [{} for _ in multiples]

    def solve_near(a: int) -> None:
        own, reg = problem.block(a), float(problem.reg[a])
        root = np.sqrt(problem.weights[own])
        near_columns = kernel[:, own] * root
        system = near_columns[own] * root[:, None]
        system[np.diag_indices_from(system)] += reg
        inverse_factor, _ = dtrtri(kernel_factor(system), lower=True)
        leverage = 1.0 - reg * np.einsum("ij,ij->j", inverse_factor, inverse_factor)
        # BLAS stores matrices by column, so these are the transposes of arrays in the order of C.
        whitened_columns = dtrmm(1.0, inverse_factor, near_columns.T, lower=True, overwrite_b=True)
        crossed = dtrmm(1.0, inverse_factor, whitened_columns, lower=True, trans_a=True).T
        whitened = whitened_columns.T
        alpha, own_box = np.zeros((len(multiples), len(kernel))), np.ascontiguousarray(box[:, a])
        # Rounding error of Q, a difference of nearly equal numbers divided by reg.
        noise = (100.0 * np.finfo(np.float64).eps * len(root) * float(np.abs(np.diag(kernel)).max()) + rounding) / reg
        shape = (len(multiples), problem.n_classes)
        todo, sweeps, gaps = np.ones(shape, dtype=bool), np.zeros(shape, dtype=np.int64), np.zeros(shape)
        dual_sums = np.zeros((*shape, len(root)))
        near_out, push_out = np.zeros((len(multiples), len(root), problem.n_classes)), np.zeros(alpha.shape)
        while todo.any():  # calls are short, so that Ctrl-C ends a long solve
            stop_if_interrupted()
            _descent_loops.solve_kernel_blocks(
                kernel, whitened, crossed, leverage, root, problem.starts, a, reg, problem.wanted, own_box,
                np.array(multiples), alpha, ridge(kernel.dtype), noise, options.tol, options.max_iter, a, todo,
                dual_sums, near_out, push_out, sweeps, gaps,
            )  # fmt: skip
        for m, solution in enumerate(solutions):
            for b in problem.large_blocks(problem.starts):
                if b != a:
                    pushed = problem.block(b)
                    support = pushed.start + np.flatnonzero(alpha[m, pushed] > 0)
                    q = (kernel[np.ix_(support, support)] - whitened[support] @ whitened[support].T) / reg
                    near_out[m, :, b], push_out[m, support] = left_out_large(
                        q, crossed[support], leverage, near_out[m, :, b], push_out[m, support],
                        own_box[support] * multiples[m], alpha[m, support], noise,
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
    """Return planes from the coefficients c of the rows: u = H'c, or c itself without `rows`.

    By Woodbury's identity, c is sqrt(w) M^-1 K_ab alpha / reg on the near rows (given as `near`) and -alpha / reg on
    the pushed rows.
    """
    n_columns = len(alpha) if rows is None else rows.shape[1]
    planes = np.zeros((problem.n_classes, problem.n_classes, n_columns))
    for k in range(problem.n_classes):
        block = problem.block(k)
        pushed = -alpha[block].T / problem.reg[:, None]  # coefficients of class k in the planes that push it
        if rows is None:
            planes[k][:, block] += near[k]
            planes[:, k, block] += pushed
        else:
            planes[k] += near[k] @ rows[block]
            planes[:, k] += pushed @ rows[block]
    return planes
