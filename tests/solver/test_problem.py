"""The problem that all planes share: blocks of classes, wanted rows and their lines."""

from dataclasses import replace

import numpy as np
import pytest

from fbtwsvm.solver import _descent_loops
from fbtwsvm.solver.problem import Solution
from reference import make_problem, solve_cold, solve_kernel


@pytest.fixture
def problem():
    """Classes of 12, 9 and 15 rows, of which a third is wanted."""
    rows, box, problem = make_problem((12, 9, 15), 6, seed=4, weighted=True, tol=1e-9)
    return rows, box, replace(problem, wanted=np.arange(36) % 3 == 0)


def test_blocks_and_wanted_rows(problem):
    _, _, problem = problem
    assert [problem.block(k) for k in range(3)] == [slice(0, 12), slice(12, 21), slice(21, 36)]
    numbers, lines = zip(*(problem.wanted_rows(k) for k in range(3)), strict=True)
    assert np.array_equal(np.concatenate(numbers), np.flatnonzero(problem.wanted))
    assert lines == (slice(0, 4), slice(4, 7), slice(7, 12))


@pytest.mark.parametrize("form", ["features", "kernel"])
def test_left_out_values_have_a_line_for_each_wanted_row(problem, form):
    rows, box, problem = problem
    solve = solve_cold if form == "features" else lambda *given: solve_kernel(rows @ rows.T, *given[1:], rows)
    some, every = solve(rows, box, problem), solve(rows, box, replace(problem, wanted=np.ones(36, dtype=bool)))
    assert some.near.shape == some.far.shape == (12, 3)
    np.testing.assert_allclose(some.near, every.near[problem.wanted], atol=1e-6)
    np.testing.assert_allclose(some.far, every.far[problem.wanted], atol=1e-6)


def test_an_empty_solution_has_the_shapes_of_the_problem(problem):
    solution = Solution.empty(problem[2], 7, np.float32)
    assert (solution.planes.shape, solution.planes.dtype) == ((3, 3, 7), np.float32)
    assert (solution.alpha.shape, solution.gaps.shape, solution.near.shape) == ((36, 3), (3, 3), (12, 3))


def test_blocks_too_large_for_solving_again(problem):
    starts = np.cumsum([0, _descent_loops.SMALL_BLOCK, _descent_loops.SMALL_BLOCK + 1, 5])
    assert problem[2].large_blocks(starts).tolist() == [1]
