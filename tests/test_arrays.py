"""How many bytes the arrays within a thing take."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from fbtwsvm._arrays import array_bytes

SHARED = np.zeros(10)
SPARSE = sp.random_array((20, 30), density=0.1, format="csr", random_state=0)
NAMED = {"first": np.zeros(2), "second": np.zeros(3)}


@pytest.mark.parametrize(
    ("thing", "size"),
    [
        (np.zeros((3, 4), dtype=np.float32), 48),
        *((nothing, 0) for nothing in (3, "text", None, [], {}, SimpleNamespace())),
        (SimpleNamespace(parts=[np.zeros(2), (np.zeros(3), SimpleNamespace(deep=np.zeros(5)))]), 80),
        (SimpleNamespace(one=[SHARED, SHARED], other=(SHARED,)), 80),  # what is shared is counted once
        (SPARSE, SPARSE.data.nbytes + SPARSE.indices.nbytes + SPARSE.indptr.nbytes),
        (NAMED, 40 + sys.getsizeof(NAMED) + sys.getsizeof("first") + sys.getsizeof("second")),
    ],
)
def test_arrays_are_counted_once_at_any_depth(thing, size):
    assert array_bytes(thing) == size


def test_what_was_seen_before_is_not_counted_again():
    seen = set()
    first, second = [SHARED], [SHARED, np.zeros(1)]  # held on to: things are known by their id
    assert (array_bytes(first, seen), array_bytes(second, seen)) == (80, 8)


def test_things_that_hold_each_other_come_to_an_end():
    one, other = SimpleNamespace(a=np.zeros(2)), SimpleNamespace(a=np.zeros(3))
    one.other, other.other = other, one
    assert array_bytes(one) == array_bytes(other) == 40
