"""Rows as the solver sees them, and what is given per class."""

import numpy as np
import pytest
import scipy.sparse as sp

from fbtwsvm.model import rows as rows_module
from fbtwsvm.model.rows import TrainingRows, arrange, calibration_rows

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
    spread = rows.spread(values)
    assert spread[4] == 0.0  # without weight
    assert spread[0] == spread[2] == values[rows.source[0]]
    assert rows.spread(np.ones((3, 2))).shape == (6, 2)


@pytest.mark.parametrize("merge", [True, False])
def test_marked_rows_are_named_as_they_were_given(merge):
    rows = arrange(X, LABELS, WEIGHTS, 2, merge=merge)
    given, counts = rows.given(rows.labels == 1)
    assert (given.tolist(), counts.tolist()) == ([0, 2], [0, 2])


def test_very_many_marked_rows_are_named_as_they_were_given():
    """They have no `source`, which takes too much memory."""
    n = 200_000  # several tiles
    random = np.random.default_rng(0)
    labels, marked = random.integers(3, size=n), random.uniform(size=n) < 0.4
    index = np.argsort(labels, kind="stable").astype(np.int32)
    starts = np.searchsorted(labels[index], np.arange(4))
    rows = TrainingRows(np.empty((n, 1)), index, np.ones(n), starts, np.empty(0, dtype=np.int64), np.ones(n), False)
    given, counts = rows.given(marked)
    assert np.array_equal(given, np.sort(index[marked]))
    assert np.array_equal(counts, np.bincount(labels[given]))


def test_calibration_rows_are_drawn_from_the_rows_that_are_no_landmarks():
    landmarks = np.random.default_rng(0).uniform(size=4000) < 0.3
    marked = np.zeros(4000, dtype=bool)
    marked[calibration_rows(np.array([0, 1500, 4000]), np.flatnonzero(landmarks), seed=0, limit=600)] = True
    assert not (marked & landmarks).any()
    assert [marked[:1500].sum(), marked[1500:].sum()] == [600, 600]
    share = marked[~landmarks][:1000].mean(), marked[~landmarks][-1000:].mean()
    assert 0.4 < share[0] < 0.75
    assert 0.2 < share[1] < 0.5


def test_a_subset_is_training_rows_of_its_own():
    rows = arrange(X, LABELS, WEIGHTS, 2, merge=False)
    some = rows.subset(np.array([1, 2]), drop_empty=True)
    np.testing.assert_array_equal(some.X[some.index], X[[3, 5]])
    assert (some.weights.tolist(), some.starts.tolist(), some.n_classes) == ([4.0, 8.0], [0, 2], 1)
    assert rows.subset(np.array([1, 2])).starts.tolist() == [0, 2, 2]


def test_rows_to_calibrate_on_are_no_landmarks_unless_too_few_are_left():
    starts = np.array([0, 1, 9, 29])
    landmarks = np.concatenate([np.arange(1, 4), np.arange(9, 25)])  # three of eight, sixteen of twenty
    chosen = calibration_rows(starts, landmarks, seed=0, limit=10)
    assert chosen[chosen < 9].tolist() == [4, 5, 6, 7, 8]  # a class of one row has no plane without it
    assert (chosen >= 9).sum() == 10
    assert np.array_equal(chosen, calibration_rows(starts, landmarks, seed=0, limit=10))
