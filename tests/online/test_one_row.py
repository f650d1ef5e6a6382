"""Single rows: the same model as with chunks, readers that see nothing of a row in the middle, and no copies."""

import pickle
import threading

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from helpers import clouds, state, stream

OPTIONS = {"gamma": 0.1, "n_components": 30, "warm_up": 60, "random_state": 0}


@pytest.fixture(params=[1.0, "auto"])
def begun(request):
    """Return a stream that has learned some rows one by one, and the rows that come next."""
    X, y = clouds(600, 4, seed=3, spread=1.5)
    model = stream(FBTWSVM(**OPTIONS, decay=request.param), X[:200], y[:200], 20)
    return stream(model, X[200:300], y[200:300], 1), X[300:], y[300:]


def single_rows(model, X, y):
    """Yield each row, its label, and whether the row before has left the arguments of the loop for it."""
    for i in range(len(y)):
        one = model_of(model).one_row
        yield X[i : i + 1], y[i : i + 1], one is not None


def test_a_row_writes_into_the_copy_that_readers_do_not_have(begun):
    model, X, y = begun
    seen = 0
    for row, label, kept in single_rows(model, X, y):
        answers = model_of(model).answers
        planes = [part.copy() for part in answers.rule.members()[0][1:]]
        model.partial_fit(row, label)
        np.testing.assert_array_equal(answers.rule.members()[0][1], planes[0])
        seen += kept and model_of(model).one_row is not None
    assert seen > 50


def test_the_two_copies_take_turns_unless_somebody_reads(begun):
    model, X, y = begun
    held, turns, copies = None, 0, 0
    for i, (row, label, _) in enumerate(single_rows(model, X, y)):
        before = model_of(model).one_row
        held = model_of(model).answers if i % 10 == 0 else held  # as a thread that takes long
        value = held.rule.scores(model_of(model).mapping.rows(X[:5]))
        model.partial_fit(row, label)
        np.testing.assert_array_equal(held.rule.scores(held.mapping.rows(X[:5])), value)
        after = model_of(model).one_row
        turns += before is not None and after is before
        copies += before is not None and after is not None and after is not before
    assert turns > 100
    assert copies > 5


def test_planes_that_a_user_has_do_not_change(begun):
    model, X, y = begun
    for row, label, _ in single_rows(model, X[:40], y[:40]):
        planes = model.planes_
        before = planes.copy()
        model.partial_fit(row, label)
        np.testing.assert_array_equal(planes, before)


def test_a_predicted_row_is_learned_as_one_that_was_not(begun):
    """What a prediction has computed of a row is used again."""
    model, X, y = begun
    twin = pickle.loads(pickle.dumps(model))
    for i in range(100):
        model.predict(X[i : i + 1])
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        twin.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(model.predict_proba(X), twin.predict_proba(X), atol=1e-10)


def test_rows_with_weights_and_ids_and_labels_of_text():
    X, y = clouds(400, 3)
    labels, weights = np.array(["a", "b", "c"])[y], np.random.default_rng(0).uniform(0.5, 2.0, 400)
    one, other = (FBTWSVM(**OPTIONS) for _ in range(2))
    stream(one, X, labels, 1, sample_weight=weights, ids=np.arange(400))
    stream(other, X, labels, 50, sample_weight=weights, ids=np.arange(400))
    assert model_of(one).one_row is not None or len(model_of(one).members[0].pending) == 0
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-7)
    assert one.unlearn(X[:5], labels[:5], ids=np.arange(5)).removed == 5


def test_a_heavy_row_is_refused_and_changes_nothing(begun):
    model, X, y = begun
    before = state(model)
    with pytest.raises(ValueError, match="weighs more"):
        model.partial_fit(X[:1], y[:1], sample_weight=[1e30])
    assert state(model) == before
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X[:1] * np.nan, y[:1])
    assert state(model) == before


def test_buffers_may_be_used_again(begun):
    model, X, y = begun
    twin = pickle.loads(pickle.dumps(model))
    buffer = np.empty((1, X.shape[1]))
    for i in range(len(y)):
        buffer[:] = X[i]
        model.partial_fit(buffer, y[i : i + 1])
        twin.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_array_equal(model.predict_proba(X), twin.predict_proba(X))


