"""What is given per class: C and reg, class weights, and which classes there are."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from fbtwsvm.model.rows import class_factors, per_class, present_classes

CLASSES = np.array(["ant", "bee", "cat"])


LABELS = np.array([0, 0, 1, 2, 2, 2])


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2.0), np.int64(2)])
def test_one_number_is_for_every_class(value):
    assert per_class("C", value, 3).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("value", [(1, 2), [1.0, 2.0], np.array([1.0, 2.0])])
def test_a_pair_is_for_two_classes(value):
    assert per_class("reg", value, 2).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("value", "n_classes", "message"),
    [
        ((1.0, 2.0), 3, "this y has 3 classes"),
        ((1.0, 2.0, 3.0), 2, "give one number, or for two classes a pair"),
        ((1.0,), 2, "give one number, or for two classes a pair"),
        ((1.0, 0.0), 2, "must be positive and finite"),
        ((1.0, -1.0), 2, "must be positive and finite"),
        ((1.0, np.nan), 2, "must be positive and finite"),
        ((np.inf, 1.0), 2, "must be positive and finite"),
        (("a", "b"), 2, "give a positive number"),
        (((1.0,), (1.0, 2.0)), 2, "give a positive number"),
    ],
)
def test_what_is_neither_a_number_nor_a_pair_is_refused_by_name(value, n_classes, message):
    with pytest.raises(ValueError, match=message) as error:
        per_class("reg", value, n_classes)
    assert str(error.value).startswith("reg=")


def test_without_class_weight_all_factors_are_one():
    assert class_factors(None, CLASSES, LABELS, np.ones(6)).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("class_weight", ["balanced", {"ant": 2.0}, {"ant": 0.5, "bee": 3.0, "cat": 7.0}])
def test_class_weights_are_those_of_scikit_learn(class_weight):
    expected = compute_sample_weight(class_weight, CLASSES[LABELS])
    np.testing.assert_allclose(class_factors(class_weight, CLASSES, LABELS, np.ones(6))[LABELS], expected)


def test_balanced_classes_have_the_same_weight_whatever_the_weights_of_their_rows():
    weights = np.array([1.0, 5.0, 0.5, 2.0, 0.0, 1.0])
    weighted = weights * class_factors("balanced", CLASSES, LABELS, weights)[LABELS]
    np.testing.assert_allclose(np.bincount(LABELS, weights=weighted), np.full(3, weights.sum() / 3))


@pytest.mark.parametrize("factor", [0.0, -1.0, np.inf, np.nan])
def test_a_class_weight_that_is_no_weight_is_refused(factor):
    with pytest.raises(ValueError, match="positive and finite"):
        class_factors({"ant": factor}, CLASSES, LABELS, np.ones(6))


def test_classes_are_those_of_rows_with_weight():
    y = np.array(["cat", "ant", "bee", "cat"])
    classes, labels = present_classes(y, np.array([1.0, 1.0, 0.0, 2.0]))
    assert classes.tolist() == ["ant", "cat"]
    assert labels.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("weights", "message"),
    [([0.0, 0.0], "Every sample_weight is zero"), ([1.0, 0.0], "among the rows with a positive")],
)
def test_rows_without_weight_make_no_class(weights, message):
    with pytest.raises(ValueError, match=message):
        present_classes(np.array([0, 1]), np.array(weights))
