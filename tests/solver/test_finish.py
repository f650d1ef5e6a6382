"""Planes solved on the rows near their margin, and by passes over the rows, beside the independent QP solver."""

import numpy as np
import pytest

from fbtwsvm.solver import choose, finish
from fbtwsvm.solver.factors import gram_matrix
from fbtwsvm.solver.row_reader import GivenBoxes
from reference import SHAPES, assert_planes_within_gap, certificate, class_means, home_of, make_problem, solve_cold


def solve_read(rows, box, problem):
    means = class_means(rows, problem.weights, problem.starts)
    blocks = [problem.block(k) for k in range(problem.n_classes)]
    grams = [gram_matrix(rows[block], problem.weights[block]) for block in blocks]
    home = home_of(rows, problem)
    wanted = home.take(np.flatnonzero(problem.wanted))
    return choose.solve_read(home, GivenBoxes(box), problem, means, grams, wanted, seed=0)


@pytest.mark.parametrize("most", [10**6, 12])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("sizes", "n_columns"), SHAPES)
def test_planes_are_as_near_to_the_reference_as_their_gap_says(sizes, n_columns, weighted, most, monkeypatch):
    """With all rows brought together, and with a few, where the first planes are those of Newton's method."""
    monkeypatch.setattr(finish, "_MOST_ROWS", most)
    rows, box, problem = make_problem(sizes, n_columns, seed=n_columns, weighted=weighted, tol=1e-7)
    found = solve_read(rows, box, problem).solution
    if most > len(rows):
        assert found.gaps.max() <= 1e-7
    assert found.gaps.min() >= 0.0
    assert_planes_within_gap(found.planes, found.gaps, rows, box, problem, 1e-9)


@pytest.mark.parametrize(("sizes", "n_columns"), SHAPES)
def test_the_duals_that_follow_from_the_planes_certify_them(sizes, n_columns):
    rows, box, problem = make_problem(sizes, n_columns, seed=3, weighted=True, tol=1e-6)
    read = solve_read(rows, box, problem)
    duals = read.duals(home_of(rows, problem).take(np.arange(len(rows))))
    assert (duals >= 0).all()
    assert (duals <= box * (1 + 1e-9)).all()
    for a, b in zip(*np.nonzero(~np.eye(problem.n_classes, dtype=bool)), strict=True):
        gap = certificate(read.solution.planes[a, b], duals, rows, box, problem, a, b)
        assert read.solution.gaps[a, b] == pytest.approx(gap, abs=1e-7)


def test_left_out_values_are_those_of_the_dual():
    """But for the difference between the span estimate and solving again without the row."""
    rows, box, problem = make_problem((400, 500), 6, seed=1, weighted=True, tol=1e-8)
    found, expected = solve_read(rows, box, problem).solution, solve_cold(rows, box, problem)
    np.testing.assert_allclose(found.near, expected.near, atol=0.01 * np.abs(expected.near).max())
    np.testing.assert_allclose(found.far, expected.far, atol=0.01 * np.abs(expected.far).max())
