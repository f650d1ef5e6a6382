"""The order of candidates: a grid that stops early, Parzen estimators."""

import numpy as np
from sklearn.datasets import load_digits

from fbtwsvm import FBTWSVM, FBTWSVMCV

X, y = load_digits(return_X_y=True)
X, y = X[:500] / 16.0, y[:500]


def test_early_stop_leaves_hopeless_candidates_out_and_finds_the_same():
    settings = {"gamma": [1e-5, 0.05, 50.0], "C": [1.0], "reg": [0.01], "membership": None, "refit": False}
    model = FBTWSVM(feature_map="fourier", n_components=80, random_state=0)
    full = FBTWSVMCV(model, **settings, early_stop=False).fit(X, y)
    early = FBTWSVMCV(model, **settings).fit(X, y)
    assert early.best_params_ == full.best_params_ == {"gamma": 0.05, "C": 1.0, "reg": 0.01}
    assert not full.cv_results_["stopped"].any()
    assert early.cv_results_["stopped"].any()
    stopped = early.cv_results_["stopped"]
    assert np.isnan(early.cv_results_["split2_test_score"][stopped]).all()
    assert (early.cv_results_["rank_test_score"][stopped] > early.cv_results_["rank_test_score"][~stopped].max()).all()


def test_parzen_estimators_search_within_the_ranges():
    search = FBTWSVMCV(
        FBTWSVM(feature_map="fourier", n_components=40, random_state=0), gamma=[0.01, 1.0], C=[0.5, 8.0],
        reg=[0.001, 0.1], mu=[0.1, 0.9], search="tpe", n_iter=6, random_state=0,
    ).fit(X[:200], y[:200])  # fmt: skip
    params = search.cv_results_["params"]
    assert len(params) == 6
    assert len({p["gamma"] for p in params}) == 6
    assert all(0.01 <= p["gamma"] <= 1.0 and 0.5 <= p["C"] <= 8.0 and 0.1 <= p["mu"] <= 0.9 for p in params)
    assert {p["membership"] for p in params} <= {"fuzzy", "none"}
