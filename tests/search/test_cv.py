"""FBTWSVMCV: the scores of a plain grid search, shared work, early stops, scikit-learn's conventions."""

from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import accuracy_score, get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fbtwsvm import FBTWSVM, FBTWSVMCV
from fbtwsvm.batch.choose_kernel import KernelChoice
from fbtwsvm.evaluate._search_plot import plot_search
from fbtwsvm.search.folds import Folds

X, y = load_digits(return_X_y=True)
X, y = X[:500] / 16.0, y[:500]


FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


GRID = {"C": [0.25, 1.0, 8.0], "reg": [0.003, 0.03]}


# Both searches must end at the same planes, not only near them, for every row to be decided alike.
SHARP = {"tol": 1e-9, "max_iter": 20000, "decision": "value", "random_state": 0}


def grid_scores(search):
    return {tuple(sorted(p.items())): s for p, s in zip(search.cv_results_["params"], splits(search), strict=True)}


def splits(search):
    results = search.cv_results_
    return np.column_stack([results[f"split{k}_test_score"] for k in range(search.n_splits_)])


@pytest.mark.parametrize(
    ("settings", "grid"),
    [
        ({"feature_map": "fourier", "n_components": 60}, {"gamma": [0.02, 0.1], **GRID}),
        ({"kernel": "linear"}, GRID),
        ({"kernel": "linear", "class_weight": "balanced"}, GRID),
        ({"feature_map": "exact"}, {"gamma": [0.02, 0.1], **GRID}),
    ],
    ids=["fourier", "linear", "balanced", "exact"],
)
def test_scores_are_those_of_a_plain_grid_search(settings, grid):
    model = FBTWSVM(**SHARP, **settings)
    plain = GridSearchCV(model, grid, cv=FOLDS, refit=False).fit(X, y)
    ours = FBTWSVMCV(
        model, gamma=None, membership=None, cv=FOLDS, early_stop=False, refit=False,
    ).set_params(**grid).fit(X, y)  # fmt: skip
    expected, found = grid_scores(plain), grid_scores(ours)
    assert expected.keys() == found.keys()
    for params, scores in expected.items():
        np.testing.assert_allclose(found[params], scores, rtol=0, atol=1e-6, err_msg=str(params))
    assert ours.best_score_ == pytest.approx(plain.best_score_, abs=1e-6)


def test_landmarks_come_from_training_folds_alone():
    """With Nystroem features too the scores are those of a plain search, which cannot see held-out rows."""
    model = FBTWSVM(**SHARP, feature_map="nystroem", n_components=50)
    grid = {"gamma": [0.05], "C": [1.0, 4.0], "reg": [0.01]}
    plain = GridSearchCV(model, grid, cv=FOLDS, refit=False).fit(X, y)
    ours = FBTWSVMCV(model, **grid, membership=None, cv=FOLDS, early_stop=False, refit=False).fit(X, y)
    np.testing.assert_allclose(splits(ours), splits(plain), atol=1e-6)


def test_folds_that_do_not_cover_all_rows():
    """The Gram matrix of a fold is then not the total less the held-out part."""
    cv = ShuffleSplit(2, train_size=0.5, test_size=0.2, random_state=0)
    model = FBTWSVM(**SHARP, feature_map="fourier", n_components=40, gamma=0.05)
    plain = GridSearchCV(model, {"C": [1.0, 4.0]}, cv=cv, refit=False).fit(X, y)
    ours = FBTWSVMCV(
        model, gamma=None, C=[1.0, 4.0], reg=None, membership=None, cv=cv, early_stop=False, refit=False
    ).fit(X, y)
    np.testing.assert_allclose(splits(ours), splits(plain), atol=1e-6)


