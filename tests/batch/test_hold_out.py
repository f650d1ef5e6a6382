"""Ways to hold out rows."""

import numpy as np
import pandas as pd
import pytest

from fbtwsvm.batch.hold_out import (
    contiguous_folds,
    group_folds,
    group_numbers,
    is_sorted_by_columns,
    sample_rows,
    shuffled_folds,
)
from fbtwsvm.model.rows import arrange

LABELS = np.repeat([0, 1, 2], [30, 9, 61])


def test_random_folds_spread_every_class():
    folds = shuffled_folds(LABELS, np.random.default_rng(0))
    for label in range(3):
        counts = np.bincount(folds[label == LABELS], minlength=3)
        assert counts.max() - counts.min() <= 1
    assert (folds != shuffled_folds(LABELS, np.random.default_rng(1))).any()


def test_contiguous_folds_are_thirds_of_each_class_in_order():
    folds = contiguous_folds(LABELS)
    for label in range(3):
        own = folds[label == LABELS]
        assert (np.diff(own) >= 0).all()
        assert (np.bincount(own) >= len(own) // 3).all()


def test_rows_of_a_group_are_in_one_fold():
    groups = np.random.default_rng(0).choice(["ann", "bob", "eve", "ida", "joe"], size=200)
    folds = group_folds(groups)
    for group in np.unique(groups):
        assert len(np.unique(folds[groups == group])) == 1
    assert np.bincount(folds).min() > 30
    assert group_folds(np.repeat([0, 1, 2], [60, 30, 10])).tolist() == [-1] * 60 + [0] * 30 + [1] * 10


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 1, 1], "one group only"),
        (["a", None, "b"], "Row 1 has no group"),
        ([1.0, 2.0, np.nan], "Row 2 has no group"),
        (np.array(["a", 1, "b"], dtype=object), "all be of one kind"),
        (["a", pd.NA, "b"], "Row 1 has no group"),
        ([[1, 2], [1, 2], [1, 2]], r"shape \(3, 2\)"),
        ([1, 2], "inconsistent numbers of samples"),
    ],
)
def test_groups_that_cannot_be_told_apart(groups, message):
    with pytest.raises(ValueError, match=message):
        group_numbers(groups, np.zeros((3, 1)))


def test_groups_by_name():
    for groups in (["b", "a", "b"], [["b"], ["a"], ["b"]]):
        assert group_numbers(groups, np.zeros((3, 1))).tolist() == [1, 0, 1]


def test_a_sample_has_all_classes():
    y = np.repeat([0, 1, 2], [5000, 40, 3])
    rows = arrange(np.random.default_rng(0).normal(size=(len(y), 2)), y, np.ones(len(y)), 3, merge=False)
    chosen = sample_rows(rows.starts, 1000, np.random.default_rng(0))
    assert np.bincount(y[chosen]).tolist() == [991, 8, 3]
    assert (np.diff(chosen) > 0).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_an_order_by_a_column_is_seen(sign):
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=(100, 2)), random.uniform(size=100) < 0.02])
    assert not is_sorted_by_columns(X, LABELS)  # few ones in a column are hardly ever out of order
    for value in (X[:, 0], X[:, 0] - 2 * X[:, 1]):
        assert is_sorted_by_columns(X[np.lexsort((sign * value, LABELS))], LABELS)
    assert not is_sorted_by_columns(np.ones((100, 2)), LABELS)  # a constant column orders nothing


def test_an_order_by_something_else_is_not_seen():
    """Many columns explain much of any order; of people in a row, a sum of columns explains nearly all."""
    random = np.random.default_rng(0)
    for columns in (24, 60):
        assert not is_sorted_by_columns(random.normal(size=(100, columns)), LABELS)
    person = np.arange(1200) * 5 // 1200
    people = random.normal(size=(5, 12))[person] + random.normal(0, 0.3, size=(1200, 12))
    assert not is_sorted_by_columns(people, np.zeros(1200, dtype=int))


def test_a_column_that_is_nearly_constant_sorts_nothing():
    X = np.random.default_rng(0).normal(size=(100, 2))
    X[:, 1] = np.arange(100) == 99  # the last row of its class, by chance
    assert not is_sorted_by_columns(X, LABELS)
