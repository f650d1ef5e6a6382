"""A search on a device."""

import numpy as np
import pytest

from devices import DEVICES, PLACES, crowd, needs_torch, there
from fbtwsvm import FBTWSVM, FBTWSVMCV
from fbtwsvm.search import cv

GIVEN = {
    "precision": "highest",
    "feature_map": "fourier",
    "n_components": 40,
    "metric": "none",
    "random_state": 0,
    "decision": "distance",
    "tol": 1e-5,
}
GRID = {"gamma": [0.02, 0.2], "C": [0.1, 1.0], "reg": [0.01, 0.1], "cv": 2, "random_state": 0, "early_stop": False}


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch):
    monkeypatch.setattr(cv, "LARGE", 2000)


def scores(search):
    return np.array(search.cv_results_["mean_test_score"])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("membership", [None, ["fuzzy", "none"]])
def test_scores_are_those_of_a_search_here(place, membership):
    X, y = crowd(4000, 3)
    grid = {**GRID, "membership": membership}
    other = FBTWSVMCV(FBTWSVM(**GIVEN), **grid).fit(X, y)
    search = FBTWSVMCV(FBTWSVM(**GIVEN), **grid).fit(there(X, place), there(y, place))
    assert search.cv_results_["params"] == other.cv_results_["params"]
    np.testing.assert_allclose(scores(search), scores(other), atol=0.012)
    assert search.best_score_ == scores(search).max()
    assert type(search.predict(there(X, place))) is type(there(X, place))
    assert search.score(there(X, place), there(y, place)) == pytest.approx(other.score(X, y), abs=0.02)


@pytest.mark.parametrize("place", PLACES)
def test_pairs_weights_and_samples(place):
    X, y = crowd(5000)
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    grid = {"gamma": [0.05, 0.2], "C": None, "reg": None, "membership": None, "cv": 2, "random_state": 0}
    given = {**GIVEN, "C": (3.0, 0.2), "reg": (0.01, 0.3), "class_weight": "balanced"}
    other = FBTWSVMCV(FBTWSVM(**given), **grid, sample=3000).fit(X, y, sample_weight=weights)
    search = FBTWSVMCV(FBTWSVM(**given), **grid, sample=3000).fit(
        there(X, place), there(y, place), sample_weight=there(weights, place)
    )
    np.testing.assert_allclose(scores(search), scores(other), atol=0.012)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("given", [{"separate": True}, {"scoring": "accuracy"}], ids=str)
def test_what_a_search_on_a_device_does_not_do(place, given):
    X, y = crowd(3000)
    with pytest.raises(ValueError, match=f"does not use {next(iter(given))}"):
        FBTWSVMCV(FBTWSVM(**GIVEN), **GRID, **given).fit(there(X, place), there(y, place))


@needs_torch
@pytest.mark.parametrize("device", DEVICES)
def test_rows_of_numpy(device):
    X, y = crowd(4000)
    search = FBTWSVMCV(FBTWSVM(**GIVEN, device=device), **GRID).fit(X, y)
    other = FBTWSVMCV(FBTWSVM(**GIVEN), **GRID).fit(X, y)
    np.testing.assert_allclose(scores(search), scores(other), atol=0.012)
    assert type(search.predict(X)) is np.ndarray
