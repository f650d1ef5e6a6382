"""Planes against the independent solver of reference.py, in every form and both precisions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fbtwsvm import FBTWSVM
from reference import (
    NEWTON_TOL,
    SHAPES,
    SINGLE,
    assert_planes_within_gap,
    certificate,
    largest_error,
    make_problem,
    solve_cold,
    solve_kernel,
    solve_newton_for_all,
)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("sizes", "n_columns"), SHAPES)
@pytest.mark.parametrize("form", ["features", "kernel", "coefficients", "newton"])
def test_planes_match_reference(form, sizes, n_columns, weighted, request):
    tol = 1e-10 if form != "newton" else NEWTON_TOL
    rows, box, problem = make_problem(sizes, n_columns, seed=len(sizes) * 100 + n_columns, weighted=weighted, tol=tol)
    if form == "newton":
        solved = request.getfixturevalue("newton_for_all")
        solution = solve_newton_for_all(rows, box, problem)
        assert np.array_equal(solved, [~np.eye(len(sizes), dtype=bool)])
        planes = solution.planes
    elif form == "features":
        solution = solve_cold(rows, box, problem)
        planes = solution.planes
    elif form == "kernel":
        solution = solve_kernel(rows @ rows.T, box, problem, rows)
        planes = solution.planes
    else:
        solution = solve_kernel(rows @ rows.T, box, problem)
        planes = solution.planes @ rows
    assert solution.gaps.max() <= tol
    assert_planes_within_gap(planes, solution.gaps, rows, box, problem, SINGLE if form == "newton" else 1e-12)
    if form != "newton":
        assert largest_error(planes, rows, box, problem) <= 1e-5


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=4),
    n_columns=st.integers(1, 30),
    seed=st.integers(0, 10_000),
    weighted=st.booleans(),
)
def test_planes_match_reference_on_any_shape(sizes, n_columns, seed, weighted):
    rows, box, problem = make_problem(tuple(sizes), n_columns, seed, weighted)
    features = solve_cold(rows, box, problem)
    kernel = solve_kernel(rows @ rows.T, box, problem, rows)
    assert max(features.gaps.max(), kernel.gaps.max()) <= 1e-10
    assert largest_error(features.planes, rows, box, problem) <= 1e-5
    assert largest_error(kernel.planes, rows, box, problem) <= 1e-5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("sizes", "n_columns"), SHAPES)
def test_float32_planes_match_reference(sizes, n_columns, weighted):
    rows, box, problem = make_problem(sizes, n_columns, seed=7 + n_columns, weighted=weighted)
    single = rows.astype(np.float32)
    solution = solve_cold(single, box, problem)
    assert solution.planes.dtype == np.float32
    assert largest_error(solution.planes.astype(np.float64), rows, box, problem) <= 1e-3


@pytest.mark.parametrize("form", ["features", "kernel", "newton", "newton in float32"])
def test_certificate_is_honest(form, request):
    """The reported gap is that of the returned plane, computed here from its definition."""
    rows, box, problem = make_problem((80, 120), 8, seed=5, weighted=True, tol=1e-2)
    if form == "features":
        solution = solve_cold(rows, box, problem)
    elif form == "kernel":
        solution = solve_kernel(rows @ rows.T, box, problem, rows)
    else:
        request.getfixturevalue("newton_for_all")
        given = rows.astype(np.float64 if form == "newton" else np.float32)
        solution, rows = solve_newton_for_all(given, box, problem), given.astype(np.float64)
    rounding = SINGLE if form.startswith("newton") else 1e-9
    for a, b in ((0, 1), (1, 0)):
        assert (solution.alpha[problem.block(b), a] <= box[problem.block(b), a] * (1 + 1e-6)).all()
        gap = certificate(solution.planes[a, b].astype(np.float64), solution.alpha, rows, box, problem, a, b)
        assert solution.gaps[a, b] == pytest.approx(gap, abs=rounding)
        assert 0 < solution.gaps[a, b] <= 1e-2


@pytest.mark.parametrize("name", ["border", "overlap", "coil"])
@pytest.mark.parametrize("feature_map", ["fourier", "nystroem"])
def test_every_plane_is_certified_on_real_data(dataset, name, feature_map):
    X, y, _, _ = dataset(name)
    model = FBTWSVM(feature_map=feature_map, n_components=150, gamma=0.4 if name != "coil" else 20.0, random_state=0)
    model.fit(X, y)
    assert model.duality_gap_.shape == (len(model.classes_), len(model.classes_))
    assert model.duality_gap_.max() <= model.tol
