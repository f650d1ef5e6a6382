"""Copies in the nature of a table, beside copies that somebody has made."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from fbtwsvm.batch.prepare import _copies
from fbtwsvm.model.rows import arrange

RANDOM = np.random.default_rng(0)
X, Y = load_digits(return_X_y=True)
CELLS = RANDOM.integers([4, 5], size=(300, 2)).astype(float)
KINDS = (CELLS.sum(axis=1) % 3).astype(int)
NORMAL = RANDOM.normal(size=(200, 3))


def copies(rows, labels, weights=None):
    classes, numbers = np.unique(labels, return_inverse=True)
    weights = np.ones(len(rows)) if weights is None else weights
    return _copies(arrange(rows, numbers, weights, len(classes)), np.ones(len(classes)))


def test_cells_of_a_table_are_copies():
    found = copies(CELLS, KINDS)
    assert len(found) == 20
    assert found.sum() == 300


def test_so_are_equal_rows_of_several_classes():
    assert copies(CELLS[:50], RANDOM.integers(2, size=50)) is not None


@pytest.mark.parametrize("times", [2, 6])
def test_a_class_filled_up_is_none(times):
    some = np.concatenate([np.flatnonzero(Y != 1), np.repeat(np.flatnonzero(Y == 1), times)])
    assert copies(X[some], Y[some]) is None


def test_nor_is_a_sample_with_replacement():
    some = RANDOM.choice(len(Y), 1000)
    assert copies(X[some], Y[some]) is None


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_nor_are_large_weights(form):
    assert copies(form(NORMAL), NORMAL[:, 0] > 0, np.full(200, 500.0)) is None
    ratings = RANDOM.integers(10, size=(200, 5)).astype(float)
    for weights in (np.full(200, 4.0), RANDOM.lognormal(3.0, 0.7, 200)):
        assert copies(form(ratings), ratings[:, 0] > 4, weights) is None


def test_values_of_sparse_columns_are_counted_as_those_of_dense_ones():
    rows = RANDOM.integers(3, size=(60, 4)) * np.array([1.0, 0.0, 2.0, 3.0])
    rows[:30, 3] = np.arange(30)
    labels, weights = np.zeros(60, dtype=int), np.ones(60)
    counts = [arrange(form(rows), labels, weights, 1).most_values() for form in (np.asarray, sp.csr_matrix)]
    assert counts[0] == counts[1] == len(np.unique(rows[:, 3]))
