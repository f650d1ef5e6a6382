"""The estimator: labels, containers, precision, weights, seeds, warnings."""

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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
    single = FBTWSVM(gamma=1.0, feature_map="nystroem", random_state=0).fit(X.astype(np.float32), y)
    double = FBTWSVM(gamma=1.0, random_state=0).fit(X, y)
    whole = FBTWSVM(gamma=1.0, random_state=0).fit((100 * X).astype(np.int64), y)
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
    """Removing a row's push (not its Gram term) changes nothing unless it is a support row."""
    X, y = blobs
    model = FBTWSVM(gamma=0.1, tol=1e-9, max_iter=100_000, membership="none").fit(X, y)
    values = np.stack([model.plane_values(X, "ant", other) for other in ("bee", "cat")])
    for values_of_class, label in zip(values, ("bee", "cat"), strict=True):
        rows = y == label
        idle = rows.copy()
        idle[model.support_] = False
        assert (values_of_class[idle] <= -1 + 1e-3).all()
        assert values_of_class[rows & ~idle].max() >= -1 - 1e-3


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(6, 40), kernel=st.sampled_from(["rbf", "linear"]))
def test_a_weight_is_a_repetition(seed, n, kernel):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(n, 3)), np.arange(n) % 3
    weights = random.integers(0, 4, n)
    weights[:3] = 1
    weighted = FBTWSVM(kernel=kernel).fit(X, y, sample_weight=weights)
    repeated = FBTWSVM(kernel=kernel).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.array_equal(weighted.decision_function(X), repeated.decision_function(X))
    assert np.array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_weights_on_large_data():
    """Above the size of the exact form weights act through the same equations, to the solver's tolerance."""
    X, y = make_moons(2600, noise=0.3, random_state=0)
    weights = np.random.default_rng(0).integers(1, 4, 2600)
    options = {"feature_map": "fourier", "n_components": 40, "gamma": 1.0, "tol": 1e-8, "max_iter": 100_000}
    weighted = FBTWSVM(**options, random_state=0).fit(X, y, sample_weight=weights)
    repeated = FBTWSVM(**options, random_state=0).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.planes_ == pytest.approx(repeated.planes_, abs=1e-3 * np.abs(repeated.planes_).max())


def test_class_weight_multiplies(blobs):
    X, y = blobs
    factor = {"ant": 1.0, "bee": 2.0, "cat": 3.0}
    by_class = FBTWSVM(class_weight=factor).fit(X, y)
    by_row = FBTWSVM().fit(X, y, sample_weight=[factor[label] for label in y])
    assert np.array_equal(by_class.decision_function(X), by_row.decision_function(X))
    balanced = FBTWSVM(class_weight="balanced").fit(X, y)
    counts = {label: (y == label).sum() for label in factor}
    same = FBTWSVM().fit(X, y, sample_weight=[len(y) / (3 * counts[label]) for label in y])
    assert balanced.decision_function(X) == pytest.approx(same.decision_function(X))


def test_balanced_weights_help_the_rare_class():
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(0, 1, (950, 2)), random.normal(1.2, 1, (50, 2))])
    y = np.repeat([0, 1], (950, 50))
    plain, balanced = (FBTWSVM(class_weight=w).fit(X, y).predict(X)[950:].mean() for w in (None, "balanced"))
    assert balanced > plain + 0.2


def test_a_pair_of_values_is_one_value_per_near_class():
    X, y = make_moons(200, noise=0.3, random_state=0)
    options = {"gamma": 1.0, "membership": "none"}
    base = FBTWSVM(**options, C=1.0, reg=0.01).fit(X, y)
    pair = FBTWSVM(**options, C=(1.0, 3.0), reg=(0.01, 0.2)).fit(X, y)
    other = FBTWSVM(**options, C=3.0, reg=0.2).fit(X, y)
    assert np.array_equal(pair.planes_[0, 1], base.planes_[0, 1])
    assert np.array_equal(pair.planes_[1, 0], other.planes_[1, 0])


