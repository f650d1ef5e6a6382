"""Every kernel and every map in a whole fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.kernel_approximation import RBFSampler

from fbtwsvm import FBTWSVM
from fbtwsvm.features import ExactKernel, FourierFeatures, NystroemFeatures
from fbtwsvm.features.kernels import KERNELS

MAPS = ["exact", "nystroem", "fourier", "orthogonal"]


@pytest.mark.parametrize("feature_map", MAPS)
@pytest.mark.parametrize("multiclass", ["dag", "vote"])
def test_learns_digits(feature_map, multiclass):
    X, y = load_digits(return_X_y=True)
    model = FBTWSVM(feature_map=feature_map, gamma=0.001, multiclass=multiclass, random_state=0)
    assert model.fit(X[:900], y[:900]).score(X[900:], y[900:]) > 0.93


@pytest.mark.parametrize("kernel", [*KERNELS, lambda X, Y: (1.0 + X @ Y.T) ** 2])
@pytest.mark.parametrize("feature_map", ["auto", "nystroem"])
def test_every_kernel_learns_iris(kernel, feature_map):
    X, y = load_iris(return_X_y=True)
    model = FBTWSVM(kernel=kernel, feature_map=feature_map, random_state=0).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9
    gamma = kernel in ("rbf", "laplacian")
    assert (model.gamma_ is not None) == gamma


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_learns_many_rows(kernel):
    """More rows than the exact kernel takes: the map of feature_map="auto" for large data."""
    X, y = make_moons(2600, noise=0.2, random_state=0)
    X -= X.min()
    model = FBTWSVM(kernel=kernel, gamma=2.0, random_state=0).fit(X[:2300], y[:2300])
    assert model.n_components_ != 2300
    assert model.score(X[2300:], y[2300:]) > 0.8


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_exact_kernel_on_large_data(kernel):
    """Above the small size rows are only sorted by class, and the kernel's columns with them."""
    X, y = make_moons(2600, noise=0.2, random_state=0)
    model = FBTWSVM(kernel=kernel, feature_map="exact", gamma=2.0).fit(X[:2200], y[:2200])
    landmarks = FBTWSVM(kernel=kernel, feature_map="nystroem", n_components=400, gamma=2.0, random_state=0)
    landmarks.fit(X[:2200], y[:2200])
    assert model.n_components_ == 2200
    assert (model.predict(X[2200:]) == landmarks.predict(X[2200:])).mean() > 0.97


def test_given_maps_of_ours_are_scaled_by_their_own_kernel():
    X, y = make_moons(300, noise=0.2, random_state=0)
    maps = [NystroemFeatures(kernel="linear", random_state=0), ExactKernel(kernel="linear")]
    for given_map in maps:
        small, large = (FBTWSVM(feature_map=given_map).fit(f * X, y).decision_function(f * X) for f in (1.0, 100.0))
        assert small == pytest.approx(large, abs=0.05)
    FBTWSVM(kernel="chi2", feature_map=FourierFeatures(random_state=0)).fit(X, y)  # the estimator's kernel has no say


def test_sparse_rows_with_every_kernel():
    X, y = load_iris(return_X_y=True)
    for kernel in KERNELS:
        for feature_map in ("auto", "fourier") if kernel.startswith("skewed") else ("auto",):
            model = FBTWSVM(kernel=kernel, feature_map=feature_map, random_state=0).fit(sp.csr_array(X), y)
            assert model.score(sp.csr_array(X), y) > 0.9


def test_more_columns_than_a_plain_map_takes():
    random = np.random.default_rng(0)
    X = sp.random_array((300, 5000), density=0.01, random_state=random, format="csr")
    y = (np.asarray(X[:, :2500].sum(axis=1)) > np.asarray(X[:, 2500:].sum(axis=1))).astype(int)
    model = FBTWSVM(kernel="linear").fit(X, y)
    assert model.n_components_ == 300
    assert model.score(X, y) > 0.95


def test_any_transformer_is_a_map():
    X, y = make_moons(300, noise=0.2, random_state=0)
    given_map = RBFSampler(gamma=1.0, n_components=80, random_state=0)
    model = FBTWSVM(feature_map=given_map).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.gamma_ is None
    assert not hasattr(given_map, "random_weights_")  # the user's object is cloned, not fitted
