"""Rounding: nearly singular kernels, outliers, float32, units."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from fbtwsvm import FBTWSVM


@pytest.mark.parametrize("decision", ["calibrated", "value"])
@pytest.mark.parametrize(("n", "reg"), [(1000, 1e-4), (1000, 1e-6), (1300, 1e-4)])
def test_nearly_singular_kernels(n, reg, decision):
    """A very wide kernel and a tiny ridge: the points at the margin depend on each other."""
    X, y = make_moons(n, noise=0.2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = FBTWSVM(gamma=1e-3, reg=reg, decision=decision).fit(X, y)
    assert model.score(X, y) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("n", "dtype"), [(1300, np.float32), (1300, np.float64), (2100, np.float32)])
def test_an_outlier_far_away(n, dtype):
    X, y = make_moons(n, noise=0.2, random_state=0)
    X[0] = 1e4
    model = FBTWSVM(n_components="auto" if n == 1300 else 200, random_state=0).fit(X.astype(dtype), y)
    assert model.score(X[1:].astype(dtype), y[1:]) > 0.8


def test_far_clusters_in_float32():
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(-1000, 1, (1500, 5)), random.normal(1000, 1, (1500, 5))]).astype(np.float32)
    y = np.repeat([0, 1], 1500)
    assert FBTWSVM(gamma=0.01, random_state=0).fit(X, y).score(X, y) == 1.0


def test_float32_exact_kernel_keeps_its_planes():
    X, y = make_moons(1000, noise=0.2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        single, double = (FBTWSVM(gamma=1.0, reg=1e-6).fit(X.astype(d), y) for d in (np.float32, np.float64))
    assert (single.predict(X) == double.predict(X)).mean() > 0.98


def test_ridge_below_the_rounding_of_float32():
    random = np.random.default_rng(0)
    X = random.normal(size=(5000, 20)).astype(np.float32)
    X = np.hstack([X, X + 1e-4 * random.normal(size=X.shape).astype(np.float32)])
    y = (X[:, 0] > 0).astype(int)
    with pytest.raises(ValueError, match="Raise reg, or pass float64"):
        FBTWSVM(kernel="linear", reg=1e-7).fit(1000 * X, y)


def test_scale_free(blobs):
    """Units of X do not matter to the maps that scale themselves."""
    X, y = blobs
    for kernel in ("rbf", "linear"):
        small, large = (FBTWSVM(kernel=kernel).fit(factor * X, y).predict(factor * X) for factor in (1e-3, 1e3))
        assert (small == large).mean() > 0.98
