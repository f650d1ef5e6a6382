"""What a call has changed in place is restored: attributes, and parts of arrays."""

import numpy as np

from fbtwsvm.online.undo import Undo


class Thing:
    """Something with attributes."""

    def __init__(self):
        self.array, self.number = np.arange(6.0).reshape(2, 3), 1


def test_attributes_and_parts_are_restored():
    thing, undo = Thing(), Undo()
    original = thing.array
    undo.keep(thing, "array")
    assert thing.array is not original
    thing.array[:], thing.number = -1.0, 2
    part = np.zeros((2, 2))
    undo.keep_part(part, 0)
    part[0] = 5.0
    for _ in range(2):
        undo.restore()
        assert thing.array is original
        assert thing.number == 1
        np.testing.assert_array_equal(part, 0.0)


def test_of_parts_that_overlap_the_first_is_right():
    undo, array = Undo(), np.zeros((2, 3))
    undo.keep_part(array, (slice(None), 1))
    array[:, 1] = 1.0
    undo.keep_part(array, (slice(None), np.int64(1)))
    undo.keep_part(array, 0)
    array[:] = 2.0
    undo.restore()
    np.testing.assert_array_equal(array[:, 1], 0.0)


def test_what_was_changed_before_is_undone_last():
    order, thing = [], Thing()
    undo = Undo(lambda: order.append(thing.number))
    undo.keep(thing)
    thing.number = 7
    undo.restore()
    assert order == [1]
