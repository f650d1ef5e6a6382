"""One machine of a stream: its copy, its upkeep, and the two ways of learning a few rows."""

import pickle

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.online import absorb
from fbtwsvm.online.absorb import next_classes
from fbtwsvm.online.resolve import resolve
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
    twin.moments.grams[0] = twin.moments.grams[0] + 1.0
    twin.moments.sums += 1.0
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
    machine.seen[:], machine.since_solve[:], machine.solved_at[:] = 40, 8, machine.clock
    assert next_classes(machine, machine.max_lag).tolist() == []
    machine.since_solve[1] = 19
    assert next_classes(machine, machine.max_lag).tolist() == []
    machine.since_solve[1] = 20
    assert next_classes(machine, machine.max_lag).tolist() == [1]
    machine.solved_at[2] = machine.clock - machine.max_lag
    assert next_classes(machine, machine.max_lag).tolist() == [1, 2]  # one that has grown comes first
    machine.since_solve[:] = 8, 8, 0
    assert next_classes(machine, machine.max_lag).tolist() == [2]


def test_others_that_are_half_of_the_way_are_solved_along(machine):
    machine.seen[:], machine.since_solve[:], machine.solved_at[:] = 40, (20, 10, 9), machine.clock
    assert next_classes(machine, machine.max_lag).tolist() == [0, 1]
    machine.seen[0], machine.since_solve[0] = 4, 2  # a new class is due after every few rows
    assert next_classes(machine, machine.max_lag).tolist() == [0]


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_classes_that_wait_have_their_turn(machine, at_once, monkeypatch):
    n_columns = machine.planes.shape[2]
    monkeypatch.setattr(absorb, "_PIECE", at_once * n_columns * (n_columns + len(machine.kept) // 16))
    machine.since_solve[:] = 0
    machine.solved_at[:] = machine.clock - machine.max_lag - np.array([0, 2, 1])
    found = []
    while len(due := next_classes(machine, machine.max_lag)):
        assert len(due) <= at_once
        found += due.tolist()
        resolve(machine, due)
    assert found == [1, 2, 0]


@pytest.mark.parametrize("half_life", [10.0, 33.3, 100.0, 1000.0])
def test_the_longest_lag_is_ten_half_lives_or_a_thousand_rows(half_life):
    X, y = clouds(60)
    model = FBTWSVM(**FOURIER, warm_up=20, half_life=half_life).partial_fit(X, y)
    assert model_of(model).members[0].max_lag == min(1000, round(10 * half_life))


def test_a_late_update_of_a_root_changes_nothing_that_is_pickled(machine):
    """The update of the last row is late: a call that learns one row does not copy its root."""
    assert (machine.roots.low_ranks == -1).all()
    before = pickle.dumps(machine.roots)
    place = machine.roots.late_place.copy()
    assert place[0] >= 0
    machine.roots.update_late()
    assert machine.roots.late_place[0] == -1
    assert pickle.dumps(machine.roots) == before  # it has the same meaning
