"""The quick judge of feature maps, against the plain formula."""

import numpy as np
import pytest

from fbtwsvm.batch.ridge import RIDGE, HeldOut, held_out_hits


@pytest.fixture
def problem():
    random = np.random.default_rng(0)
    labels = np.sort(random.integers(3, size=120))
    rows = np.column_stack([random.normal(size=(120, 6)) + labels[:, None], np.ones(120)])
    return rows, labels, random.uniform(0.5, 2.0, size=120), random.integers(-1, 3, size=120)


def slow_hits(rows, labels, weights, folds, judged):
    """Solve the normal equations of every fold from its training rows."""
    weights = weights / weights.mean()
    targets = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    hits = np.zeros(len(rows), dtype=bool)
    for fold in range(3):
        train, test = folds != fold, (folds == fold) & judged
        left = (rows[train] * weights[train, None]).T @ rows[train] + RIDGE * np.eye(rows.shape[1])
        right = (rows[train] * weights[train, None]).T @ targets[train]
        hits[test] = (rows[test] @ np.linalg.solve(left, right)).argmax(axis=1) == labels[test]
    return hits


def test_hits_are_those_of_the_normal_equations(problem):
    rows, labels, weights, folds = problem
    judged = np.random.default_rng(1).uniform(size=120) < 0.8
    for size in (3, 7):
        (hits,) = held_out_hits(rows, labels, weights, HeldOut(folds, judged), {size: RIDGE})
        assert (hits == slow_hits(rows[:, :size], labels, weights, folds, judged)).all()
        assert not hits[~judged | (folds < 0)].any()
        assert hits.any()


def test_several_sizes_are_judged_at_once(problem):
    rows, labels, weights, folds = problem
    held_out = HeldOut(folds, folds >= 0)
    ridges = {2: RIDGE, 7: 100.0}
    both = held_out_hits(rows, labels, weights, held_out, ridges)
    for line, (size, ridge) in zip(both, ridges.items(), strict=True):
        assert (line == held_out_hits(rows, labels, weights, held_out, {size: ridge})[0]).all()
    assert (both[1] != held_out_hits(rows, labels, weights, held_out)[0]).any()  # the ridge matters


def test_a_penalty_on_landmarks_is_a_ridge_on_mapped_rows(problem):
    """Planes over similarities, with the kernel matrix of the landmarks, are planes over the mapped rows."""
    rows, labels, weights, folds = problem
    factor = np.linalg.cholesky(np.cov(rows[:, :6].T) + np.eye(6))
    root = np.eye(7)
    root[:6, :6] = factor
    held_out = HeldOut(folds, folds >= 0)
    (hits,) = held_out_hits(rows @ root.T, labels, weights, held_out, penalty=root @ root.T)
    assert (hits == held_out_hits(rows, labels, weights, held_out)[0]).all()


def test_one_fold_with_nothing_to_learn_from_has_no_hits(problem):
    rows, labels, weights, _ = problem
    held_out = HeldOut(np.zeros(120, dtype=int), np.ones(120, dtype=bool))
    assert not held_out_hits(rows, labels, weights, held_out).any()
