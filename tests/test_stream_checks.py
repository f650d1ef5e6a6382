"""Properties that every stream has, whatever its settings: a table of settings crossed with a list of checks."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fbtwsvm import FBTWSVM
from fbtwsvm.online.drift import HoeffdingDrift
from helpers import assert_same_answers, state, stream

FOURIER = {"feature_map": "fourier", "gamma": 0.1, "n_components": 15, "warm_up": 40, "random_state": 0}
SETTINGS = {
    "defaults with a Fourier map": FOURIER,
    "landmarks that are renewed": {"gamma": 0.3, "n_components": 20, "warm_up": 15, "random_state": 0},
    "the linear kernel": {"kernel": "linear", "warm_up": 40},
    "a short memory": {**FOURIER, "memory": 3, "second_look": 2},
    "no second look": {**FOURIER, "memory": 20, "second_look": 0},
    "a half-life": {**FOURIER, "half_life": 60.0},
    "all speeds at once": {**FOURIER, "decay": "auto", "memory": 20},
    "the paper's way": {**FOURIER, "statistics": "kept", "accept": "inside", "forget_after": 3, "second_look": 0},
    "every row accepted": {**FOURIER, "accept": "all", "memory": 30, "membership": "none", "decision": "value"},
    "balanced classes": {**FOURIER, "class_weight": "balanced", "membership": "printed", "mu": 0.2},
    "votes on distances": {**FOURIER, "multiclass": "vote", "decision": "distance"},
    "a drift detector": {**FOURIER, "drift_detector": HoeffdingDrift(0.1)},
}
every_setting = pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)

BEFORE, AFTER = 200, 300  # rows learned before a check, and rows in all


def rows(n=AFTER, seed=0):
    """Return three clouds, whose labels turn after half of the rows; "rare" comes once, early."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, n)
    X = random.normal(size=(n, 3)) + 2.0 * random.normal(size=(3, 3))[labels]
    y = np.array(["ant", "bee", "cat"], dtype=object)[np.where(np.arange(n) < n // 2, labels, (labels + 1) % 3)]
    y[50] = "rare"
    return X, y.astype(str)


def learn(model, X, y, size=23):
    return stream(model, X, y, size)


def answers(model, X):
    return model.predict(X), model.predict_proba(X), model.decision_function(X)


@every_setting
@pytest.mark.parametrize("seen", [20, BEFORE])
def test_to_ask_changes_nothing(options, seen):
    X, y = rows()
    model = learn(FBTWSVM(**options), X[:seen], y[:seen])
    before = state(model)
    first = answers(model, X)
    model.score(X, y)
    if seen > 100:
        str(model.memory_report())
    assert state(model) == before
    for one, other in zip(first, answers(model, X), strict=True):
        np.testing.assert_array_equal(one, other)


@every_setting
def test_a_clone_knows_nothing_and_goes_its_own_way(options):
    X, y = rows()
    model = learn(FBTWSVM(**options), X[:BEFORE], y[:BEFORE])
    before = state(model)
    twin = clone(model)
    with pytest.raises(NotFittedError):
        twin.predict(X)
    learn(twin, X[::-1], y[::-1])
    assert state(model) == before
    assert_same_answers(learn(clone(model), X[:BEFORE], y[:BEFORE]), model, X)


@every_setting
def test_a_deep_copy_learns_without_its_original(options):
    X, y = rows()
    model = learn(FBTWSVM(**options), X[:BEFORE], y[:BEFORE])
    before = state(model)
    twin = learn(copy.deepcopy(model), X[BEFORE:], y[BEFORE:]).settle()
    assert state(model) == before
    assert twin.memory_report().seen == AFTER


@every_setting
@pytest.mark.parametrize("seen", [20, BEFORE])
def test_a_pickled_model_answers_and_goes_on_as_if_nothing_had_happened(options, seen):
    X, y = rows()
    model = learn(FBTWSVM(**options), X[:seen], y[:seen])
    twin = pickle.loads(pickle.dumps(model))
    assert_same_answers(model, twin, X)
    for one in (model, twin):
        learn(one, X[seen:], y[seen:], 31)
    assert_same_answers(model, twin, X)
    np.testing.assert_array_equal(model.planes_, twin.planes_)


@every_setting
def test_no_label_is_ever_lost(options):
    """A label that came once, long ago, still has its column, and every row's probabilities add up to one."""
    X, y = rows(600)
    model, seen = FBTWSVM(**options), set()
    for first in range(0, 600, 40):
        chunk = slice(first, first + 40)
        model.partial_fit(X[chunk], y[chunk])
        seen |= set(y[chunk].tolist())
        assert model.classes_.tolist() == sorted(seen)
        probabilities = model.predict_proba(X[:10])
        assert probabilities.shape == (10, len(seen))
        assert (probabilities >= 0.0).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)
    assert "rare" in model.classes_


@every_setting
def test_memory_is_bounded_over_a_longer_stream(options):
    """Three times the rows, and no more bytes: neither by the model's own count nor by that of a pickle."""
    X, y = rows(1800)
    options = {**options, "memory": 10, "second_look": min(5, options.get("second_look", 5))}
    model = learn(FBTWSVM(**options), X[:600], y[:600], 60).settle()
    counted, pickled = model.memory_report().total_bytes, len(pickle.dumps(model))
    report = learn(model, X[600:], y[600:], 60).settle().memory_report()
    assert report.seen == 1800
    limit = 10 + options["second_look"]
    assert np.unique(report.rows["label"], return_counts=True)[1].max() <= limit
    # The stores of kept rows need not have been full; a tenth of the rows since would be more than that.
    one_row = 8 * (model.n_components_ + 2 * len(model.classes_) + 12)
    room = len(report.trust) * limit * len(model.classes_) * one_row
    assert room < 0.1 * len(report.trust) * 1200 * one_row
    assert report.total_bytes <= counted + room
    assert len(pickle.dumps(model)) <= pickled + room


BAD_CALLS = {
    "NaN": lambda X, y: {"X": np.full_like(X, np.nan), "y": y},
    "columns": lambda X, y: {"X": X[:, :2], "y": y},
    "lengths": lambda X, y: {"X": X, "y": y[1:]},
    "negative weights": lambda X, y: {"X": X, "y": y, "sample_weight": -np.ones(len(y))},
    "labels of another kind": lambda X, y: {"X": X, "y": np.arange(len(y))},
    "the same id twice": lambda X, y: {"X": X, "y": y, "ids": ["same"] * len(y)},
    "labels that were not announced": lambda X, y: {"X": X, "y": y, "classes": ["ant"]},
}


@every_setting
@pytest.mark.parametrize("seen", [20, BEFORE])
def test_a_call_that_fails_changes_nothing(options, seen):
    X, y = rows()
    model = learn(FBTWSVM(**options), X[:seen], y[:seen])
    before = state(model)
    for bad in BAD_CALLS.values():
        with pytest.raises(ValueError, match=r".+"):
            model.partial_fit(**bad(X[seen : seen + 30], y[seen : seen + 30]))
        assert state(model) == before
    with pytest.raises(ValueError, match=r".+"):
        model.unlearn(X[seen : seen + 1] + 1e3, np.array(["never seen"]))
    assert state(model) == before


@every_setting
@pytest.mark.parametrize("size", [1, 60])
def test_a_call_that_fails_in_the_midst_of_learning_changes_nothing(options, size, monkeypatch):
    """The solver runs out of memory; the model is as it was, and learns the same chunk when there is room again."""
    X, y = rows()
    model = learn(FBTWSVM(**options), X[:BEFORE], y[:BEFORE])
    twin = pickle.loads(pickle.dumps(model))

    def fail(*_, **__):
        raise MemoryError("no room")

    failed = 0
    for first in range(BEFORE, AFTER, size):
        chunk = slice(first, first + size)
        before = state(model)
        with monkeypatch.context() as patch:
            patch.setattr("fbtwsvm.online.resolve.solve_features", fail)
            try:
                model.partial_fit(X[chunk], y[chunk])
            except MemoryError:
                failed += 1
                assert state(model) == before
                patch.undo()
                model.partial_fit(X[chunk], y[chunk])
        twin.partial_fit(X[chunk], y[chunk])
    assert failed
    assert_same_answers(model, twin, X)
