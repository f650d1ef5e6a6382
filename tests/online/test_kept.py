"""Rows that a stream keeps: joined, sorted, and carried along when classes come and go."""

import numpy as np
import pytest
import scipy.sparse as sp

from fbtwsvm.online import axes
from fbtwsvm.online.kept import Chunk, Kept
from fbtwsvm.online.undo import Undo


def kept(labels, n_classes=2, raw=None, first=0):
    n = len(labels)
    rows, times, ids = np.arange(3.0 * n).reshape(n, 3) + first, np.arange(n) + first, np.full(n, None, dtype=object)
    chunk = Chunk(rows, np.asarray(labels), np.ones(n), times, ids, raw)
    duals = np.arange(float(n * n_classes)).reshape(n, n_classes)
    return Kept.of(chunk, np.full(n, 2.0), duals, duals + 1.0, np.zeros(n, dtype=bool))


def test_rows_sorted_by_class_stay_in_the_order_of_their_arrival():
    assert kept([1, 0, 1, 0]).by_class().times.tolist() == [1, 3, 0, 2]
    already = kept([0, 0, 1])
    assert already.by_class() is already


@pytest.mark.parametrize("sparse", [False, True])
def test_stores_are_joined_in_order_with_the_rows_as_they_came(sparse):
    raw = np.eye(2)
    one, other = (kept([0, 1], raw=sp.csr_array(raw) if sparse else raw, first=first) for first in (0, 10))
    both = Kept.empty(2, 3, np.dtype(float)).join(one, other)
    assert both.times.tolist() == [0, 1, 10, 11]
    assert both.raw.shape == (4, 2)
    assert one.join(kept([], first=5)) is one
    assert kept([0]).join(kept([1])).raw is None


def test_a_class_that_comes_and_goes_leaves_rows_and_duals_in_their_place():
    store = kept([0, 1, 1])
    wider = store.insert_class(1)
    assert wider.labels.tolist() == [0, 2, 2]
    assert not wider.alpha[:, 1].any()
    np.testing.assert_array_equal(wider.delete_class(1).alpha, store.alpha)
    assert wider.delete_class(2).labels.tolist() == [0]


class Thing:
    """Something with an array over pairs of classes, and one over classes."""

    CLASS_AXES = {"pairs": (0, 1), "ones": (0,)}  # noqa: RUF012
    NEW_CLASS = {"ones": 1.0}  # noqa: RUF012

    def __init__(self):
        self.pairs, self.ones = np.arange(8.0).reshape(2, 2, 2), np.full(2, 5.0)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_every_axis_over_classes_makes_room_for_a_new_class(k):
    thing = Thing()
    before = thing.pairs.copy()
    axes.insert_class(thing, k)
    assert thing.pairs.shape == (3, 3, 2)
    assert not thing.pairs[k].any()
    assert not thing.pairs[:, k].any()
    assert thing.ones[k] == 1.0
    axes.delete_class(thing, k)
    np.testing.assert_array_equal(thing.pairs, before)
    assert thing.ones.tolist() == [5.0, 5.0]


def test_undo_puts_back_arrays_lists_numbers_and_parts():
    thing, names = Thing(), []
    thing.names, thing.number, pairs = names, 3, thing.pairs
    undo = Undo()
    undo.keep(thing, "ones", "names")
    undo.keep_part(pairs, 1)
    read = thing.ones
    thing.ones *= 2.0
    thing.names.append("new")
    thing.number = 4
    pairs[1] = -1.0
    assert names == []  # those who read the old list or array see no change
    for _ in range(2):  # an interrupted restore can be repeated
        undo.restore()
    assert read.tolist() == [10.0, 10.0]
    assert (thing.ones.tolist(), thing.number, thing.names) == ([5.0, 5.0], 3, [])
    assert thing.names is names
    np.testing.assert_array_equal(thing.pairs, np.arange(8.0).reshape(2, 2, 2))
