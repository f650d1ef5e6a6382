"""Roots of low rank, of classes with few rows: against numpy, and as the solver uses them."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.online._root_loops import low_rank_rows, whiten, whiten_low_rank
from fbtwsvm.online.roots import Roots, most_low_rank
from fbtwsvm.solver.factors import LowRankRoot, Root, gram_matrix
from helpers import clouds, stream
from reference import REG, some_rows, system

N_COLUMNS = 30


@pytest.fixture(params=[np.float32, np.float64])
def few(request):
    """Return a Gram matrix of four rows, and rows to compare products with."""
    rows, weights = some_rows(4, N_COLUMNS, dtype=request.param)
    others, _ = some_rows(5, N_COLUMNS, seed=1, dtype=request.param)
    return rows, weights, others


def assert_close(one, other, dtype):
    np.testing.assert_allclose(one, other, rtol=1e-3 if dtype == np.float32 else 1e-8, atol=1e-3 * np.abs(other).max())


def test_few_rows_have_a_root_of_low_rank_and_many_a_full_one(few):
    rows, weights, _ = few
    roots = Roots(1, N_COLUMNS, rows.dtype, most_low_rank=10)
    roots.refresh(0, gram_matrix(rows, weights), REG)
    assert roots.low_ranks[0] == 4
    assert_close(roots.inverse(0), np.linalg.inv(system(rows, weights)), rows.dtype)
    many, many_weights = some_rows(7, N_COLUMNS, seed=2, dtype=rows.dtype)  # more than half of the room
    roots.refresh(0, gram_matrix(many, many_weights), REG)
    assert roots.low_ranks[0] == -1
    assert_close(roots.inverse(0), np.linalg.inv(system(many, many_weights)), rows.dtype)


def test_products_of_the_solver_are_those_of_the_inverse(few):
    rows, weights, others = few
    inverse = np.linalg.inv(system(rows, weights))
    for most, kind in ((10, LowRankRoot), (0, Root)):
        roots = Roots(1, N_COLUMNS, rows.dtype, most)
        roots.refresh(0, gram_matrix(rows, weights), REG)
        factor = roots.factor(0)
        assert type(factor) is kind
        whitened = factor.rows(others)
        signed = whitened * factor.signs if len(factor.signs) else whitened
        products = others @ inverse @ others.T
        assert_close(signed @ whitened.T, products, rows.dtype)
        assert_close(factor.planes(whitened), -others @ inverse, rows.dtype)
        cross, squares = factor.near(whitened, others, np.arange(len(others)))
        assert_close(cross, products, rows.dtype)
        assert_close(squares, np.diag(products), rows.dtype)


def test_the_loops_solve_with_both_kinds_of_root(few):
    rows, weights, others = few
    inverse = np.linalg.inv(system(rows, weights))
    for most in (10, 0):
        roots = Roots(1, N_COLUMNS, rows.dtype, most)
        roots.refresh(0, gram_matrix(rows, weights), REG)
        for row in others:
            zeta, solved = np.empty_like(row), np.empty_like(row)
            if most:
                square = whiten_low_rank(roots.of(0), roots.low_ranks[0], roots.ridges[0], row, solved)
            else:
                square = whiten(roots.of(0), row, zeta, solved)
            assert_close(solved, inverse @ row, rows.dtype)
            assert square == pytest.approx(row @ inverse @ row, rel=1e-3)


def test_a_unit_of_weight_changes_the_ridge_alone(few):
    rows, weights, _ = few
    roots = Roots(1, N_COLUMNS, rows.dtype, most_low_rank=10)
    roots.refresh(0, gram_matrix(rows, weights), REG)
    roots.scale(4.0)
    assert_close(roots.inverse(0), np.linalg.inv(4.0 * system(rows, weights)), rows.dtype)


def test_pivoted_steps_stop_at_the_rank():
    rows, _ = some_rows(6, N_COLUMNS)
    gram, found = rows.T @ rows, np.empty((8, N_COLUMNS))
    assert low_rank_rows(gram, 1e-10, found) == 6
    np.testing.assert_allclose(found[:6].T @ found[:6], gram, atol=1e-9)
    assert low_rank_rows(gram, 1e-10, found[:6]) == 6  # just enough room
    assert low_rank_rows(gram, 1e-10, found[:5]) == -1
    assert low_rank_rows(np.zeros((3, 3)), 1e-10, found[:, :3]) == 0


def test_rounding_errors_must_be_small_next_to_the_ridge():
    assert most_low_rank(300, np.dtype(np.float32), np.array([0.01, 0.02])) == 100
    assert most_low_rank(300, np.dtype(np.float32), np.array([0.001, 0.02])) == 0
    assert most_low_rank(300, np.dtype(np.float64), np.array([1e-6])) == 100


@pytest.mark.parametrize("decay", [1.0, "auto"])
@pytest.mark.parametrize("size", [1, 7])
def test_on_a_stream_roots_become_full_ones_as_classes_grow(decay, size):
    """At any time they are the inverse of the sums of all rows so far, but for rows that their class knows well."""
    X, y = clouds(700, 10, n_columns=4, seed=3, spread=1.5)
    model = FBTWSVM(gamma=0.1, n_components=100, warm_up=100, decay=decay, random_state=0)
    kinds = set()
    for first in range(0, len(y), 50):
        stream(model, X[first : first + 50], y[first : first + 50], size)
        if model_of(model).stage == "warm_up":
            continue
        for member in model_of(model).members:
            assert (member.roots.low_ranks < member.roots.most_low_rank).all()
            kinds |= set((member.roots.low_ranks < 0).tolist())
            twin = member.copy()
            twin.flush()
            k = first // 50 % twin.n_classes
            gram = twin.moments.grams[k] + member.roots.ridges[k] * np.eye(len(twin.moments.grams[k]))
            lower = np.linalg.cholesky(gram)
            with threadpool_limits(1):
                eigenvalues = np.linalg.eigvalsh(lower.T @ member.roots.inverse(k) @ lower)
            assert eigenvalues.min() > 0.95
            assert eigenvalues.max() < 1.6
    assert kinds == {True, False}


def test_heavy_rows_in_single_precision_have_a_full_root():
    """(I - T'T) / reg would be nothing but rounding errors."""
    X, y = clouds(400, 3, n_columns=4)
    model = FBTWSVM(gamma=0.1, n_components=100, warm_up=200, random_state=0)
    stream(model, X[:300].astype(np.float32), y[:300] // 2 * 2, 50)
    member = model_of(model).members[0]
    for i in np.flatnonzero(y == 1)[:12]:
        model.partial_fit(X[i : i + 1].astype(np.float32), y[i : i + 1], sample_weight=[1e6])
        assert member.roots.low_ranks[1] == -1
