"""Left-out values against planes that were really trained without the row."""

import numpy as np
import pytest

from fbtwsvm.solver.problem import Problem
from reference import make_problem, solve_cold, solve_kernel


def without_row(rows, box, problem, i):
    keep = np.delete(np.arange(len(rows)), i)
    label = np.searchsorted(problem.starts, i, side="right") - 1
    starts = problem.starts - (np.arange(len(problem.starts)) > label)
    fields = {"starts": starts, "wanted": problem.wanted[keep], "reg": problem.reg, "options": problem.options}
    return rows[keep], box[keep], Problem(**fields, weights=problem.weights[keep])


def true_values(rows, box, problem, solve):
    """Near and far values of every row in planes trained without it."""
    near, far = np.zeros((len(rows), problem.n_classes)), np.zeros((len(rows), problem.n_classes))
    labels = np.repeat(np.arange(problem.n_classes), np.diff(problem.starts))
    for i, own in enumerate(labels):
        planes = solve(*without_row(rows, box, problem, i)).planes
        near[i], far[i] = planes[own] @ rows[i], planes[:, own] @ rows[i]
    return near, far


@pytest.mark.parametrize("form", ["features", "kernel"])
@pytest.mark.parametrize(("sizes", "n_columns"), [((40, 30), 8), ((12, 10, 14), 20)])
def test_small_blocks(form, sizes, n_columns):
    rows, box, problem = make_problem(sizes, n_columns, seed=1, weighted=True, tol=1e-8)

    def solve(rows, box, problem):
        if form == "kernel":
            return solve_kernel(rows @ rows.T, box, problem, rows)
        return solve_cold(rows, box, problem)

    check(solve(rows, box, problem), true_values(rows, box, problem, solve), problem)


@pytest.mark.parametrize("form", ["features", "kernel"])
def test_large_blocks(form, monkeypatch):
    """The span estimate, which serves blocks that are too large for solving again, against the exact values."""
    rows, box, problem = make_problem((640, 620), 8, seed=2, weighted=True, tol=1e-8)
    monkeypatch.setattr("fbtwsvm.solver.dual._FAR", -np.inf)  # the working set keeps its rows, so that it is large
    solution = solve_cold(rows, box, problem) if form == "features" else solve_kernel(rows @ rows.T, box, problem, rows)
    labels = np.repeat([0, 1], (640, 620))
    random = np.random.default_rng(0)
    supports = np.flatnonzero(solution.alpha.max(axis=1) > 0)
    for i in random.choice(supports, 25, replace=False):
        planes = planes_without(rows, box, problem, i)
        own, other = labels[i], 1 - labels[i]
        assert solution.near[i, other] == pytest.approx(planes[own, other] @ rows[i], abs=0.02)
        assert solution.far[i, other] == pytest.approx(planes[other, own] @ rows[i], abs=0.02)


def planes_without(rows, box, problem, i):
    rows, box, problem = without_row(rows, box, problem, i)
    return solve_cold(rows, box, problem).planes


def check(solution, truth, problem):
    labels = np.repeat(np.arange(problem.n_classes), np.diff(problem.starts))
    other = np.arange(problem.n_classes) != labels[:, None]
    plain_error = []
    for estimate, true in zip((solution.near, solution.far), truth, strict=True):
        error = np.abs(estimate - true)[other]
        assert np.median(error) < 0.01
        assert np.quantile(error, 0.9) < 0.12
        assert np.corrcoef(estimate[other], true[other])[0, 1] > 0.97
        plain_error.append(error.mean())
    assert max(plain_error) < 0.06
