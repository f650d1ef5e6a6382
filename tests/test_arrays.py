"""How many bytes the arrays within a thing take."""

import sys
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from fbtwsvm._arrays import array_bytes


@dataclass
class Thing:
    """Something with arrays in it."""

    parts: Any
    others: list = field(default_factory=list)


class Pair(NamedTuple):
    """Two things in a tuple."""

    one: Any
    other: Any


def test_an_array_takes_its_bytes():
    assert array_bytes(np.zeros((3, 4), dtype=np.float32)) == 48


@pytest.mark.parametrize("thing", [3, "text", None, [], {}, Thing(None)])
def test_what_holds_no_array_takes_nothing(thing):
    assert array_bytes(thing) == 0


def test_arrays_are_found_at_any_depth():
    assert array_bytes(Thing([np.zeros(2), (np.zeros(3), Pair(np.zeros(4), Thing(np.zeros(5))))])) == 8 * 14


def test_an_array_that_is_shared_is_counted_once():
    shared = np.zeros(10)
    assert array_bytes(Thing([shared, shared], [Thing(shared), (shared,)])) == 80


def test_what_was_seen_before_is_not_counted_again():
    shared, seen = np.zeros(10), set()
    first, second = [shared], [shared, np.zeros(1)]  # held on to: things are known by their id
    assert array_bytes(first, seen) == 80
    assert array_bytes(second, seen) == 8


def test_a_sparse_matrix_takes_what_it_stores():
    matrix = sp.random_array((20, 30), density=0.1, format="csr", rng=0)
    assert array_bytes(matrix) == matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes


def test_the_keys_of_a_dictionary_count_too():
    named = {"first": np.zeros(2), "second": np.zeros(3)}
    assert array_bytes(named) == 40 + sys.getsizeof(named) + sys.getsizeof("first") + sys.getsizeof("second")


def test_things_that_hold_each_other_come_to_an_end():
    one, other = Thing(np.zeros(2)), Thing(np.zeros(3))
    one.others.append(other)
    other.others.append(one)
    assert array_bytes(one) == array_bytes(other) == 40
