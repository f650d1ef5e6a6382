"""Left-out values against planes that were really trained without the row."""

from dataclasses import replace

import numpy as np
import pytest

from fbtwsvm.solver.left_out import leave_out_one_copy
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


@pytest.mark.parametrize("form", ["features", "kernel"])
def test_merged_rows_are_left_out_one_copy_at_a_time(form):
    """Left-out values of merged rows are those of the same rows given one by one."""
    rows, box, problem = make_problem((15, 12, 14), 6, seed=3, weighted=False, tol=1e-8)
    copies = np.random.default_rng(0).integers(1, 5, len(rows))
    labels = np.repeat(np.arange(3), np.diff(problem.starts))
    merged = replace(problem, weights=copies.astype(float))
    many = np.repeat(np.arange(len(rows)), copies)
    given = Problem(
        starts=np.concatenate([[0], np.cumsum(np.bincount(labels, weights=copies))]).astype(int),
        weights=np.ones(len(many)), reg=problem.reg, wanted=np.ones(len(many), dtype=bool), options=problem.options,
    )  # fmt: skip
    merged_box = box * copies[:, None]
    if form == "kernel":
        one = solve_kernel(rows @ rows.T, merged_box, merged, rows)
        each = solve_kernel(rows[many] @ rows[many].T, box[many], given, rows[many])
    else:
        one, each = solve_cold(rows, merged_box, merged), solve_cold(rows[many], box[many], given)
    before = one.near.copy(), one.far.copy()
    leave_out_one_copy(one, rows, labels, 1.0 / copies, one.alpha, merged_box)
    other = np.arange(3) != labels[many][:, None]
    for found, all_out, true in zip((one.near, one.far), before, (each.near, each.far), strict=True):
        error = np.abs(found[many] - true)[other]
        assert np.median(error) < 0.01
        assert error.mean() < 0.2 * np.abs(all_out[many] - true)[other].mean()


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
