"""The compiled loops of working sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fbtwsvm.solver._working_set_loops import first_set, kth_smallest


@given(st.lists(st.sampled_from([-np.inf, -1.5, 0.0, 0.25, 1.0, 3.0, np.inf]), min_size=1, max_size=40), st.data())
def test_the_kth_smallest_is_that_of_a_sorted_list(values, data):
    k = data.draw(st.integers(0, len(values) - 1))
    assert kth_smallest(np.array(values), k) == sorted(values)[k]


@pytest.mark.parametrize("order", ["rising", "falling", "random"])
def test_the_kth_smallest_of_many(order):
    values = np.sort(np.random.default_rng(0).normal(size=1001))
    given = {"rising": values, "falling": values[::-1], "random": np.random.default_rng(1).permutation(values)}[order]
    for k in (0, 1, 500, 999, 1000):
        assert kth_smallest(np.array(given), k) == values[k]


def test_the_first_set_has_the_rows_with_the_largest_values():
    values = np.array([3.0, 1.0, 2.0, 5.0, 4.0, 7.0])
    before, in_set = values.copy(), np.zeros(6, dtype=bool)
    first_set(values, np.array([0, 3, 5, 6]), np.array([True, False, True]), 2, in_set)
    assert in_set.tolist() == [True, False, True, False, False, True]
    assert np.array_equal(values, before)
