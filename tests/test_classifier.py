"""The estimator: labels, containers, precision, attributes, warnings."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons

from fbtwsvm import FBTWSVM


@pytest.mark.parametrize(
    "labels", [["b", "a", "c"], [-5, 7, 0], [2.0, 1.0, 3.0], [True, False], np.array(["x", "y"], dtype=object)]
)
def test_any_labels(labels):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < len(labels)], y[y < len(labels)]
    given_labels = np.asarray(labels)[y]
    model = FBTWSVM().fit(X, given_labels)
    assert model.classes_.tolist() == sorted(np.asarray(labels).tolist())
    assert (model.predict(X) == given_labels).mean() > 0.95


def test_data_frames_and_sparse_rows_give_the_same_model(blobs):
    X, y = blobs
    names = ["a", "b", "c", "d"]
    make = lambda: FBTWSVM(gamma=0.2, tol=1e-9, max_iter=100_000)  # noqa: E731
    expected = make().fit(X, y).decision_function(X)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = make().fit(frame, y)
        assert model.feature_names_in_.tolist() == names
        assert model.decision_function(frame) == pytest.approx(expected)
    sparse = make().fit(sp.csr_array(X), y)
    assert sparse.decision_function(sp.csr_matrix(X)) == pytest.approx(expected, abs=1e-2)
    assert sparse.decision_function(X) == pytest.approx(expected, abs=1e-2)


@pytest.mark.parametrize("n", [200, 2300])
def test_float32_stays_float32(n):
    X, y = make_moons(n, noise=0.2, random_state=0)
    single = FBTWSVM(gamma=1.0, feature_map="nystroem", n_components=100, random_state=0).fit(X.astype(np.float32), y)
    double = FBTWSVM(gamma=1.0, n_components=100, random_state=0).fit(X, y)
    whole = FBTWSVM(gamma=1.0, n_components=100, random_state=0).fit((100 * X).astype(np.int64), y)
    assert single.planes_.dtype == np.float32
    assert double.planes_.dtype == whole.planes_.dtype == np.float64
    assert (single.predict(X) == double.predict(X)).mean() > 0.99


def test_shapes_of_attributes(blobs):
    X, y = blobs
    model = FBTWSVM(feature_map="nystroem", n_components=20, random_state=0).fit(X, y)
    assert model.planes_.shape == (3, 3, 21)
    assert model.n_components_ == 20
    assert model.n_features_in_ == 4
    assert model.memberships_.shape == (len(X), 3)
    assert model.duality_gap_.shape == (3, 3)
    assert model.n_support_.shape == (3,)
    assert model.n_support_.sum() == len(model.support_)
    for k, label in enumerate(model.classes_):
        assert (y[model.support_] == label).sum() == model.n_support_[k]
    assert model.n_iter_ >= 1
    assert not model.planes_[[0, 1, 2], [0, 1, 2]].any()


def test_rows_off_the_support_do_not_push(blobs):
    """Without an idle row the planes against its class are the same; without a support row they are not."""
    X, y = blobs
    model = FBTWSVM(gamma=0.1, tol=1e-9, max_iter=100_000, membership="none")
    before = model.fit(X, y).plane_values(X, "ant", "bee")
    pushing = np.intersect1d(np.flatnonzero((y == "bee") & (before > -1.0)), model.support_)
    idle = np.setdiff1d(np.flatnonzero(y == "bee"), model.support_)
    assert len(idle)
    assert len(pushing)
    for row, least, most in ((idle[0], 0.0, 1e-4), (pushing[0], 1e-3, np.inf)):
        rest = np.delete(np.arange(len(y)), row)
        after = clone(model).fit(X[rest], y[rest]).plane_values(X, "ant", "bee")
        assert least <= np.abs(after - before).max() <= most


def test_predict_does_not_change_the_model(blobs):
    X, y = blobs
    model = FBTWSVM().fit(X, y)
    before = pickle.dumps(model)
    for method in (model.predict, model.decision_function, model.predict_proba):
        method(X)
    assert pickle.dumps(model) == before
