"""Planes against the independent solver of reference.py, in both forms and both precisions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fbtwsvm import FBTWSVM
from fbtwsvm.solver.dual import _NearPlanes, solve_features
from fbtwsvm.solver.factors import class_means
from fbtwsvm.solver.kernel import solve_kernel
from fbtwsvm.solver.problem import Problem, Start
from reference import solve_plane


def solve_cold(rows, problem):
    """Solve every plane in the feature form from nothing but the rows."""
    means = class_means(rows, problem.weights, problem.starts)
    return solve_features(rows, problem, Start.cold(rows, means, problem))


def make_problem(sizes, n_columns, seed, weighted, tol=1e-10):
    random = np.random.default_rng(seed)
    rows = np.concatenate([random.normal(0.6 * random.normal(size=n_columns), 1, (n, n_columns)) for n in sizes])
    rows = np.column_stack([rows / np.sqrt(n_columns), np.ones(len(rows))])
    weights = random.uniform(0.2, 3.0, len(rows)) if weighted else np.ones(len(rows))
    box = weights[:, None] * random.uniform(0.01, 2.0, (len(rows), len(sizes)))
    problem = Problem(
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        weights=weights,
        box=box,
        reg=random.uniform(0.01, 0.5, len(sizes)),
        judged=np.ones(len(rows), dtype=bool),
        tol=tol,
        max_iter=100_000,
        n_jobs=None,
        say=print,
    )
    return rows, problem


def largest_error(planes, rows, problem):
    """Largest relative error ||L'(u - u*)|| / ||L'u*|| over all planes; checks the reference's own gap as well."""
    worst = 0.0
    for a in range(problem.n_classes):
        near, near_weights = rows[problem.block(a)], problem.weights[problem.block(a)]
        gram = near.T @ (near * near_weights[:, None]) + problem.reg[a] * np.eye(rows.shape[1])
        for b in range(problem.n_classes):
            if a != b:
                pushed = problem.block(b)
                best, gap = solve_plane(near, rows[pushed], near_weights, problem.box[pushed, a], problem.reg[a])
                assert gap < 1e-11
                error = planes[a, b] - best
                worst = max(worst, np.sqrt(error @ gram @ error / (best @ gram @ best)))
    return worst


SHAPES = [
    ((30, 20), 5),
    ((8, 40), 20),
    ((40, 8), 20),
    ((5, 6), 30),
    ((60, 150), 10),
    ((1, 2, 3), 4),
    ((25, 30, 35), 12),
    ((4, 50, 12), 25),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("sizes", "n_columns"), SHAPES)
@pytest.mark.parametrize("form", ["features", "kernel", "coefficients"])
def test_planes_match_reference(form, sizes, n_columns, weighted):
    rows, problem = make_problem(sizes, n_columns, seed=len(sizes) * 100 + n_columns, weighted=weighted)
    if form == "features":
        solution = solve_cold(rows, problem)
        planes = solution.planes
    elif form == "kernel":
        solution = solve_kernel(rows @ rows.T, problem, rows)
        planes = solution.planes
    else:
        solution = solve_kernel(rows @ rows.T, problem)
        planes = solution.planes @ rows
    assert solution.gaps.max() <= 1e-10
    assert largest_error(planes, rows, problem) <= 1e-5


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=4),
    n_columns=st.integers(1, 30),
    seed=st.integers(0, 10_000),
    weighted=st.booleans(),
)
def test_planes_match_reference_on_any_shape(sizes, n_columns, seed, weighted):
    rows, problem = make_problem(tuple(sizes), n_columns, seed, weighted)
    features = solve_cold(rows, problem)
    kernel = solve_kernel(rows @ rows.T, problem, rows)
    assert max(features.gaps.max(), kernel.gaps.max()) <= 1e-10
    assert largest_error(features.planes, rows, problem) <= 1e-5
    assert largest_error(kernel.planes, rows, problem) <= 1e-5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("sizes", "n_columns"), SHAPES)
def test_float32_planes_match_reference(sizes, n_columns, weighted):
    rows, problem = make_problem(sizes, n_columns, seed=7 + n_columns, weighted=weighted)
    single = rows.astype(np.float32)
    solution = solve_cold(single, problem)
    assert solution.planes.dtype == np.float32
    assert largest_error(solution.planes.astype(np.float64), rows, problem) <= 1e-3


def test_working_set_stops_short_of_all_rows(monkeypatch):
    rows, problem = make_problem((900, 900), 6, seed=3, weighted=False, tol=1e-6)
    rows[:900, 0] += 2.0
    sizes = []
    store = _NearPlanes.store
    monkeypatch.setattr(
        _NearPlanes, "store", lambda self, solution: (sizes.append(len(self.members)), store(self, solution))
    )
    solution = solve_cold(rows, problem)
    assert solution.gaps.max() <= 1e-6
    assert largest_error(solution.planes, rows, problem) <= 1e-2
    assert len(sizes) == 2
    assert max(sizes) < 600


@pytest.mark.parametrize("form", ["features", "kernel"])
def test_certificate_is_honest(form):
    """The reported gap is that of the returned plane, computed here from its definition."""
    rows, problem = make_problem((80, 120), 8, seed=5, weighted=True, tol=1e-2)
    solution = solve_cold(rows, problem) if form == "features" else solve_kernel(rows @ rows.T, problem, rows)
    for a, b in ((0, 1), (1, 0)):
        near, pushed = problem.block(a), problem.block(b)
        u, alpha, box = solution.planes[a, b], solution.alpha[pushed, a], problem.box[pushed, a]
        gram = rows[near].T @ (rows[near] * problem.weights[near, None]) + problem.reg[a] * np.eye(9)
        pull = rows[pushed].T @ alpha
        primal = 0.5 * u @ gram @ u + (box * np.maximum(0, 1 + rows[pushed] @ u)).sum()
        dual = alpha.sum() - 0.5 * pull @ np.linalg.solve(gram, pull)
        assert solution.gaps[a, b] == pytest.approx((primal - dual) / box.sum(), abs=1e-9)
        assert 0 < solution.gaps[a, b] <= 1e-2


@pytest.mark.parametrize("name", ["border", "overlap", "coil"])
@pytest.mark.parametrize("feature_map", ["fourier", "nystroem"])
def test_every_plane_is_certified_on_real_data(dataset, name, feature_map):
    X, y, _, _ = dataset(name)
    model = FBTWSVM(feature_map=feature_map, n_components=150, gamma=0.4 if name != "coil" else 20.0, random_state=0)
    model.fit(X, y)
    assert model.duality_gap_.shape == (len(model.classes_), len(model.classes_))
    assert model.duality_gap_.max() <= model.tol