def test_each_plane_with_parameters_of_its_own():
    """The search in four dimensions has the scores of fits with pairs."""
    A, b = make_classification(300, 5, flip_y=0.1, weights=[0.7], random_state=1)
    model = FBTWSVM(**{**SHARP, "tol": 1e-8}, feature_map="fourier", n_components=40, gamma=0.1)
    search = FBTWSVMCV(
        model, gamma=None, C=[0.5, 4.0], reg=[0.01, 0.1], membership=None, separate=True, cv=FOLDS, early_stop=False,
    ).fit(A, b)  # fmt: skip
    assert len(search.cv_results_["params"]) == 16
    pairs = {"C": [(0.5, 4.0)], "reg": [(0.1, 0.01)]}
    plain = GridSearchCV(model, pairs, cv=FOLDS, refit=False).fit(A, b)
    place = search.cv_results_["params"].index({"C": (0.5, 4.0), "reg": (0.1, 0.01)})
    np.testing.assert_allclose(splits(search)[place], splits(plain)[0], atol=1e-6)
    assert isinstance(search.best_estimator_.C, tuple)


def test_folds_that_overlap_and_values_given_twice():
    model = FBTWSVM(**SHARP, feature_map="fourier", n_components=40, gamma=0.05)
    half = np.arange(250)
    search = FBTWSVMCV(model, gamma=None, C=[1.0, 1.0, 4], reg=[0.01, 0.01], membership=None, cv=[(half, half)])
    found = search.fit(X, y)
    assert [p["C"] for p in found.cv_results_["params"]] == [1.0, 4.0]
    fitted = clone(model).set_params(C=1.0, reg=0.01).fit(X[half], y[half])
    assert found.cv_results_["mean_test_score"][0] == pytest.approx(fitted.score(X[half], y[half]), abs=1e-6)


def test_folds_are_of_the_rows_as_they_were_given():
    """Also where only a sample of the rows is searched on."""
    train, test = np.arange(0, 300), np.arange(300, 500)
    search = FBTWSVMCV(FBTWSVM(), gamma=[0.1], C=[1.0], reg=[0.01], membership=None, sample=250, random_state=0)
    splits = search.set_params(cv=[(train, test)])._splits(X, y, np.arange(0, 500, 2))
    assert (splits[0][0] == np.arange(150)).all()
    assert (splits[0][1] == np.arange(150, 250)).all()
    assert search.fit(X, y).n_splits_ == 1


def test_the_best_is_fitted_on_all_rows():
    search = FBTWSVMCV(FBTWSVM(random_state=0), gamma=3, C=[1.0, 4.0], reg=[0.01], random_state=0).fit(X, y)
    again = clone(search.best_estimator_).fit(X, y)
    assert (search.predict(X) == again.predict(X)).all()
    assert search.best_score_ == search.cv_results_["mean_test_score"].max(
        where=~search.cv_results_["stopped"], initial=0
    )
    assert search.predict_proba(X).shape == (500, 10)
    assert search.decision_function(X).shape == (500, 10)
    assert search.search_time_ > 0
    assert search.refit_time_ > 0


def test_another_score():
    search = FBTWSVMCV(FBTWSVM(), gamma=2, C=[1.0], reg=[0.01], membership=None, scoring="neg_log_loss", refit=False)
    assert -1.0 < search.fit(X[:200], y[:200]).best_score_ < 0.0
    search.set_params(refit=True).fit(X[:200], y[:200])
    assert search.score(X, y) == get_scorer("neg_log_loss")(search.best_estimator_, X, y)
    np.testing.assert_array_equal(search.predict_log_proba(X), np.log(search.predict_proba(X)))


