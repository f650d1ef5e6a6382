"""One machine of a stream: its copy, its upkeep, and the two ways of learning a few rows."""

import pickle

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.online.model import StreamModel
from helpers import FOURIER, clouds, stream

OPTIONS = {**FOURIER, "warm_up": 60}


@pytest.fixture
def machine():
    """Return a machine of three classes, of which some rows are forgotten and some pending."""
    X, y = clouds(230, spread=2.0)
    return model_of(stream(FBTWSVM(**OPTIONS, memory=10, second_look=2), X, y, 23)).members[0]


def test_a_copy_shares_kept_rows_and_nothing_that_changes(machine):
    before, twin = pickle.dumps(machine), machine.copy()
    assert twin.kept is machine.kept
    twin.planes += 1.0
    twin.moments.grams += 1.0
    twin.forgotten.dual_sums += 1.0
    twin.flush()
    assert pickle.dumps(machine) == before


def test_a_class_that_comes_and_goes_leaves_the_machine_as_it_was(machine):
    machine.flush()
    twin = machine.copy()
    twin.insert_class(1, twin.settings)
    assert twin.planes.shape[:2] == (4, 4)
    twin.delete_class(1, machine.settings)
    for name in machine.CLASS_AXES:
        np.testing.assert_array_equal(getattr(twin, name), getattr(machine, name))
    np.testing.assert_array_equal(twin.kept.alpha, machine.kept.alpha)
    np.testing.assert_array_equal(twin.forgotten.dual_sums, machine.forgotten.dual_sums)


def test_a_class_is_due_when_it_has_grown_by_half(machine):
    left = max(1, machine.seen[0] // 2) - machine.since_solve[0]
    assert machine.room(np.zeros(10_000, dtype=int)) == left
    assert machine.room(np.array([0])) == (1 if left <= 1 else 2)


@pytest.mark.parametrize("decay", [1.0, "auto"])
def test_rows_learned_in_place_are_learned_as_on_a_copy(decay, monkeypatch):
    X, y = clouds(260)
    one = stream(FBTWSVM(**OPTIONS, decay=decay), X[:200], y[:200], 50)
    other = pickle.loads(pickle.dumps(one))
    stream(one, X[200:], y[200:], 1)
    monkeypatch.setattr(StreamModel, "_fits_in_place", lambda *_: False)
    stream(other, X[200:], y[200:], 1)
    np.testing.assert_allclose(one.planes_, other.planes_, atol=1e-12)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-12)
