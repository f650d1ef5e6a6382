"""The learner: memberships, the choice of form, planes and the decision rule in one step.

Training rows come sorted by class, either mapped, with the bias column, or as the kernel matrix, without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._arrays import Array
from ..model.decision import Decision, norms
from ..model.membership import clean, distances_to_means, memberships
from ..model.settings import Settings
from ..solver.choose import MANY_ROWS, class_grams, solve_many_rows
from ..solver.dual import solve_path
from ..solver.factors import class_means
from ..solver.kernel import solve_kernel_path
from ..solver.problem import Problem, Solution, Start

_MOST_KERNEL_ROWS = 8192  # a kernel matrix of half a gigabyte


@dataclass
class Machine:
    """A learned machine: the solved planes, the rule that compares them, and the memberships behind them."""

    decision: Decision
    solution: Solution
    memberships: Array


def learn(settings: Settings, data: Array, starts: Array, weights: Array, judged: Array, *, exact: bool) -> Machine:
    """Solve every plane and fit the decision rule.

    `data` are the mapped rows with their bias column, and the cheaper form is chosen; or, if `exact`, the kernel
    matrix without bias, and planes are coefficients of the training rows with their sum as the bias.  `judged` marks
    the rows that the decision rule is fitted on.
    """
    return learn_path(settings, data, starts, weights, judged, (1.0,), exact=exact)[0]


def learn_path(
    settings: Settings,
    data: Array,
    starts: Array,
    weights: Array,
    judged: Array,
    multiples: Sequence[float],
    *,
    exact: bool,
    grams: Sequence[Array] | None = None,
) -> list[Machine]:
    """Learn as `learn` does for several multiples of C, which is cheaper than one after the other.

    `grams` are the Gram matrices of the classes, where they are known.
    """
    if exact:
        distances = _distances_from_kernel(data, weights, starts)
    else:
        means = class_means(data, weights, starts)
        distances = distances_to_means(data, means, threads=(settings.n_jobs,))
    share = _all_memberships(distances, starts, settings)
    problem = Problem(
        starts=starts,
        weights=weights,
        box=share * weights[:, None] * settings.C,
        reg=settings.reg,
        wanted=judged,
        tol=settings.tol,
        max_iter=settings.max_iter,
        n_jobs=settings.n_jobs,
    )
    if exact:
        solutions = solve_kernel_path(data + 1.0, problem, multiples)
        for solution in solutions:
            bias = solution.planes.sum(axis=2, keepdims=True)
            solution.planes = np.concatenate([solution.planes, bias], axis=2)
    elif _kernel_form_is_cheaper(starts, data.shape[1]):
        precise = data.astype(np.float64, copy=False)
        solutions = solve_kernel_path(precise @ precise.T, problem, multiples, precise)
        for solution in solutions:
            solution.planes = solution.planes.astype(data.dtype)
    elif np.diff(starts).max() > MANY_ROWS:
        grams = class_grams(lambda part: data[part], problem) if grams is None else grams
        scaled = [replace(problem, box=problem.box * multiple) for multiple in multiples]
        solutions = [solve_many_rows(data, means, one, grams, seed=0) for one in scaled]
    else:
        solutions = solve_path(data, problem, Start.cold(data, means, problem, grams), multiples)
    kernel = data if exact else None
    return [
        Machine(decision_of(solution, starts, weights, judged, settings, kernel), solution, share)
        for solution in solutions
    ]


def decision_of(
    solution: Solution,
    starts: Array,
    weights: Array,
    judged: Array,
    settings: Settings,
    kernel: Array | None,
    totals: Array | None = None,
) -> Decision:
    """Fit the decision rule on the left-out values of the judged rows.

    `kernel` is the matrix of an exact kernel, `totals` are the weights of the classes where there are more rows.
    """
    rows = np.flatnonzero(judged)
    decision = Decision.fit(
        solution.near[rows],
        solution.far[rows],
        np.searchsorted(rows, starts),
        weights[rows],
        np.add.reduceat(weights, starts[:-1]) if totals is None else totals,
        settings.decision,
        settings.multiclass,
    )
    if settings.decision == "distance":
        decision = decision.with_distances(norms(solution.planes[..., :-1], kernel))
    return decision


def _distances_from_kernel(kernel: Array, weights: Array, starts: Array) -> Array:
    """Squared distances of rows to the class means, from inner products alone."""
    n_classes = len(starts) - 1
    average = np.zeros((len(kernel), n_classes))
    for k in range(n_classes):
        block = slice(starts[k], starts[k + 1])
        average[block, k] = weights[block] / weights[block].sum()
    products = kernel.astype(np.float64) @ average
    mean_norms = np.einsum("ik,ik->k", average, products)
    squared_norms = np.diag(kernel).astype(np.float64)
    return clean(
        squared_norms[:, None] - 2.0 * products + mean_norms, squared_norms[:, None] + mean_norms, kernel.dtype
    )


def _all_memberships(distances: Array, starts: Array, settings: Settings) -> Array:
    """Membership of every row against every class."""
    share = np.empty(distances.shape)
    for k in range(len(starts) - 1):
        block = slice(starts[k], starts[k + 1])
        share[block] = memberships(distances[block, k], distances[block], settings.mu, settings.membership)
    return share


def _kernel_form_is_cheaper(starts: Array, n_columns: int) -> bool:
    """Compare the multiplications of both forms (the feature form whitens about a quarter of all rows)."""
    sizes = np.diff(starts).astype(float)
    n, n_classes = sizes.sum(), len(sizes)
    feature = n * n_columns**2 / 2 + n_classes * n_columns**3 / 3 + n_classes * n * n_columns**2 / 4
    shared = n**2 * n_columns + (2 * sizes**2 * n).sum()
    pairs = (sizes[:, None] * sizes**2).sum() + n_classes * (sizes**2).sum() * 30
    return bool(n <= _MOST_KERNEL_ROWS and shared + pairs < feature)