def test_readers_beside_a_writer_see_whole_rows():
    """Each answer of a thread is that of the model after some row, never of one in the middle."""
    X, y = clouds(900, 3, seed=1)
    model = stream(FBTWSVM(**OPTIONS, decay="auto"), X[:200], y[:200], 20)
    query, valid, found, stop = X[:4], set(), [], threading.Event()
    valid.add(model.predict_proba(query).tobytes())

    def read():
        while not stop.is_set():
            found.append(model.predict_proba(query).tobytes())

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for i in range(200, 900):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        valid.add(model.predict_proba(query).tobytes())
    stop.set()
    for reader in readers:
        reader.join()
    assert len(found) > 20
    assert set(found) <= valid


def test_memory_does_not_grow_by_what_is_kept_for_single_rows(begun):
    model, X, y = begun
    one = model_of(model).inspect().bytes
    for i in range(50):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert model_of(model).inspect().bytes < 1.5 * one


def test_what_is_kept_for_single_rows_are_the_arrays_of_the_model():
    """Also while new landmarks are prepared: the model and its next row would else go different ways."""
    X, y = clouds(1200, 3, n_columns=3, seed=2)
    X[500:] += 6.0  # far from the landmarks
    model = stream(FBTWSVM(**OPTIONS, decay="auto"), X[:300], y[:300], 20)
    prepared, renewed = 0, model_of(model).monitor.since
    for i in range(300, 1200):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        state, one = model_of(model), model_of(model).one_row
        if one is not None:
            side = one.sides[one._front]
            assert side.watch.slopes is state.trust.slopes
            assert side.watch.errors is state.trust.errors
            assert side.watch.idle is state.trust.idle
            assert side.watch.residual is state.monitor.residual
            assert side.watch.weights is state.trust.weights
            assert side.watch.clock[0] == state.clock
            for member, arrays in zip(state.members, side.members, strict=True):
                assert arrays.planes is member.planes
                assert arrays.roots is member.roots.matrices
                assert arrays.sums is member.moments.sums
                np.testing.assert_array_equal(arrays.alive, member.alive)
                assert arrays.counters.tolist() == [member.pending.count, member.clock, member.n_rows]
            prepared += state.preparation is not None
    assert prepared > 5
    assert model_of(model).monitor.since > renewed


def test_what_a_prediction_has_computed_is_used_for_the_same_planes_only():
    """The same row is learned, another one, and the same again: its chances are no longer those of the prediction."""
    X, y = clouds(500, 3, seed=4)
    model = stream(FBTWSVM(**OPTIONS, decay="auto"), X[:300], y[:300], 20)
    twin = pickle.loads(pickle.dumps(model))
    for i in range(300, 400, 2):
        order = [i, i + 1, i]
        model.predict(X[i : i + 1])
        for k in order:
            model.partial_fit(X[k : k + 1], y[k : k + 1])
            twin.partial_fit(X[k : k + 1], y[k : k + 1])
    np.testing.assert_allclose(model_of(model).trust.weights, model_of(twin).trust.weights, atol=1e-12)


def test_a_usual_weight_may_be_too_heavy():
    X, y = clouds(300, 2)
    model = FBTWSVM(**OPTIONS, reg=1e-14)
    stream(model, X, y, 50, sample_weight=np.full(300, 1e-13))
    for size in (1, 2):
        with pytest.raises(ValueError, match="weighs more"):
            model.partial_fit(X[:size], y[:size])


@pytest.mark.parametrize("part", ["planes", "weights"])
def test_parts_of_a_rule_that_somebody_has_do_not_change(part):
    X, y = clouds(400, 3, seed=4)
    model = stream(FBTWSVM(**OPTIONS, decay="auto"), X[:300], y[:300], 20)
    for i in range(300, 360):
        rule = model_of(model).answers.rule
        held = rule.weights if part == "weights" else rule.parts[0]
        del rule
        before = held.copy()
        for k in range(3):
            model.partial_fit(X[i + k : i + k + 1], y[i + k : i + k + 1])
        np.testing.assert_array_equal(held, before)
