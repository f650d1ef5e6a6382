"""Sums of each class, and roots that follow them, against numpy."""

import pickle

import numpy as np
import pytest

from fbtwsvm.online import axes
from fbtwsvm.online.moments import Moments
from fbtwsvm.online.roots import Roots
from fbtwsvm.solver.factors import Root, gram_matrix
from reference import REG, some_rows, system


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3,), (2, 9, 1)])
def test_a_root_follows_rows(dtype, sizes):
    """R'R is the inverse of what numpy sums up, also for more rows at a time than there are columns."""
    roots = Roots(2, 6, dtype)
    first, first_weights = some_rows(4, dtype=dtype)
    roots.refresh(1, gram_matrix(first, first_weights), REG)
    untouched = roots.matrices[0].copy()
    total = system(first, first_weights)
    for seed, n in enumerate(sizes, 1):
        rows, weights = some_rows(n, seed=seed, dtype=dtype)
        roots.update(1, rows, weights)
        total += system(rows, weights, reg=0.0)
    root = roots.matrices[1].astype(np.float64)
    np.testing.assert_allclose(root.T @ root @ total, np.eye(6), atol=1e-3 if dtype == np.float32 else 1e-10)
    assert roots.ranks[1] == sum(sizes)
    assert np.array_equal(roots.matrices[0], untouched)


def test_a_root_follows_its_unit_of_weight():
    rows, weights = some_rows(9)
    roots = Roots(2, 6, np.float64)
    for k in range(2):
        roots.refresh(k, gram_matrix(rows, weights), REG)
    roots.scale(4.0, 1)
    for k, factor in enumerate((1.0, 4.0)):
        root = roots.matrices[k]
        np.testing.assert_allclose(root.T @ root, np.linalg.inv(factor * system(rows, weights)), atol=1e-10)
        assert roots.ridges[k] == factor * REG


def test_roots_of_classes_that_come_and_go_keep_their_place():
    roots = Roots(2, 3, np.float64)
    for k in range(2):
        roots.refresh(k, np.eye(3) * k, 1.0)
    second = roots.of(1).copy()
    roots.insert_class(1)
    assert np.array_equal(roots.of(2), second)
    assert roots.ranks[1] > 10**15  # of the new class there is no root yet
    roots.start(1, 4.0)
    np.testing.assert_allclose(roots.of(1), np.eye(3) / 2.0)
    axes.delete_class(roots, 0)
    assert np.array_equal(roots.of(1), second)
    roots.insert_class(0)  # at the place that has become free
    assert len(set(roots.places.tolist())) == 3
    assert np.array_equal(roots.of(2), second)
    roots = pickle.loads(pickle.dumps(roots))
    assert np.array_equal(roots.of(2), second)
    assert len(roots.matrices) == 3
    axes.delete_class(roots, 0)
    assert len(roots.ranks) == len(roots.ridges) == 2
    assert isinstance(roots.factor(1), Root)


def by_hand(classes):
    """Return the sums of a list of (rows, weights)."""
    counts = [weights.sum() for _, weights in classes]
    sums = [weights @ rows for rows, weights in classes]
    return counts, sums, [rows.T @ np.diag(weights) @ rows for rows, weights in classes]


def assert_moments(moments, classes):
    for found, expected in zip((moments.counts, moments.sums, moments.grams), by_hand(classes), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.fixture
def summed():
    """Moments of two classes, with the rows that are in them."""
    classes = [some_rows(5, 3, seed=0), some_rows(8, 3, seed=1)]
    moments = Moments(2, 3)
    for k, (rows, weights) in enumerate(classes):
        moments.add(k, rows, weights)
    return moments, classes


def test_sums_of_rows(summed):
    moments, classes = summed
    assert_moments(moments, classes)
    means = [np.average(rows, axis=0, weights=weights) for rows, weights in classes]
    np.testing.assert_allclose(moments.means, means)


def test_rows_taken_out_leave_the_sums_of_the_rest(summed):
    moments, classes = summed
    rows, weights = classes[1]
    moments.add(1, rows[:3], weights[:3], -1.0)
    assert_moments(moments, [classes[0], (rows[3:], weights[3:])])


def test_scaled_sums_are_those_of_scaled_weights(summed):
    moments, classes = summed
    moments.scale(0.5, 0)
    moments.scale(3.0)
    assert_moments(moments, [(classes[0][0], 1.5 * classes[0][1]), (classes[1][0], 3.0 * classes[1][1])])


def test_a_gram_matrix_can_be_added_alone(summed):
    moments, classes = summed
    rows, weights = some_rows(4, 3, seed=2)
    moments.add_gram(0, rows, weights)
    counts, sums, grams = by_hand(classes)
    np.testing.assert_allclose(moments.counts, counts)
    np.testing.assert_allclose(moments.sums, sums)
    np.testing.assert_allclose(moments.grams[0], grams[0] + rows.T @ np.diag(weights) @ rows)


def test_sums_of_classes_that_come_and_go_keep_their_place(summed):
    moments, classes = summed
    nothing = (np.empty((0, 3)), np.empty(0))
    moments.insert_class(1)
    assert_moments(moments, [classes[0], nothing, classes[1]])
    assert np.array_equal(moments.means[1], np.zeros(3))
    moments.delete_class(0)
    assert_moments(moments, [nothing, classes[1]])


def test_a_gram_matrix_from_which_too_much_was_taken_is_not_definite(summed):
    moments, _ = summed
    assert moments.definite(0, 1e-6)
    moments.add(0, np.full((1, 3), 10.0), np.ones(1), -1.0)
    assert not moments.definite(0, 1e-6)


def test_rows_wait_until_their_matrix_is_read():
    moments, everything = Moments(1, 3), []
    for seed in range(40):
        rows, weights = some_rows(2, 3, seed=seed)
        moments.add(0, rows, weights)
        everything.append((rows, weights))
        assert sum(len(some) for _, some in moments.grams._waiting[0]) < 64
    assert moments.grams._waiting[0]
    copied = moments.grams.copy()
    expected = sum(rows.T @ np.diag(weights) @ rows for rows, weights in everything)
    np.testing.assert_allclose(moments.grams[0], expected, atol=1e-10)
    assert not moments.grams._waiting[0]
    assert copied._waiting[0]  # a copy has its own list
    np.testing.assert_allclose(copied[0], expected, atol=1e-10)
    moments.add(0, *everything[0], sign=-1.0)
    np.testing.assert_allclose(
        moments.grams[0], expected - everything[0][0].T @ np.diag(everything[0][1]) @ everything[0][0], atol=1e-10
    )
