"""FBTWSVMCV: scikit-learn's conventions, refit, refusals."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fbtwsvm import FBTWSVM, FBTWSVMCV

X, y = load_digits(return_X_y=True)
X, y = X[:500] / 16.0, y[:500]


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