@pytest.mark.parametrize("feature_map", ["nystroem", "fourier", "exact"])
def test_the_same_model_whatever_n_jobs(feature_map, monkeypatch):
    monkeypatch.setattr("fbtwsvm.solver.dual._classes_at_once", lambda *sizes: 4)  # groups, as large data has them
    monkeypatch.setattr("fbtwsvm.batch.machine._MOST_KERNEL_ROWS", 0)  # the feature form
    X, y = load_digits(return_X_y=True)
    models = [
        FBTWSVM(feature_map=feature_map, gamma=0.001, n_components=120, random_state=3, n_jobs=n).fit(X[:700], y[:700])
        for n in (1, 2, 3)
    ]
    assert all(np.array_equal(models[0].planes_, model.planes_) for model in models)
    assert all(np.array_equal(models[0].predict_proba(X), model.predict_proba(X)) for model in models)


def test_groups_and_tiles_do_not_matter(monkeypatch):
    X, y = load_digits(return_X_y=True)
    options = {"feature_map": "fourier", "n_components": 60, "gamma": 0.001, "tol": 1e-8, "max_iter": 50_000}
    monkeypatch.setattr("fbtwsvm.batch.machine._MOST_KERNEL_ROWS", 0)
    whole = FBTWSVM(**options, random_state=0).fit(X[:900], y[:900])
    for name, value in {
        "model.mapping._TILE": 100,
        "classifier._PREDICT_TILE": 70,
        "solver.factors._TILE": 50,
        "solver.dual._TILE": 30,
    }.items():
        monkeypatch.setattr(f"fbtwsvm.{name}", value)
    monkeypatch.setattr("fbtwsvm.model.decision._TILE_BYTES", 8 * 100 * 33)
    monkeypatch.setattr("fbtwsvm.solver.dual._classes_at_once", lambda *sizes: 3)
    parts = FBTWSVM(**options, random_state=0).fit(X[:900], y[:900])
    assert parts.planes_ == pytest.approx(whole.planes_, abs=1e-3 * np.abs(whole.planes_).max())
    assert parts.decision_function(X) == pytest.approx(whole.decision_function(X), abs=0.02)
    assert (parts.predict(X) == whole.predict(X)).mean() > 0.998


@pytest.mark.parametrize("decision", ["calibrated", "value"])
@pytest.mark.parametrize(("n", "reg"), [(1000, 1e-4), (1000, 1e-6), (1300, 1e-4)])
def test_nearly_singular_kernels(n, reg, decision):
    """A very wide kernel and a tiny ridge: the points at the margin depend on each other."""
    X, y = make_moons(n, noise=0.2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = FBTWSVM(gamma=1e-3, reg=reg, decision=decision).fit(X, y)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1300, 3000])
def test_an_outlier_far_away(n, dtype):
    X, y = make_moons(n, noise=0.2, random_state=0)
    X[0] = 1e4
    model = FBTWSVM(random_state=0).fit(X.astype(dtype), y)
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


def test_small_data_needs_no_seed():
    X, y = make_moons(1400, noise=0.35, random_state=0)
    first, second = (FBTWSVM(gamma=1.0).fit(X, y) for _ in range(2))
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))


def test_ridge_below_the_rounding_of_float32():
    random = np.random.default_rng(0)
    X = random.normal(size=(5000, 20)).astype(np.float32)
    X = np.hstack([X, X + 1e-4 * random.normal(size=X.shape).astype(np.float32)])
    y = (X[:, 0] > 0).astype(int)
    with pytest.raises(ValueError, match="Raise reg, or pass float64"):
        FBTWSVM(kernel="linear", reg=1e-7).fit(1000 * X, y)


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
    X = sp.random_array((300, 5000), density=0.01, rng=random, format="csr")
    y = (np.asarray(X[:, :2500].sum(axis=1)) > np.asarray(X[:, 2500:].sum(axis=1))).astype(int)
    model = FBTWSVM(kernel="linear").fit(X, y)
    assert model.n_components_ == 300
    assert model.score(X, y) > 0.95


def test_joblib_keeps_probabilities_in_line_with_predict(tmp_path):
    X, y = load_digits(return_X_y=True)
    model = FBTWSVM(gamma=0.001).fit(X[:300], y[:300])
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    noise = np.random.default_rng(0).uniform(0, 16, size=(2000, 64))
    assert np.array_equal(again.predict_proba(noise), model.predict_proba(noise))
    assert np.array_equal(again.classes_[again.predict_proba(noise).argmax(axis=1)], again.predict(noise))


