"""What a stream promises to users of scikit-learn: parameters, classes, probabilities."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import fbtwsvm
from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.model.decision import Decision, PairRule
from helpers import FOURIER, clouds, state, stream


def test_parameters_cannot_change_in_the_middle_of_a_stream():
    X, y = clouds(300)
    model = stream(FBTWSVM(warm_up=100, **FOURIER), X[:200], y[:200], 50)
    before = state(model)
    for change in ({"C": 10.0}, {"half_life": 50.0}, {"decision": "value"}, {"memory": 5}, {"gamma": 0.5}):
        old = {name: model.get_params()[name] for name in change}
        model.set_params(**change)
        for call in (lambda: model.partial_fit(X[200:], y[200:]), model.settle, lambda: model.unlearn(X[:1], y[:1])):
            with pytest.raises(ValueError, match=rf"{next(iter(change))} was .* when the model began to learn"):
                call()
        model.predict(X)
        model.set_params(**old)
    assert state(model) == before
    model.partial_fit(X[200:], y[200:])


def test_parameters_of_the_solver_can_change():
    X, y = clouds(600, 2, spread=2.5)
    model = stream(FBTWSVM(warm_up=100, tol=1e-2, **FOURIER), X, y, 100).settle()
    loose = model.duality_gap_.max()
    model.set_params(tol=1e-8, max_iter=10**6, n_jobs=2, verbose=0).settle()
    assert model.duality_gap_.max() <= 1e-8 < loose
    again = pickle.loads(pickle.dumps(model)).set_params(C=3.0)
    with pytest.raises(ValueError, match=r"C was 1\.0"):
        again.settle()


def test_parameters_may_change_before_the_stream_begins():
    X, y = clouds(300)
    model = FBTWSVM(warm_up=100, **FOURIER).partial_fit(X[:20], y[:20])
    stream(model.set_params(half_life=50.0), X[20:], y[20:], 40)
    fitted = FBTWSVM(**FOURIER).fit(X, y)
    fitted.set_params(half_life=50.0, memory=10).partial_fit(X[:10], y[:10])
    for policy in (model_of(model).policies[0], model_of(fitted).policies[0]):
        assert policy.decay == 0.5 ** (1.0 / 50.0)
    assert model_of(fitted).policies[0].memory == 10


@pytest.mark.parametrize("warm_up", [20, 500])
def test_classes_bind(warm_up, tmp_path):
    X, y = clouds(240, 3)
    names = np.array(["ant", "bee", "cat"])[y]
    first = names != "bee"
    model = FBTWSVM(warm_up=warm_up, **FOURIER).partial_fit(
        X[first][:60], names[first][:60], classes=["cat", "bee", "ant", "dog"]
    )
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (240, 4)
    assert not probabilities[:, [1, 3]].any()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.isneginf(model.predict_log_proba(X)[:, 1]).all()
    assert (model.classes_[model.decision_function(X).argmax(axis=1)] == model.predict(X)).all()
    assert model.planes_.shape[:2] == model.duality_gap_.shape == (4, 4)
    before = state(model)
    for arguments in ({}, {"classes": ["ant", "bee", "cat", "dog"]}):
        with pytest.raises(ValueError, match="not in the classes"):
            model.partial_fit(X[:2], ["ant", "eel"], **arguments)
    with pytest.raises(ValueError, match="bind"):
        model.partial_fit(X[:2], ["ant", "eel"], classes=["ant", "eel"])
    assert state(model) == before
    model.partial_fit(X, names)
    assert model.predict_proba(X)[:, 1].any()
    fbtwsvm.save(model, tmp_path / "m.fbt")
    for copy in (fbtwsvm.load(tmp_path / "m.fbt"), pickle.loads(pickle.dumps(model))):
        assert copy.classes_.tolist() == model.classes_.tolist()
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        with pytest.raises(ValueError, match="not in the classes"):
            copy.partial_fit(X[:1], ["eel"])


def test_two_promised_classes_and_one_seen():
    X, _ = clouds(40)
    model = FBTWSVM().partial_fit(X, np.ones(40, dtype=int), classes=[0, 1])
    assert model.decision_function(X).shape == (40,)
    assert (model.decision_function(X) > 0).all()
    assert (model.predict_proba(X) == [0.0, 1.0]).all()


def test_classes_given_later_must_hold_those_learned():
    X, y = clouds(100)
    model = FBTWSVM(**FOURIER).partial_fit(X, y)
    with pytest.raises(ValueError, match="has no 2"):
        model.partial_fit(X[:5], [0] * 5, classes=[0, 1])
    model.partial_fit(X[:5], y[:5], classes=[0, 1, 2, 7])
    assert model.classes_.tolist() == [0, 1, 2, 7]
    assert model.fit(X, y).classes_.tolist() == [0, 1, 2]


def test_log_probabilities():
    X, y = clouds(200)
    model = FBTWSVM(gamma=0.1).fit(X, y)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))


def test_errors_name_labels():
    X, y = clouds(300)
    names = np.array(["ant", "bee", "cat"])[y]
    model = stream(FBTWSVM(warm_up=100, memory=None, second_look=1000, **FOURIER), X, names, 50)
    with pytest.raises(ValueError, match=r"row 0 \(label 'bee'\)"):
        model.unlearn(X[:1] + 3.0, ["bee"])


@pytest.mark.parametrize("n_classes", [101, 130])
def test_probabilities_of_very_many_classes_are_near_those_of_all_pairs(n_classes, monkeypatch):
    """Beyond a hundred classes only the best of a row are coupled."""
    random = np.random.default_rng(0)
    centres = 1.3 * random.normal(size=(n_classes, 8))
    y = np.repeat(np.arange(n_classes), 12)
    X = centres[y] + 0.5 * random.normal(size=(len(y), 8))
    model = FBTWSVM(gamma=0.1, n_components=60, feature_map="fourier", random_state=0).fit(X, y)
    few = model.predict_proba(X)
    np.testing.assert_allclose(few.sum(axis=1), 1.0)
    np.testing.assert_array_equal(few.argmax(axis=1), model.predict(X))
    monkeypatch.setattr("fbtwsvm.model.decision.VERY_MANY_CLASSES", 10**9)
    every = model.predict_proba(X)
    np.testing.assert_array_equal(few.argmax(axis=1), every.argmax(axis=1))
    assert np.abs(few - every).mean() < 1e-3
    truth = np.arange(len(y)), y
    assert -np.log(few[truth]).mean() < -np.log(every[truth]).mean() + 0.05


def test_a_thousand_classes():
    """2,000 rows took more than a minute; the number of plane values for each row tells, not the clock."""
    random = np.random.default_rng(0)
    planes = random.normal(size=(1000, 1000, 5)).astype(np.float32)
    rule = PairRule(Decision.plain(1000, "dag", "calibrated"), planes)
    rows = random.normal(size=(2000, 5)).astype(np.float32)
    probabilities = rule.probabilities(rows)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), rule.winners(rows))


@pytest.mark.parametrize("seen", [30, 150])
def test_rows_without_weight_are_skipped(seen):
    X, y = clouds(200)
    model = FBTWSVM(warm_up=100, **FOURIER).partial_fit(X[:seen], y[:seen])
    model.partial_fit(X[seen:], y[seen:], sample_weight=np.zeros(200 - seen))
    assert model.inspect().seen == seen
    with pytest.raises(ValueError, match="no row to learn from"):
        FBTWSVM().partial_fit(X, y, sample_weight=np.zeros(200))


def test_parameters_of_the_map_cannot_change_after_a_fit():
    X, y = clouds(300)
    for change in ({"gamma": 5.0}, {"n_components": 7}, {"kernel": "linear"}, {"feature_map": "nystroem"}):
        model = FBTWSVM(**FOURIER).fit(X, y).set_params(**change)
        with pytest.raises(ValueError, match=f"{next(iter(change))} was"):
            model.partial_fit(X[:5], y[:5])
    exact = FBTWSVM(feature_map="exact", gamma=0.1).fit(X, y)
    exact.set_params(feature_map="auto", n_components=20).partial_fit(X[:5], y[:5])
    assert exact.n_components_ == 20


def test_a_merge_keeps_the_promise_of_classes():
    X, y = clouds(400, 3)
    options = {"warm_up": 60, **FOURIER}
    model = FBTWSVM(**options).partial_fit(X[:200], y[:200], classes=[0, 1, 2, 3])
    model.merge(FBTWSVM(**options).partial_fit(X[200:], y[200:]))
    assert model.classes_.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="has the class 9"):
        model.merge(FBTWSVM(**options).partial_fit(X[200:], np.where(y[200:] == 2, 9, y[200:])))


def test_columns_written_by_others_do_not_outlive_a_fit():
    X, y = clouds(100)
    model = FBTWSVM(gamma=0.1).fit(X, y)
    model.n_features_in_ = 3
    model.fit(X[:, :2], y)
    assert model.n_features_in_ == 2
    assert len(model.predict(X[:, :2])) == 100


def test_a_stream_that_goes_on_from_a_fit_warns_too():
    X, y = clouds(400, 2, spread=2.5)
    model = FBTWSVM(gamma=0.1, n_components=30, feature_map="fourier", random_state=0).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        model.set_params(max_iter=1, tol=1e-9).partial_fit(X[:1], y[:1])


@pytest.mark.parametrize("first", ["dense", "sparse"])
def test_dense_and_sparse_rows_may_come_in_one_stream(first):
    X, y = clouds(600, 2)
    models = []
    for mixed in (False, True):
        model = FBTWSVM(gamma=0.1, n_components=30, warm_up=100, random_state=0)
        for start in range(0, 600, 20):
            sparse = (first == "sparse") != (mixed and start % 60 == 40)
            rows = X[start : start + 20]
            model.partial_fit(sp.csr_matrix(rows) if sparse else rows, y[start : start + 20])
        models.append(model)
    np.testing.assert_allclose(models[0].predict_proba(X), models[1].predict_proba(X), atol=1e-9)
