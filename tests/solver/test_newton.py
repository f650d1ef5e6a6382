"""Newton's method: its planes in float32 and in a fit, and certificates where the tolerance is out of reach."""

from dataclasses import replace

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.solver.plane_algebra import PlaneAlgebra
from reference import (
    NEWTON_TOL,
    SHAPES,
    SINGLE,
    assert_planes_within_gap,
    certificate,
    make_problem,
    solve_newton_for_all,
)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("sizes", "n_columns"), SHAPES)
@pytest.mark.usefixtures("newton_for_all")
def test_float32_planes_of_newtons_method_match_reference(sizes, n_columns, weighted):
    rows, box, problem = make_problem(sizes, n_columns, seed=7 + n_columns, weighted=weighted, tol=NEWTON_TOL)
    single = rows.astype(np.float32)
    solution = solve_newton_for_all(single, box, problem)
    assert solution.planes.dtype == np.float32
    assert solution.gaps.max() <= NEWTON_TOL
    # The reference solves the problem of the rounded rows, so that nothing but sums in single precision differs.
    rounded = single.astype(np.float64)
    assert_planes_within_gap(solution.planes.astype(np.float64), solution.gaps, rounded, box, problem, SINGLE)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("membership", ["fuzzy", "printed", "none"])
def test_a_fit_by_newtons_method_matches_reference(newton_for_all, dtype, membership):
    """From rows to planes as any fit goes, with weights and memberships; the problem is set up again from outside."""
    random = np.random.default_rng(11)
    y = np.repeat([0, 1, 2], (50, 70, 40))
    X = (random.normal(size=(160, 3)) + 0.7 * random.normal(size=(3, 3))[y]).astype(dtype)
    weights = random.uniform(0.2, 3.0, 160)
    model = FBTWSVM(
        feature_map="fourier", n_components=12, gamma=0.2, C=0.7, reg=0.05, mu=0.3, membership=membership,
        decision="value", tol=NEWTON_TOL, random_state=0,
    )  # fmt: skip
    model.fit(X, y, sample_weight=weights)
    assert np.array_equal(newton_for_all, [~np.eye(3, dtype=bool)])
    rows = model_of(model).mapping.rows(X).astype(np.float64)
    _, _, problem = make_problem((50, 70, 40), 2, seed=0, weighted=False)
    box = 0.7 * weights[:, None] * model.memberships_
    problem = replace(problem, weights=weights, reg=np.full(3, 0.05))
    assert model.planes_.dtype == dtype
    assert model.duality_gap_.max() <= NEWTON_TOL
    planes = model.planes_.astype(np.float64)
    assert_planes_within_gap(planes, model.duality_gap_, rows, box, problem, SINGLE)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.usefixtures("newton_for_all")
def test_newtons_method_stays_honest_where_the_tolerance_is_out_of_reach(seed):
    """With more rows in the zone than tol allows it stops short of tol: the gap must still be that of the plane."""
    rows, box, problem = make_problem((1, 2, 3), 4, seed=seed, weighted=False, tol=2e-4)
    solution = solve_newton_for_all(rows, box, problem)
    for a, b in zip(*np.nonzero(~np.eye(3, dtype=bool)), strict=True):
        gap = certificate(solution.planes[a, b], solution.alpha, rows, box, problem, a, b)
        assert solution.gaps[a, b] == pytest.approx(gap, abs=1e-3)


def test_rounding_may_make_a_hessian_indefinite():
    """The step is then a little shorter; a matrix that is wrong by more is refused."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(5, 8))
    matrix = rows.T @ rows  # of rank 5
    matrix -= 1e-4 * np.eye(8)
    algebra = PlaneAlgebra(
        [matrix + 0.1 * np.eye(8)], np.array([1e-6]), [0], lambda function, items: [*map(function, items)]
    )
    curvature = -0.1 * np.eye(8)
    curvature[0, 0] += 1e4  # whose rounding is 1e-3
    (factor,) = algebra.hessian_factors(np.array([0]), [curvature])
    rounding = float(np.finfo(np.float32).eps) * np.trace(curvature)
    expected = matrix + 0.1 * np.eye(8) + curvature + (1e-6 + rounding) * np.eye(8)
    np.testing.assert_allclose(factor @ factor.T, expected, atol=1e-8)
    with pytest.raises(ValueError, match="not positive definite"):
        algebra.hessian_factors(np.array([0]), [-0.1 * np.eye(8)])