def test_small_weights_have_supports(blobs):
    X, y = blobs
    one, tiny = (
        FBTWSVM(gamma=0.1, reg=r, C=1.0).fit(X, y, sample_weight=np.full(len(y), w))
        for w, r in ((1.0, 0.01), (1e-10, 1e-12))
    )
    assert len(one.support_) > 10
    assert abs(len(tiny.support_) - len(one.support_)) <= 3


def test_seed_decides_the_map():
    X, y = make_moons(300, noise=0.2, random_state=0)
    make = lambda seed: FBTWSVM(feature_map="fourier", n_components=30, gamma=1.0, random_state=seed).fit(X, y)  # noqa: E731
    assert np.array_equal(make(1).planes_, make(1).planes_)
    assert not np.array_equal(make(1).planes_, make(2).planes_)


def test_convergence_warning_says_what_to_do():
    X, y = make_moons(300, noise=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model = FBTWSVM(gamma=1.0, tol=1e-9, max_iter=2).fit(X, y)
    assert model.duality_gap_.max() > 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FBTWSVM(gamma=1.0).fit(X, y)


def test_gamma_ladder_finds_the_width_and_says_so(capsys):
    """Ten stripes need a width far from "scale"."""
    random = np.random.default_rng(0)
    X = random.uniform(0, 10, size=(1200, 2))
    y = (X[:, 0].astype(int) % 2).astype(int)
    model = FBTWSVM(verbose=1).fit(X[:800], y[:800])
    assert model.score(X[800:], y[800:]) > FBTWSVM(gamma="scale").fit(X[:800], y[:800]).score(X[800:], y[800:]) + 0.1
    assert f"{model.gamma_:.6g}" in capsys.readouterr().out


def test_gamma_ladder_with_very_many_classes():
    X, y = make_blobs(900, centers=150, n_features=4, cluster_std=0.2, random_state=0)
    for copies in (1, 3):  # small and large data
        rows, labels = np.tile(X, (copies, 1)), np.tile(y, copies)
        rows = rows + np.random.default_rng(0).normal(0, 0.05, rows.shape)
        assert FBTWSVM(random_state=0).fit(rows, labels).score(X, y) > 0.9


def test_gamma_ladder_respects_groups_of_neighbouring_rows():
    """Rows come in runs of one label and one place: a narrow kernel knows the runs, new runs want a wide one."""
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(100) % 2, 30)
    X = np.repeat(random.normal(0, 1.0, size=(100, 6)), 30, axis=0) + random.normal(0, 0.1, size=(3000, 6))
    X[:, 0] += 2.0 * y
    shuffled = random.permutation(3000)
    in_order = FBTWSVM(random_state=0).fit(X, y).gamma_
    mixed = FBTWSVM(random_state=0).fit(X[shuffled], y[shuffled]).gamma_
    assert in_order < mixed


def test_works_in_pipelines_and_searches():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), FBTWSVM(gamma="scale"))
    search = GridSearchCV(pipeline, {"fbtwsvm__C": [0.1, 1.0], "fbtwsvm__reg": [0.01, 0.1]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9


def test_any_transformer_is_a_map():
    X, y = make_moons(300, noise=0.2, random_state=0)
    given_map = RBFSampler(gamma=1.0, n_components=80, random_state=0)
    model = FBTWSVM(feature_map=given_map).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.gamma_ is None
    assert not hasattr(given_map, "random_weights_")  # the user's object is cloned, not fitted


def test_scale_free(blobs):
    """Units of X do not matter to the maps that scale themselves."""
    X, y = blobs
    for kernel in ("rbf", "linear"):
        small, large = (FBTWSVM(kernel=kernel).fit(factor * X, y).predict(factor * X) for factor in (1e-3, 1e3))
        assert (small == large).mean() > 0.98


def test_pickle_predicts_the_same(blobs):
    X, y = blobs
    model = FBTWSVM().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_predict_does_not_change_the_model(blobs):
    X, y = blobs
    model = FBTWSVM().fit(X, y)
    before = pickle.dumps(model)
    for method in (model.predict, model.decision_function, model.predict_proba):
        method(X)
    assert pickle.dumps(model) == before
