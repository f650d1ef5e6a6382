"""The three square roots of G^-1 = (Gram + reg I)^-1, against numpy."""

import numpy as np
import pytest

from fbtwsvm.online.roots import Roots
from fbtwsvm.solver.factors import LowRankWhitener, Whitener, gram_matrix, weighted
from reference import REG, some_rows, system

ACCURACY = {np.float32: {"rtol": 2e-4, "atol": 2e-4}, np.float64: {"rtol": 1e-10, "atol": 1e-11}}


def three_factors(rows, weights):
    """Return the factor of the same G in all three forms."""
    gram = gram_matrix(rows, weights)
    roots = Roots(1, rows.shape[1], rows.dtype)
    roots.refresh(0, gram, REG)
    return {
        "Cholesky": Whitener(gram.copy(), REG, rows.dtype),
        "Woodbury": LowRankWhitener(rows, weights, REG),
        "root": roots.factor(0),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [3, 20])
def test_all_factors_give_the_products_of_the_inverse(dtype, n):
    rows, weights = some_rows(n, dtype=dtype)
    others, _ = some_rows(7, seed=1, dtype=dtype)
    expected = others.astype(np.float64) @ np.linalg.inv(system(rows, weights)) @ others.T
    for factor in three_factors(rows, weights).values():
        zeta = factor.rows(others.copy()).astype(np.float64)
        signs = factor.signs if len(factor.signs) else np.ones(zeta.shape[1])
        np.testing.assert_allclose(zeta * signs @ zeta.T, expected, **ACCURACY[dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_factors_turn_pulls_into_the_same_planes(dtype):
    rows, weights = some_rows(5, dtype=dtype)
    others, alpha = some_rows(7, seed=1, dtype=dtype)
    expected = -np.linalg.solve(system(rows, weights), alpha @ others.astype(np.float64))
    for factor in three_factors(rows, weights).values():
        pulls = (alpha.astype(dtype) @ factor.rows(others.copy()))[None]
        np.testing.assert_allclose(factor.planes(pulls)[0], expected, **ACCURACY[dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_factors_agree_on_near_rows_and_their_leverage(dtype):
    rows, weights = some_rows(5, dtype=dtype)
    others, _ = some_rows(7, seed=1, dtype=dtype)
    chosen = np.array([4, 1, 2])
    own = weighted(rows, weights)[chosen]
    inverse = np.linalg.inv(system(rows, weights))
    near = own.astype(np.float64)
    for factor in three_factors(rows, weights).values():
        cross, leverage = factor.near(factor.rows(others.copy()), own.copy(), chosen)
        np.testing.assert_allclose(cross, others.astype(np.float64) @ inverse @ near.T, **ACCURACY[dtype])
        np.testing.assert_allclose(leverage, np.diag(near @ inverse @ near.T), **ACCURACY[dtype])


def test_a_matrix_that_is_not_definite_is_refused_with_advice():
    with pytest.raises(ValueError, match="Raise reg, or pass float64"):
        Whitener(np.diag([1.0, -1.0]), 0.1, np.dtype(np.float64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_tiles_are_those_of_all_rows(dtype, monkeypatch):
    monkeypatch.setattr("fbtwsvm.solver.factors._TILE", 4)
    rows, weights = some_rows(11, dtype=dtype)
    precise = rows.astype(np.float64)
    np.testing.assert_allclose(gram_matrix(rows, weights), precise.T @ np.diag(weights) @ precise, **ACCURACY[dtype])
