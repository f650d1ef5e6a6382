"""The kernel form: coefficients and planes, and a path of boxes from the solution before."""

import numpy as np
import pytest

from fbtwsvm.solver.dual import solve_path
from fbtwsvm.solver.kernel import solve_kernel_path
from fbtwsvm.solver.problem import Start
from reference import class_means, make_problem, solve_cold, solve_kernel

MULTIPLES = (0.25, 1.0, 4.0)


def test_coefficients_of_the_rows_are_the_planes():
    rows, box, problem = make_problem((20, 25), 10, seed=0, weighted=True)
    planes = solve_kernel(rows @ rows.T, box, problem, rows).planes
    np.testing.assert_allclose(solve_kernel(rows @ rows.T, box, problem).planes @ rows, planes, atol=1e-10)


@pytest.mark.parametrize("form", ["kernel", "features"])
def test_a_path_of_boxes_has_the_planes_of_each_box_alone(form):
    rows, box, problem = make_problem((30, 40, 20), 10, seed=1, weighted=True)
    if form == "kernel":
        path = solve_kernel_path(rows @ rows.T, box, problem, MULTIPLES, rows)
        alone = [solve_kernel(rows @ rows.T, multiple * box, problem, rows) for multiple in MULTIPLES]
    else:
        means = class_means(rows, problem.weights, problem.starts)
        path = solve_path(rows, box, problem, Start.cold(rows, means, problem), MULTIPLES)
        alone = [solve_cold(rows, multiple * box, problem) for multiple in MULTIPLES]
    for one, other in zip(path, alone, strict=True):
        assert one.gaps.max() <= problem.options.tol
        np.testing.assert_allclose(one.planes, other.planes, atol=1e-4)
