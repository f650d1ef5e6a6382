"""Ways to hold out rows."""

import numpy as np
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


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 1, 1], "one group only"),
        (["a", None, "b"], "Row 1 has no group"),
        ([1.0, 2.0, np.nan], "Row 2 has no group"),
        (np.array(["a", 1, "b"], dtype=object), "all be of one kind"),
        ([[1, 2], [1, 2], [1, 2]], "one value for each row"),
        ([1, 2], "inconsistent numbers of samples"),
    ],
)
def test_groups_that_cannot_be_told_apart(groups, message):
    with pytest.raises(ValueError, match=message):
        group_numbers(groups, np.zeros((3, 1)))


def test_groups_by_name():
    assert group_numbers(["b", "a", "b"], np.zeros((3, 1))).tolist() == [1, 0, 1]


def test_a_sample_has_all_classes():
    y = np.repeat([0, 1, 2], [5000, 40, 3])
    rows = arrange(np.random.default_rng(0).normal(size=(len(y), 2)), y, np.ones(len(y)), 3, merge=False)
    chosen = sample_rows(rows, 1000, np.random.default_rng(0))
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
    """Many columns explain any order of few rows; clusters that follow each other are no order by a column."""
    random = np.random.default_rng(0)
    assert not is_sorted_by_columns(random.normal(size=(100, 60)), LABELS)
    clusters = random.normal(size=(10, 4))[np.arange(100) // 10] + random.normal(0, 0.1, size=(100, 4))
    assert not is_sorted_by_columns(clusters, LABELS)
