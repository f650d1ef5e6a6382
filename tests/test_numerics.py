"""Rounding and reproducibility: nearly singular kernels, outliers, float32, units, seeds, threads, tiles."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons
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


@pytest.mark.parametrize("feature_map", ["nystroem", "fourier", "exact"])
def test_the_same_model_whatever_n_jobs(feature_map, monkeypatch):
    monkeypatch.setattr("fbtwsvm.solver.dual._classes_at_once", lambda *sizes: 4)  # groups, as large data has them
    monkeypatch.setattr("fbtwsvm.solver.choose._MOST_KERNEL_ROWS", 0)  # the feature form
    X, y = load_digits(return_X_y=True)
    models = [
        FBTWSVM(feature_map=feature_map, gamma=0.001, n_components=120, random_state=3, n_jobs=n).fit(X[:700], y[:700])
        for n in (1, 2, 3)
    ]
    assert all(np.array_equal(models[0].planes_, model.planes_) for model in models)
    assert all(np.array_equal(models[0].predict_proba(X), model.predict_proba(X)) for model in models)


def test_the_model_does_not_depend_on_how_work_is_cut_into_groups_and_tiles(monkeypatch):
    X, y = load_digits(return_X_y=True)
    options = {"feature_map": "fourier", "n_components": 60, "gamma": 0.001, "tol": 1e-8, "max_iter": 50_000}
    monkeypatch.setattr("fbtwsvm.solver.choose._MOST_KERNEL_ROWS", 0)
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


def test_small_data_needs_no_seed():
    X, y = make_moons(1400, noise=0.35, random_state=0)
    first, second = (FBTWSVM(gamma=1.0).fit(X, y) for _ in range(2))
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))


def test_seed_decides_the_map():
    X, y = make_moons(300, noise=0.2, random_state=0)
    make = lambda seed: FBTWSVM(feature_map="fourier", n_components=30, gamma=1.0, random_state=seed).fit(X, y)  # noqa: E731
    assert np.array_equal(make(1).planes_, make(1).planes_)
    assert not np.array_equal(make(1).planes_, make(2).planes_)


def test_many_copies_of_few_rows_are_told_apart():
    """A row without all of its copies would be taken for the other class, and the decision rule would learn that."""
    random = np.random.default_rng(1)
    X = np.hstack([np.eye(3)[random.integers(3, size=2000)], np.eye(4)[random.integers(4, size=2000)]])
    y = (X[:, 0] > 0) ^ (X[:, 4] > 0) ^ (random.random(2000) < 0.1)
    assert FBTWSVM(gamma=0.02).fit(X, y).score(X, y) > 0.8  # nobody can reach 0.9


@pytest.mark.parametrize("seed", range(6))
def test_small_tables_of_few_categories_are_learned_as_by_counting(seed):
    """About seven rows for each of 20 cells, of which few have several labels; one cell may be missed."""
    random = np.random.default_rng(seed)
    cells = random.integers([4, 5], size=(1200, 2))
    best = random.integers(3, size=(4, 5))[tuple(cells.T)]
    y = np.where(random.random(1200) < 0.1, random.integers(3, size=1200), best)
    X = np.hstack([np.eye(4)[cells[:, 0]], np.eye(5)[cells[:, 1]]])
    model = FBTWSVM().fit(X[:200], y[:200])
    assert (model.predict(X[200:]) == best[200:]).mean() > 0.93


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_a_table_may_be_larger_than_any_count():
    X, y = np.repeat(np.eye(3), 40, axis=0), np.random.default_rng(0).integers(3, size=120)
    assert np.isfinite(FBTWSVM().fit(X, y, sample_weight=np.full(120, 1e20)).predict_proba(X)).all()


@pytest.mark.parametrize("seed", range(3))
def test_copies_of_landmarks_count_in_the_decision_rule(seed):
    """With few features, most rows are copies of landmarks; a rule learned from the others would be below chance."""
    random = np.random.default_rng(seed)
    X = random.integers(2, size=(4000, 2)).astype(float)
    y = (X.sum(axis=1) + (random.random(4000) < 0.2)) % 2
    model = FBTWSVM(n_components=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.6  # three of the four distinct rows can be right
    model.unlearn(X[:1], y[:1])
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n_columns", "n_rows"), [(6, 3000), (4, 1000)])
def test_tables_of_few_distinct_rows_are_learned_as_by_counting(seed, n_columns, n_rows):
    """Each of the distinct rows has a label of its own, of which a fifth is wrong; there are about 50 copies."""
    random = np.random.default_rng(seed)
    X = random.integers(2, size=(2 * n_rows, n_columns)).astype(float)
    best = random.integers(2, size=(2,) * n_columns)[tuple(X.astype(int).T)]
    y = best ^ (random.random(2 * n_rows) < 0.2)
    model = FBTWSVM(random_state=0).fit(X[:n_rows], y[:n_rows])
    assert (model.predict(X[n_rows:]) == best[n_rows:]).mean() > 0.97