def test_in_a_pipeline_and_on_a_sample():
    A, b = load_iris(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), FBTWSVMCV(gamma=2, C=[1.0, 4.0], reg=[0.01], sample=60, random_state=0))
    assert accuracy_score(b, pipe.fit(A, b).predict(A)) > 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": []}, "C must not be empty"),
        ({"C": [1.0, -1.0]}, "The 'C' parameter"),
        ({"C": [(1.0, 2.0)]}, "C must hold numbers"),
        ({"membership": ["soft"]}, "The 'membership' parameter"),
        ({"separate": True}, "separate=True is for two classes, got 10"),
        ({"search": "random"}, "The 'search' parameter"),
        ({"gamma": ["auto", "scale"]}, "gamma must hold numbers, got 'auto'"),
        ({"membership": "fuzzy"}, r"use \['fuzzy'\]"),
        ({"error_score": np.inf}, "error_score=inf"),
        ({"error_score": True}, "error_score=True"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_any_work(change, message):
    search = FBTWSVMCV(gamma=[0.1], C=[1.0], reg=[0.01]).set_params(**change)
    with pytest.raises(ValueError, match=message):
        search.fit(X, y)
    assert not hasattr(search, "best_params_")


def test_without_refit_there_is_nothing_to_predict_with():
    search = FBTWSVMCV(gamma=[0.1], C=[1.0], reg=[0.01], refit=False).fit(X[:100], y[:100])
    with pytest.raises(AttributeError, match="use best_params_"):
        search.predict(X)


def test_one_class_and_other_estimators_are_refused():
    with pytest.raises(ValueError, match="one class"):
        FBTWSVMCV().fit(X[:5], np.zeros(5))
    with pytest.raises(TypeError, match="use GridSearchCV"):
        FBTWSVMCV(SVC()).fit(X, y)


def test_classes_without_weight_do_not_count():
    weights = np.where(y == 3, 0.0, 1.0)
    search = FBTWSVMCV(gamma=[0.1], C=[1.0], reg=[0.01], membership=None).fit(X, y, weights)
    assert 3 not in search.classes_
    assert search.classes_.tolist() == search.best_estimator_.classes_.tolist()


def test_a_search_that_fails_leaves_the_last_one():
    search = FBTWSVMCV(gamma=[0.1], C=[1.0], reg=[0.01], membership=None).fit(X[:100], y[:100])
    before = search.best_estimator_
    with pytest.raises(ValueError, match="gamma cannot be searched"):
        search.set_params(estimator=FBTWSVM(kernel="linear")).fit(X[:, :3], y)
    assert search.best_estimator_ is before
    assert search.n_features_in_ == 64


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


@pytest.mark.parametrize("name", ["gamma", "C", "reg"])
def test_one_value_is_given_in_a_list(name):
    with pytest.raises(ValueError, match=rf"{name}=10\.0: an int is a number of values.* use \[10\.0\]"):
        FBTWSVMCV(**{name: 10.0}).fit([[0.0], [1.0]], [0, 1])


def test_the_grid_goes_on_beyond_an_edge_with_the_best_value():
    """Fine stripes need a gamma far above the five values around a wrong start."""
    estimator = FBTWSVM(random_state=0, metric="none")
    search = FBTWSVMCV(estimator, gamma=3, C=[1.0], reg=[0.01], membership=None, random_state=0)
    X, y = stripes(600)
    with mock.patch("fbtwsvm.search.folds.choose_gamma", return_value=0.05):
        search.fit(X, y)
    tried = sorted(set(search.cv_results_["param_gamma"].tolist()))
    assert tried[:3] == [0.025, 0.05, 0.1]
    assert len(tried) == 7  # four more, as many as are allowed
    np.testing.assert_allclose(np.diff(np.log2(tried)), 1.0)
    assert search.best_params_["gamma"] > 0.1


def test_a_list_of_the_user_is_not_continued():
    X, y = stripes(300)
    search = FBTWSVMCV(FBTWSVM(random_state=0), gamma=[0.01, 0.05], C=[1.0], reg=[0.01], membership=None).fit(X, y)
    assert len(search.cv_results_["params"]) == 2


def stripes(n):
    X = np.random.default_rng(0).uniform(0, 6, size=(n, 2))
    return X, X[:, 0].astype(int) % 2


SMALL_GRID = {"gamma": [0.1, 0.5], "C": [1.0], "reg": [0.01], "membership": None}


def test_a_fold_that_cannot_be_fitted_has_no_score_and_a_warning():
    X, y = stripes(200)
    one_class = np.flatnonzero(y == 0)
    folds = [
        (np.arange(0, 100), np.arange(100, 200)),
        (one_class, np.arange(100)),
        (np.arange(100, 200), np.arange(100)),
    ]
    search = FBTWSVMCV(FBTWSVM(), **SMALL_GRID, cv=folds)
    with pytest.warns(FitFailedWarning, match=r"Fold 1 cannot be fitted.*one class only"):
        search.fit(X, y)
    results = search.cv_results_
    assert np.isnan(results["split1_test_score"]).all()
    expected = (results["split0_test_score"] + results["split2_test_score"]) / 2
    np.testing.assert_allclose(results["mean_test_score"], expected)
    with pytest.warns(FitFailedWarning, match="its score is 0.0"):
        assert (search.set_params(error_score=0.0).fit(X, y).cv_results_["split1_test_score"] == 0.0).all()
    with pytest.raises(ValueError, match="one class only"):
        search.set_params(error_score="raise").fit(X, y)


def test_no_fold_at_all_is_an_error():
    X, y = stripes(200)
    search = FBTWSVMCV(FBTWSVM(), **SMALL_GRID, cv=[(np.flatnonzero(y == 0), np.arange(100))])
    with pytest.warns(FitFailedWarning), pytest.raises(ValueError, match="no fold could be fitted"):
        search.fit(X, y)


@pytest.mark.filterwarnings("error:Mean of empty slice", "error:The value nan")
def test_parzen_estimators_without_any_score():
    X, y = stripes(200)
    search = FBTWSVMCV(**SMALL_GRID, cv=[(np.flatnonzero(y == 0), np.arange(100))], search="tpe", n_iter=2)
    with pytest.warns(FitFailedWarning), pytest.raises(ValueError, match="no fold could be fitted"):
        search.fit(X, y)


def test_a_score_that_cannot_be_computed_is_told_once_for_each_fold():
    search = FBTWSVMCV(**SMALL_GRID, scoring="f1", refit=False)
    with pytest.warns(FitFailedWarning) as told, pytest.raises(ValueError, match="No candidate has a score"):
        search.fit(X, y)
    assert len(told) == 3
    assert "Fold 0 cannot be scored" in str(told[0].message)
    with pytest.raises(ValueError, match="multiclass"):
        search.set_params(error_score="raise").fit(X, y)


def test_a_candidate_that_goes_on_has_a_score_in_every_fold():
    """With early stopping, a map that is far behind is not tried with all values of reg: these must not go on."""
    X, y = make_classification(600, 6, n_informative=4, n_redundant=0, n_classes=3, flip_y=0.1, random_state=0)
    search = FBTWSVMCV(random_state=0, cv=5, refit=False).fit(X, y)
    stopped = search.cv_results_["stopped"]
    assert np.isnan(splits(search)[stopped]).any(axis=1).all()
    assert not np.isnan(splits(search)[~stopped]).any()
    assert stopped.sum() > 50


def test_the_progress_bar_ends_at_its_total(monkeypatch):
    X, y = stripes(300)
    done, totals = [], []

    @contextmanager
    def bar(total):
        totals.append(total)

        def report(text="", *, more=0):
            totals.append(more)
            done.extend([text] * (not more))

        yield report

    monkeypatch.setattr("fbtwsvm._progress.step_bar", bar)
    with mock.patch("fbtwsvm.search.folds.choose_gamma", return_value=1e-3):  # far too small
        FBTWSVMCV(random_state=0, gamma=3, C=3, reg=[0.01], verbose=1).fit(X, y)
    assert len(done) == sum(totals) > totals[0]  # the lists went on beyond an edge


def test_the_result_does_not_depend_on_n_jobs():
    X, y = stripes(300)
    one, two = (FBTWSVMCV(FBTWSVM(random_state=0), **SMALL_GRID, n_jobs=n).fit(X, y) for n in (1, 2))
    assert (one.cv_results_["mean_test_score"] == two.cv_results_["mean_test_score"]).all()
    assert two.best_estimator_.n_jobs == 2


def test_groups_reach_the_folds_and_gamma():
    X, y = stripes(300)
    groups = np.arange(300) // 30
    search = FBTWSVMCV(FBTWSVM(random_state=0), gamma=3, C=[1.0], reg=[0.01], membership=None, cv=GroupKFold(3))
    with mock.patch("fbtwsvm.search.folds.choose_gamma", return_value=1.0) as chosen:
        search.fit(X, y, groups=groups)
    assert (chosen.call_args.args[1].given_groups == groups).all()
    with mock.patch("fbtwsvm.batch.prepare.choose_kernel", return_value=KernelChoice(1.0)) as chosen:
        clone(search).set_params(gamma=None).fit(X, y, groups=groups)
    assert len(chosen.call_args_list) == 4
    for call in chosen.call_args_list:  # three folds and the last fit
        assert len(call.args[1].given_groups) == call.args[1].all.n
    with pytest.raises(ValueError, match="groups"):
        search.fit(X, y)


def test_whole_groups_are_held_out():
    X, y = stripes(300)
    groups = np.random.default_rng(0).integers(9, size=300)
    search = FBTWSVMCV(**SMALL_GRID)
    for train, test in search._splits(X, y, np.arange(300), groups):
        assert set(groups[train]).isdisjoint(groups[test])
    assert search.fit(X, y, groups=groups).n_splits_ == 3
    assert search.set_params(cv=None).fit(X, y, groups=groups).n_splits_ == 5
    with pytest.raises(ValueError, match="5 folds need as many groups, got 4: give cv=4"):
        search.fit(X, y, np.where(groups < 4, 1.0, 0.0), groups=groups)  # rows of weight zero do not count


def test_a_score_of_minus_infinity_is_the_worst():
    X, y = stripes(200)
    scores = iter([0.5, -np.inf, 0.5, 1.0, 0.5, 1.0])  # two candidates in three folds
    search = FBTWSVMCV(
        gamma=[0.1], C=[1.0], reg=[0.01, 0.1], membership=None, scoring=lambda *_: next(scores), refit=False
    )
    assert search.fit(X, y).best_score_ == 0.5


def test_gamma_is_searched_far_above_a_small_automatic_value():
    X, y = stripes(300)
    with mock.patch("fbtwsvm.search.folds.choose_gamma", side_effect=[1e-3, 1.0]):  # "auto", "scale"
        search = FBTWSVMCV(random_state=0, gamma=3, C=[1.0], reg=[0.01], membership=None, refit=False).fit(X, y)
    tried = sorted(set(search.cv_results_["param_gamma"]))
    assert tried[:3] == pytest.approx([5e-4, 1e-3, 2e-3])
    assert {1.0, 8.0} <= set(tried)
    best = search.best_params_["gamma"]
    assert best > 0.1
    assert {best / 2, best * 2} <= set(tried)  # values beside the best were tried as well


def test_search_and_last_fit_decide_by_the_same_rule():
    """One fold that trains on all rows has the score of the last fit on the same test rows."""
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    y = (X[:, 0] + random.normal(0, 1.0, size=120) > 1.2).astype(int)  # unequal classes: offsets matter
    model = FBTWSVM(random_state=0, tol=1e-6)
    search = FBTWSVMCV(model, gamma=[0.3], C=[1.0], reg=[0.01], membership=None, cv=[(np.arange(120), np.arange(120))])
    search.fit(X, y)
    assert search.best_score_ == search.best_estimator_.score(X, y)
    assert search.best_score_ != clone(model).set_params(decision="value", gamma=0.3).fit(X, y).score(X, y)


def board(n, n_noise, seed=0):
    """Return rows of two columns with a checkerboard, and others that tell nothing."""
    X = np.random.default_rng(seed).uniform(0.0, 3.0, size=(n, 2 + n_noise))
    return X, X[:, :2].astype(int).sum(axis=1) % 2


SMALL_SEARCH = {"gamma": 3, "C": [1.0], "reg": [0.01], "membership": None, "random_state": 0}


def test_a_metric_is_learned_in_every_fold_and_given_to_the_last_fit():
    X, y = board(900, 4)
    search = FBTWSVMCV(**SMALL_SEARCH).fit(X, y)
    best = search.best_estimator_
    assert search.best_score_ > 0.9
    assert best.metric_[:2].min() > 5.0 * best.metric_[2:].max()
    np.testing.assert_array_equal(search.best_metric_, best.metric_)
    assert search.n_rounds_ == best.n_rounds_ > 0
    again = FBTWSVM(random_state=0).set_params(**search.best_params_, metric=search.best_metric_).fit(X, y)
    np.testing.assert_array_equal(again.planes_, best.planes_)


def test_a_metric_of_a_fold_does_not_depend_on_its_test_rows():
    X, y = board(900, 4)
    splits = [(np.arange(600), np.arange(600, 900)), (np.arange(300, 900), np.arange(300))]
    folds = [Folds(FBTWSVM(random_state=0), X, labels, np.ones(900), None, splits, None) for labels in (y, y.copy())]
    folds[1].y[600:] = 1 - y[600:]
    assert folds[0].metric("auto", 0) == folds[1].metric("auto", 0) != "none"
    assert folds[0].metric("auto", 1) != folds[1].metric("auto", 1)


def test_metrics_are_searched():
    X, y = board(900, 4)
    search = FBTWSVMCV(**SMALL_SEARCH, metric=["none", "columns"]).fit(X, y)
    tried = search.cv_results_["param_metric"].tolist()
    assert set(tried) == {"none", "columns"}
    best = search.cv_results_["mean_test_score"][np.array(tried) == "none"].max()
    assert search.best_score_ > best + 0.1
    assert search.best_params_["metric"] == "columns"
    assert len(search.best_metric_) == 6
    plot_search(*Figure().subplots(1, 2), search)  # no value of the best is missing among those tried


def test_a_metric_with_the_other_search():
    pytest.importorskip("optuna")
    X, y = board(600, 2)
    search = FBTWSVMCV(**SMALL_SEARCH, metric=["none", "columns"], search="tpe", n_iter=6).fit(X, y)
    assert set(search.cv_results_["param_metric"]) <= {"none", "columns"}


@pytest.mark.parametrize("metric", ["auto", "columns", "none"])
def test_without_a_search_for_gamma_folds_and_last_fit_have_the_metric_of_the_estimator(metric):
    X, y = board(600, 4)
    for gamma in (0.125, "auto"):
        search = FBTWSVMCV(FBTWSVM(gamma=gamma, metric=metric), **{**SMALL_SEARCH, "gamma": None}).fit(X, y)
        wanted = GridSearchCV(FBTWSVM(gamma=gamma, metric=metric), {"C": [1.0]}, cv=search.cv).fit(X, y)
        assert search.best_score_ == pytest.approx(wanted.best_score_, abs=0.03)  # coarser planes, fewer offsets
        np.testing.assert_array_equal(search.best_estimator_.metric_, wanted.best_estimator_.metric_)
        np.testing.assert_allclose(search.feature_importances_.sum(), 1.0)


def test_metrics_that_cannot_be_searched():
    X, y = board(100, 1)
    with pytest.raises(ValueError, match="metric='none': give a list"):
        FBTWSVMCV(metric="none").fit(X, y)
    with pytest.raises(ValueError, match="give it to the estimator"):
        FBTWSVMCV(metric=[[1.0, 1.0, 1.0]]).fit(X, y)
    given = FBTWSVMCV(FBTWSVM(metric=[1.0, 1.0, 0.0]), **SMALL_SEARCH).fit(X, y)
    np.testing.assert_array_equal(given.best_estimator_.metric_, [1.0, 1.0, 0.0])
    assert "metric" not in given.best_params_
    assert given.n_rounds_ == 0
