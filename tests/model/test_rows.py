"""Rows as the solver sees them, and what is given per class."""

import numpy as np
import pytest
import scipy.sparse as sp

from fbtwsvm.model import rows as rows_module
from fbtwsvm.model.rows import arrange

X = np.array([[3.0, 1.0], [0.0, 2.0], [3.0, 1.0], [3.0, 1.0], [5.0, 5.0], [0.0, 2.0]])


LABELS = np.array([1, 0, 1, 0, 1, 0])


WEIGHTS = np.array([1.0, 2.0, 0.5, 4.0, 0.0, 8.0])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_equal_rows_of_a_class_become_one_with_the_sum_of_their_weights(form):
    rows = arrange(form(X), LABELS, WEIGHTS, 2)
    assert rows.small
    assert rows.n == 3
    found = {
        (int(label), *map(float, X[i])): weight
        for label, i, weight in zip(rows.labels, rows.index, rows.weights, strict=True)
    }
    assert found == {(0, 0.0, 2.0): 10.0, (0, 3.0, 1.0): 4.0, (1, 3.0, 1.0): 1.5}
    assert rows.starts.tolist() == [0, 2, 3]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_every_given_row_knows_what_became_of_it(form):
    rows = arrange(form(X), LABELS, WEIGHTS, 2)
    assert rows.source[4] == -1  # without weight
    present = np.flatnonzero(WEIGHTS > 0)
    np.testing.assert_array_equal(X[rows.index[rows.source[present]]], X[present])
    np.testing.assert_array_equal(rows.labels[rows.source[present]], LABELS[present])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_order_of_the_given_rows_does_not_matter(form):
    order = np.random.default_rng(0).permutation(len(X))
    one, other = arrange(form(X), LABELS, WEIGHTS, 2), arrange(form(X[order]), LABELS[order], WEIGHTS[order], 2)
    np.testing.assert_array_equal(X[one.index], X[order][other.index])
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.starts, other.starts)


def test_zeros_that_are_stored_and_entries_in_any_order_make_no_difference_to_sparse_rows():
    stored = sp.csr_array((np.array([1.0, 3.0, 0.0]), np.array([1, 0, 0]), np.array([0, 2, 2, 3])), shape=(3, 2))
    plain = sp.csr_array(stored.toarray())
    assert arrange(sp.vstack([stored, plain], format="csr"), np.zeros(6, dtype=int), np.ones(6), 1).n == 2
    assert stored.nnz == 3  # what was given is as it was


def test_without_merging_rows_of_a_class_stay_in_the_order_they_came_in():
    rows = arrange(X, LABELS, WEIGHTS, 2, merge=False)
    assert not rows.small
    assert rows.index.tolist() == [1, 3, 5, 0, 2]
    assert rows.weights.tolist() == [2.0, 4.0, 8.0, 1.0, 0.5]
    assert rows.starts.tolist() == [0, 3, 5]
    assert rows.source.tolist() == [3, 0, 4, 1, -1, 2]


@pytest.mark.parametrize("small", [1, 2, 3])
def test_many_distinct_rows_are_not_merged(small, monkeypatch):
    monkeypatch.setattr(rows_module, "SMALL", small)
    rows = arrange(X, LABELS, WEIGHTS, 2)
    assert (rows.small, rows.n) == ((True, 3) if small == 3 else (False, 5))


def test_a_class_without_rows_has_an_empty_block():
    rows = arrange(X, 2 * LABELS, WEIGHTS, 4)
    assert rows.starts.tolist() == [0, 2, 2, 3, 3]
    assert rows.labels.tolist() == [0, 0, 2]
    assert rows.n_classes == 4


def test_values_go_back_to_the_given_rows():
    rows = arrange(X, LABELS, WEIGHTS, 2)
    values = np.arange(1.0, 4.0)
    whole, shared = rows.spread(values, shared=False), rows.spread(values, shared=True)
    assert whole[4] == shared[4] == 0.0
    assert whole[0] == whole[2] == values[rows.source[0]]
    assert shared[0] == pytest.approx(2.0 * shared[2])
    present = WEIGHTS > 0
    sums = np.bincount(rows.source[present], weights=shared[present])
    np.testing.assert_allclose(sums, values)  # nothing is lost by sharing
    assert rows.spread(np.ones((3, 2)), shared=True).shape == (6, 2)
