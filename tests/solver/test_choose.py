"""Which way solves which plane, and the sample that comes first."""

from dataclasses import replace

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.solver import choose
from fbtwsvm.solver.factors import gram_matrix
from fbtwsvm.solver.row_reader import GivenBoxes
from helpers import noisy_rows
from reference import SINGLE, certificate, class_means, home_of, largest_error, make_problem, solve_cold


def solve_mapped(rows, box, problem, multiples=(1.0,)):
    blocks = [problem.block(k) for k in range(problem.n_classes)]
    means = class_means(rows, problem.weights, problem.starts)

    def make_grams():
        return [gram_matrix(rows[block], problem.weights[block]) for block in blocks]

    return choose.solve_mapped(
        rows, box, problem, means, multiples, grams=None, make_grams=make_grams, reader=home_of(rows, problem), seed=0
    )


@pytest.mark.parametrize(
    ("sizes", "n_columns", "many", "way"),
    [
        ((15, 20), 60, 8192, "solve_kernel_path"),
        ((150, 200), 5, 8192, "solve_path"),
        ((150, 200), 5, 100, "_solve_many_rows"),
    ],
)
def test_rows_and_columns_decide_the_way(sizes, n_columns, many, way, monkeypatch):
    called = []
    for name in ("solve_kernel_path", "solve_path", "_solve_many_rows"):
        original = getattr(choose, name)
        monkeypatch.setattr(choose, name, lambda *a, _o=original, _n=name: (called.append(_n), _o(*a))[1])
    monkeypatch.setattr(choose, "MANY_ROWS", many)
    rows, box, problem = make_problem(sizes, n_columns, seed=0, weighted=True, tol=1e-8)
    (solution,) = solve_mapped(rows, box, problem)
    assert called == [way]
    assert largest_error(solution.planes, rows, box, problem) <= 1e-3


@pytest.mark.parametrize("reg", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_the_gap_of_rows_in_float32_is_true(reg, tol):
    """The kernel form divides rounding errors of inner products by reg.  Wide kernels make rows that are much alike."""
    random = np.random.default_rng(0)
    waves = random.normal(size=(140, 6)) @ random.normal(0, 0.3, size=(6, 200))
    rows = np.column_stack([np.cos(waves), np.sin(waves), np.full(140, np.sqrt(200))]).astype(np.float32)
    rows /= np.float32(np.sqrt(200))
    _, box, problem = make_problem((60, 80), 5, seed=0, weighted=True, tol=tol)
    problem = replace(problem, reg=np.full(2, reg))
    (solution,) = solve_mapped(rows, box, problem)
    assert 0 < solution.gaps.max() <= tol
    exact = rows.astype(np.float64)
    for a, b in ((0, 1), (1, 0)):
        gap = certificate(solution.planes[a, b].astype(np.float64), solution.alpha, exact, box, problem, a, b)
        assert abs(gap - solution.gaps[a, b]) <= 0.1 * tol + SINGLE


@pytest.mark.usefixtures("newton_for_all")
def test_planes_that_few_rows_push_stay_in_the_dual(monkeypatch):
    monkeypatch.setattr(choose, "_CROWDED", 10**6)
    rows, box, problem = make_problem((150, 200), 5, seed=0, weighted=True, tol=1e-8)
    (solution,) = solve_mapped(rows, box, problem)
    np.testing.assert_allclose(solution.planes, solve_cold(rows, box, problem).planes, atol=1e-4)


def test_a_sharp_tolerance_is_kept_by_the_dual():
    """Newton's method rounds the hinge, so it is not for gaps below 1e-4."""
    X, y = noisy_rows(20_000)
    fitted = FBTWSVM(kernel="linear", tol=1e-6, max_iter=100_000).fit(X.astype(np.float64), y == "low")
    assert fitted.duality_gap_.max() <= 1e-6


@pytest.mark.usefixtures("newton_for_all")
def test_the_sample_follows_its_seed():
    rows, box, problem = make_problem((120, 90), 4, seed=0, weighted=False, tol=1e-6)
    means = class_means(rows, problem.weights, problem.starts)
    grams = [gram_matrix(rows[problem.block(k)], problem.weights[problem.block(k)]) for k in range(2)]
    home, boxes = home_of(rows, problem), GivenBoxes(box)
    start = choose._start(means, grams, problem, rows.dtype)
    samples = [choose.first_sample(problem.starts, seed) for seed in (1, 1, 2)]
    planes = [choose._first_planes(home, boxes, problem, start, sample)[0] for sample in samples]
    assert np.array_equal(planes[0], planes[1])
    assert not np.array_equal(planes[0], planes[2])


@pytest.mark.usefixtures("newton_for_all")
def test_the_sample_of_a_fit_follows_random_state():
    """A linear kernel has nothing else that is chosen at random."""
    X, y = noisy_rows(800)
    one, same, other = (
        FBTWSVM(kernel="linear", decision="value", tol=1e-2, random_state=seed).fit(X, y).planes_ for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
