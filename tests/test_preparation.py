"""Models that are prepared in pieces while another one answers: at the end of the warm-up, and with new landmarks."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

import fbtwsvm
import fbtwsvm.online.model as stream_module
from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.online.drift import HoeffdingDrift
from helpers import assert_nearly_same_answers, assert_same_answers, clouds, state, stream

OPTIONS = {"gamma": 0.1, "n_components": 40, "warm_up": 100, "random_state": 0}


def moving(n=700, n_columns=4):
    """Return rows that move away from their first landmarks."""
    X, y = clouds(n, 4, n_columns=n_columns, seed=3, spread=1.5)
    X[210:, 1] += 6.0
    return X, y


def until_prepared(model, X, y, first=0):
    """Learn rows one by one until a model is in preparation; return the number of rows learned."""
    for i in range(first, len(y)):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        if model_of(model).preparation is not None:
            return i + 1
    raise AssertionError("Nothing was prepared.")


def prepared(which, **options):
    """Return a model that is prepared a few rows ago, at the end of its warm-up or for new landmarks; rows, number."""
    X, y = moving()
    model = FBTWSVM(**{**OPTIONS, **options})
    n = until_prepared(model, X, y)
    if which == "landmarks":
        while model_of(model).preparation is not None:
            model.partial_fit(X[n : n + 1], y[n : n + 1])
            n += 1
        n = until_prepared(model, X, y, n)
    for _ in range(3):
        model.partial_fit(X[n : n + 1], y[n : n + 1])
        n += 1
    assert model_of(model).preparation is not None
    return model, X, y, n


BOTH = pytest.mark.parametrize("which", ["warm-up", "landmarks"])


@BOTH
@pytest.mark.parametrize("decay", [1.0, "auto"])
def test_copies_and_pickles_go_on_alike(which, decay):
    model, X, y, n = prepared(which, decay=decay)
    others = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)]
    for each in (model, *others):
        stream(each, X[n : n + 150], y[n : n + 150], 1)
    for other in others:
        assert_same_answers(model, other, X)


@BOTH
def test_a_shallow_copy_goes_its_own_way(which):
    model, X, y, n = prepared(which)
    alone, other = pickle.loads(pickle.dumps(model)), copy.copy(model)
    for i in range(n, n + 60):
        for each in (model, alone):
            each.partial_fit(X[i : i + 1], y[i : i + 1])
        other.partial_fit(X[i - n : i - n + 1] + 1.0, y[i - n : i - n + 1] + 5)
    assert_same_answers(model, alone, X)
    assert set(other.classes_) >= {5, 6, 7, 8}


@BOTH
def test_what_is_saved_is_finished(which, tmp_path):
    model, X, y, n = prepared(which)
    fbtwsvm.save(model, tmp_path / "m.fbt")
    loaded = fbtwsvm.load(tmp_path / "m.fbt")
    assert model_of(loaded).preparation is None
    for each in (model, loaded):
        stream(each, X[n : n + 100], y[n : n + 100], 1)
    assert_nearly_same_answers(model, loaded, X)


@BOTH
@pytest.mark.parametrize("decay", [1.0, "auto"])
@pytest.mark.parametrize("place", ["learn_rows", "resolve", "_follow_tests"])
def test_a_call_that_fails_is_undone(which, decay, place, monkeypatch):
    model, X, y, n = prepared(which, decay=decay)
    twin, before = pickle.loads(pickle.dumps(model)), state(model)
    owner = stream_module.StreamModel if place.startswith("_") else stream_module
    original = getattr(owner, place)

    def fail(*arguments, **options):
        original(*arguments, **options)
        raise MemoryError

    monkeypatch.setattr(owner, place, fail)
    failed = 0
    for _ in range(3):
        try:
            model.partial_fit(X[n : n + 1], y[n : n + 1] + 9)  # also a new class
        except MemoryError:
            failed += 1
    monkeypatch.undo()
    assert failed == 3
    assert state(model) == before
    for each in (model, twin):
        stream(each, X[n : n + 80], y[n : n + 80], 1)
    assert_same_answers(model, twin, X)


def test_a_buffer_can_be_used_again():
    X, y = moving()
    one, other = FBTWSVM(**OPTIONS), FBTWSVM(**OPTIONS)
    row, label = np.empty((1, 4)), np.empty(1, dtype=y.dtype)
    for i in range(500):
        row[:], label[:] = X[i], y[i]
        one.partial_fit(row, label)
        row[:], label[:] = 1e3, 0
        other.partial_fit(X[i : i + 1].copy(), y[i : i + 1].copy())
    assert_same_answers(one, other, X)


def test_parameters_of_the_solver_change_while_a_model_is_prepared():
    model, X, y, n = prepared("warm-up", tol=0.1)
    model.set_params(tol=1e-7, max_iter=100_000)
    stream(model, X[n : n + 200], y[n : n + 200], 1).settle()
    assert model_of(model).settings.options.tol == 1e-7
    assert model.duality_gap_.max() <= 1e-7


@pytest.mark.parametrize("options", [{}, {"decay": "auto"}, {"memory": 15}, {"half_life": 300.0}])
def test_sums_of_kept_rows_survive_new_landmarks(options):
    X, y = moving()
    X[400:, 2] -= 6.0
    model = stream(FBTWSVM(**OPTIONS, statistics="kept", **options), X, y, 1)
    assert model_of(model).monitor.since > 200
    for member in (each.copy() for each in model_of(model).members):
        member.flush()
        for k in range(4):
            assert member.moments.grams[k][-1, -1] == pytest.approx(member.moments.counts[k], rel=1e-6)


def test_a_block_that_needs_new_landmarks_keeps_the_detector():
    X, y = clouds(4000, 3, n_columns=4, seed=1)
    model = FBTWSVM(**OPTIONS, drift_detector=HoeffdingDrift()).partial_fit(X[:600], y[:600])
    model.partial_fit(X[600:2100] + 8.0, y[600:2100])
    stream_model = model_of(model)
    assert stream_model.detector is not None
    assert stream_model.answering
    since = stream_model.monitor.since
    stream(model, X[2100:3000] - 8.0, y[2100:3000], 1)
    assert model_of(model).monitor.since > since


@pytest.mark.parametrize("decay", [1.0, "auto"])
def test_the_first_row_of_a_class_does_not_silence_the_others(decay):
    X, y = clouds(1205, 5, n_columns=4, seed=2)
    model = stream(FBTWSVM(n_components=60, warm_up=200, decay=decay, random_state=0), X[:1200], y[:1200], 50)
    before = model.score(X, y)
    model.partial_fit(X[1200:1201] + 10.0, [5])
    assert model.score(X, y) > before - 0.05


def test_a_row_that_is_too_heavy_for_the_map_does_not_block_the_stream():
    X, y = clouds(300, 2, n_columns=3)
    model = FBTWSVM(feature_map=PolynomialFeatures(4, include_bias=False), warm_up=200, random_state=0)
    stream(model, X[:205], y[:205], 5)
    model.partial_fit(X[205:206] * 1e6, y[205:206])
    with pytest.warns(UserWarning, match="left out"):
        stream(model, X[206:], y[206:], 1)
    assert model.inspect().stage == "stream"


@pytest.mark.parametrize("first", [100, 150, 400])
def test_a_large_first_chunk_gives_the_same_model_in_the_end(first):
    X, y = moving(900)
    one, other = FBTWSVM(**OPTIONS), FBTWSVM(**OPTIONS).partial_fit(X[:first], y[:first])
    stream(one, X, y, 1)
    stream(other, X[first:], y[first:], 1)
    assert model_of(one).monitor.since == model_of(other).monitor.since > 200
    assert_nearly_same_answers(one, other, X)
