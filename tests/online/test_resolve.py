"""The re-solve of a stream: certified planes, offsets, and nothing new the second time."""

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from helpers import FOURIER, clouds, stream


def test_settled_planes_have_their_gap():
    X, y = clouds(600, spread=2.0)
    model = stream(FBTWSVM(gamma=0.1, n_components=30, warm_up=100, memory=15), X, y, 70).settle()
    assert model.duality_gap_.max() <= model.tol


def test_a_row_forgotten_d_times_leaves():
    X, y = clouds(400, 2, spread=0.5)
    options = {"gamma": 0.1, "n_components": 20, "warm_up": 50, "second_look": 0, "accept": "all", "memory": None}
    models = [FBTWSVM(forget_after=d, random_state=0, **options) for d in (1, 3, None)]
    kept = [stream(model, X, y, 50).settle().inspect().kept for model in models]
    assert kept[0] < kept[1] < kept[2] == 400


def test_forgotten_rows_leave_the_gram_matrices_of_the_paper():
    X, y = clouds(600, 3)
    model = FBTWSVM(gamma=0.1, n_components=20, feature_map="fourier", warm_up=100, forget_after=1, second_look=0)
    model.set_params(statistics="kept", accept="inside", decision="distance", memory=None, random_state=0)
    stream(model, X, y, 100).settle()
    member = model_of(model).members[0]
    assert len(member.kept) < 500
    for k in range(3):
        rows = member.kept.rows[member.kept.labels == k]
        np.testing.assert_allclose(member.moments.grams[k], rows.T @ rows, atol=1e-8)


def test_settle_twice_is_settle_once():
    X, y = clouds(400, spread=1.5)
    model = stream(FBTWSVM(warm_up=100, forget_after=3, half_life=200.0, **FOURIER), X, y, 50).settle()
    kept, planes = model.inspect().kept, model.planes_.copy()
    for _ in range(5):
        model.settle()
    assert model.inspect().kept == kept
    np.testing.assert_allclose(model.planes_, planes, atol=1e-3)


@pytest.mark.parametrize("size", [50, 400])
def test_a_new_class_is_found_by_learned_offsets(size):
    """Rows tested before a class was known say nothing about it."""
    X, y = clouds(3200, 3, spread=1.5)
    old, new = np.flatnonzero(y != 2), np.flatnonzero(y == 2)
    recall = {}
    for decision in ("value", "calibrated"):
        model = stream(FBTWSVM(decision=decision, warm_up=200, **FOURIER), X[old], y[old], 200)
        stream(model, X[new[:200]], y[new[:200]], size).settle()
        recall[decision] = (model.predict(X[new]) == 2).mean()
    assert recall["calibrated"] > recall["value"] - 0.1


def test_the_papers_sums_with_a_memory_of_one():
    X, y = clouds(400, 2, spread=2.0)
    weights = np.random.default_rng(0).uniform(0.1, 0.9, 400)
    model = FBTWSVM(statistics="kept", memory=1, forget_after=1, warm_up=50, **FOURIER)
    stream(model, X, y, 20, sample_weight=weights).settle()
    member = model_of(model).members[0]
    for k in range(2):
        support = (member.kept.labels == k) & ~member.kept.reserve
        weights, rows = member.kept.weights[support], member.kept.rows[support]
        assert len(rows) <= 1
        assert member.moments.counts[k] == pytest.approx(weights.sum(), abs=1e-9)
        np.testing.assert_allclose(member.moments.grams[k], rows.T @ (weights[:, None] * rows), atol=1e-8)
