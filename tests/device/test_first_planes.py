"""The interior-point method of first planes against an independent solver."""

import numpy as np
import pytest

from devices import PLACES, here, there
from fbtwsvm.device.first_planes import _Pushed
from fbtwsvm.solver.plane_algebra import PlaneAlgebra

pytest.importorskip("clarabel")

from reference import solve_plane


def each(function, items):
    return [function(item) for item in items]


def solved(rows, box, reg, place, width=1e-6, tol=1e-10):
    """Return the planes near each of some classes that push the last one."""
    grams = [there(near.T @ near, place) for near in rows[:-1]]
    near = np.arange(len(grams))
    algebra = PlaneAlgebra(grams, np.full(len(grams), reg), near.tolist(), each)
    return _Pushed(algebra, near, there(rows[-1], place), there(box, place), width).solved(tol)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("apart", [0.0, 1.0, 4.0])
def test_planes_are_those_of_the_reference(place, seed, apart):
    """Whether classes overlap or are far apart, so that few rows push a plane."""
    random = np.random.default_rng(seed)
    rows = [random.normal(apart * random.normal(size=6), 1.0, (n, 6)) / 2.0 for n in (40, 25, 120)]
    rows = [np.column_stack([part, np.ones(len(part))]) for part in rows]
    box = random.uniform(0.01, 2.0, (2, 120))
    planes = solved(rows, box, 0.1, place)
    for a in range(2):
        best, gap = solve_plane(rows[a], rows[-1], np.ones(len(rows[a])), box[a], 0.1)
        assert gap < 1e-9
        gram = rows[a].T @ rows[a] + 0.1 * np.eye(7)
        error = planes[a] - best
        assert np.sqrt(error @ gram @ error) <= 2e-3 * np.sqrt(best @ gram @ best)


@pytest.mark.parametrize("place", PLACES)
def test_rows_of_no_weight_and_rows_that_are_equal(place):
    random = np.random.default_rng(0)
    rows = [random.normal(size=(30, 4)), np.repeat(random.normal(size=(3, 4)), 20, axis=0)]
    box = np.ones((1, 60))
    box[0, :20] = 1e-12
    planes = solved(rows, box, 0.1, place, width=1e-3)
    best, _ = solve_plane(rows[0], rows[1][20:], np.ones(30), box[0, 20:], 0.1)
    np.testing.assert_allclose(planes[0], best, atol=1e-2)


@pytest.mark.parametrize("place", PLACES)
def test_algebra_of_several_planes(place):
    random = np.random.default_rng(0)
    roots = random.normal(size=(3, 9, 6))
    grams, reg = [root.T @ root for root in roots], np.array([0.1, 0.2, 0.3])
    algebra = PlaneAlgebra([there(gram, place) for gram in grams], reg, [0, 1, 2], each)
    host = PlaneAlgebra(grams, reg, [0, 1, 2], each)
    near, vectors = np.array([2, 0, 0, 1, 2]), random.normal(size=(5, 6))
    curvature = [np.outer(v, v) for v in vectors]
    for method in ("times_gram", "whiten"):
        found = here(getattr(algebra, method)(near, there(vectors, place)))
        np.testing.assert_allclose(found, getattr(host, method)(near, vectors), atol=1e-10)
    for place_of, v in enumerate(vectors):
        full = grams[near[place_of]] + reg[near[place_of]] * np.eye(6)
        np.testing.assert_allclose(host.times_gram(near, vectors)[place_of], full @ v, atol=1e-10)
    factors = algebra.hessian_factors(near, [there(part, place) for part in curvature])
    halves = algebra.solve(factors, there(vectors, place))
    whole = here(algebra.solve(factors, halves, transposed=True))
    for k, a in enumerate(near):
        system = grams[a] + reg[a] * np.eye(6) + curvature[k]
        np.testing.assert_allclose(system @ whole[k], vectors[k], atol=1e-9)
