"""The store of rows that were tested before they were learned: the newest go over the oldest."""

import numpy as np
import pytest

from fbtwsvm.online import calibration
from fbtwsvm.online.calibration import CalibrationRows

SIZE = 16  # the least that is remembered of a class


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(calibration, "_PER_CLASS", SIZE)


def add(store, label, times):
    """Add rows of one class, whose values tell their time: near is the time, far its negative, plus the opponent."""
    times = np.asarray(times)
    values = times[:, None] + 0.1 * np.arange(len(store.next)) + 0.05
    store.add(np.full(len(times), label), times, values, -values)


def remembered(store, label):
    """Return the times of the rows of a class that are remembered; checks that their values are theirs."""
    filled = store.times[label] >= 0
    times = store.times[label, filled]
    values = times[:, None] + 0.1 * np.arange(len(store.next)) + 0.05
    np.testing.assert_allclose(store.near[label, filled], values)
    np.testing.assert_allclose(store.far[label, filled], -values)
    assert not store.near[label, ~filled].any()
    return sorted(times.tolist())


@pytest.mark.parametrize("size", [1, 3, 7, 16, 40])
def test_the_newest_rows_go_over_the_oldest(size):
    store = CalibrationRows(2)
    for first in range(0, 40, size):
        add(store, 1, np.arange(first, min(first + size, 40)))
    assert remembered(store, 1) == list(range(40 - SIZE, 40))
    assert remembered(store, 0) == []


def test_rows_of_mixed_classes_find_their_rings():
    store = CalibrationRows(2)
    labels, times = np.array([1, 0, 1, 0]), np.array([5, 6, 7, 8])
    values = times[:, None] + 0.1 * np.arange(2) + 0.05
    store.add(labels, times, values, -values)
    assert (remembered(store, 0), remembered(store, 1)) == ([6, 8], [5, 7])


def test_rows_of_a_class_without_planes_say_nothing():
    store = CalibrationRows(2)
    values = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    far = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    store.add(np.zeros(3, dtype=int), np.array([1, 2, 3]), values, far)
    assert store.times[0, store.times[0] >= 0].tolist() == [3]
    assert store.new_rows == 1


def test_removed_rows_leave_nothing_behind():
    store = CalibrationRows(2)
    add(store, 0, np.arange(10))
    add(store, 1, np.arange(10, 20))
    store.remove(np.array([3, 4, 15, 99]))
    assert remembered(store, 0) == [0, 1, 2, 5, 6, 7, 8, 9]
    assert remembered(store, 1) == [10, 11, 12, 13, 14, 16, 17, 18, 19]
    add(store, 0, np.arange(20, 40))
    assert remembered(store, 0) == list(range(24, 40))


def test_offsets_are_due_when_a_quarter_is_new():
    store = CalibrationRows(2)
    add(store, 0, np.arange(3))
    assert not store.due()
    add(store, 0, [3])
    assert store.due()  # 4 of at least 16
    store.new_rows = 0
    add(store, 1, np.arange(100, 116))
    store.new_rows = 4
    assert not store.due()  # 4 of 20
    store.new_rows = 5
    assert store.due()


def test_a_new_class_moves_the_others_and_has_nothing_yet():
    store = CalibrationRows(2)
    add(store, 0, np.arange(20))
    add(store, 1, np.arange(50, 53))
    twin = store.rearranged(np.array([0, -1, 1]))
    assert sorted(twin.times[0].tolist()) == list(range(4, 20))
    assert twin.times[2, twin.times[2] >= 0].tolist() == [50, 51, 52]
    assert (twin.times[1] == -1).all()
    times = twin.times[0]
    np.testing.assert_allclose(twin.near[0], np.stack([times + 0.05, 0.0 * times, times + 0.15], axis=1))
    np.testing.assert_allclose(twin.far[0], -twin.near[0])


@pytest.mark.parametrize("n_before", [5, 16, 21])
def test_the_oldest_still_go_first_after_a_rearrangement(n_before):
    store = CalibrationRows(2)
    add(store, 0, np.arange(n_before))
    twin = store.rearranged(np.array([1, 0]))
    add(twin, 1, np.arange(100, 110))
    expected = (list(range(n_before)) + list(range(100, 110)))[-SIZE:]
    assert sorted(twin.times[1, twin.times[1] >= 0].tolist()) == expected


def test_a_smaller_ring_keeps_the_newest_and_a_larger_one_has_room(monkeypatch):
    monkeypatch.setattr(calibration, "_PER_CLASS", 64)
    monkeypatch.setattr(calibration, "_MOST_VALUES", 2 * 2**2 * 40)  # 40 rows for each of two classes, 17 of three
    store = CalibrationRows(2)
    assert store.times.shape == (2, 40)
    add(store, 0, np.arange(50))
    smaller = store.rearranged(np.array([0, 1, -1]))
    assert smaller.times.shape == (3, 17)
    assert sorted(smaller.times[0].tolist()) == list(range(33, 50))
    larger = smaller.rearranged(np.array([0, 1]))
    add(larger, 0, np.arange(100, 123))
    assert sorted(larger.times[0].tolist()) == [*range(33, 50), *range(100, 123)]
    add(larger, 0, [200])
    assert 33 not in larger.times[0]
