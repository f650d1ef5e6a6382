"""Joining models: as if one had seen the rows of both."""

import pickle

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from helpers import FOURIER, KEEP_ALL, clouds, fourier, state, stream


def test_merged_models_equal_one_that_saw_both():
    X, y = clouds(300, 3)
    here, there = y != 2, y != 0  # the classes differ as well
    part = np.arange(300) % 2 == 0
    options = {"feature_map": fourier(X), "tol": 1e-11, "max_iter": 100_000, **KEEP_ALL}
    one = stream(FBTWSVM(**options), X[here & part], y[here & part], 30)
    two = stream(FBTWSVM(**options), X[there & ~part], y[there & ~part], 100)
    untouched = state(two)
    both = (here & part) | (there & ~part)
    expected = FBTWSVM(**options).fit(X[both], y[both])
    one.merge(two)
    np.testing.assert_allclose(one.planes_, expected.planes_, atol=1e-4)
    assert state(two) == untouched
    one.unlearn(X[there & ~part], y[there & ~part])
    rest = FBTWSVM(**options).fit(X[here & part], y[here & part])
    np.testing.assert_allclose(one.planes_, rest.planes_, atol=1e-4)


def test_merging_condensed_and_fading_models():
    X, y = clouds(1200, 2, spread=2.0)
    options = {
        "gamma": 0.1,
        "feature_map": "fourier",
        "n_components": 20,
        "memory": 20,
        "warm_up": 50,
        "random_state": 0,
    }
    for more in ({}, {"half_life": 300.0}, {"decay": "auto"}):
        one = stream(FBTWSVM(**options, **more), X[:500], y[:500], 60)
        two = stream(FBTWSVM(**options, **more), X[500:1000], y[500:1000], 60)
        weight = sum(
            model_of(m).members[0].moments.counts.sum() / model_of(m).members[0].current_weight for m in (one, two)
        )
        alone = one.score(X[1000:], y[1000:])
        one.merge(two)
        member = model_of(one).members[0]
        assert member.moments.counts.sum() / member.current_weight == pytest.approx(weight)
        assert one.score(X[1000:], y[1000:]) > alone - 0.03


def test_models_that_cannot_be_merged():
    X, y = clouds(200, 2)
    options = {"gamma": 0.1, "n_components": 20, "warm_up": 50}
    model = stream(FBTWSVM(random_state=0, feature_map="fourier", **options), X, y, 50)
    before = state(model)
    other = stream(FBTWSVM(random_state=1, feature_map="fourier", **options), X, y, 50)
    with pytest.raises(ValueError, match="feature map"):
        model.merge(other)
    young = FBTWSVM(random_state=0, feature_map="fourier", **options).partial_fit(X[:10], y[:10])
    with pytest.raises(ValueError, match="warm-up"):
        model.merge(young)
    assert state(model) == before


def test_merge_refuses_what_would_count_twice_or_differs():
    X, y = clouds(600, 2)
    model = stream(FBTWSVM(warm_up=100, **FOURIER), X[:300], y[:300], 100)
    with pytest.raises(ValueError, match="count twice"):
        model.merge(pickle.loads(pickle.dumps(model)))
    for changes in ({"C": 5.0}, {"reg": 0.5}, {"mu": 0.2}, {"gamma": 0.2}):
        other = stream(FBTWSVM(warm_up=100, **FOURIER).set_params(**changes), X[300:], y[300:], 100)
        with pytest.raises(ValueError, match="differ"):
            model.merge(other)
    far = {"gamma": 1.0, "n_components": 50, "warm_up": 100}
    one = stream(FBTWSVM(random_state=0, **far), X[:300] + 60, y[:300], 100)
    with pytest.raises(ValueError, match="feature map"):
        one.merge(stream(FBTWSVM(random_state=1, **far), X[300:] + 60, y[300:], 100))
    named = stream(FBTWSVM(warm_up=100, **FOURIER), X[:300], y[:300], 100, ids=np.arange(300))
    with pytest.raises(ValueError, match="id 5"):
        named.merge(stream(FBTWSVM(warm_up=100, **FOURIER), X[300:], y[300:], 100, ids=np.arange(5, 305)))


def test_merged_balanced_models_equal_one():
    X, y = clouds(900, 2, spread=2.0)
    X, y = X[(y == 0) | (np.arange(900) % 4 == 0)], y[(y == 0) | (np.arange(900) % 4 == 0)]
    options = {"feature_map": fourier(X), "class_weight": "balanced", "tol": 1e-9, "max_iter": 50_000, **KEEP_ALL}
    one = stream(FBTWSVM(**options), X[:300], y[:300], 50)
    one.merge(stream(FBTWSVM(**options), X[300:], y[300:], 50))
    batch = FBTWSVM(**options).fit(X, y)
    assert np.linalg.norm(one.planes_ - batch.planes_) < 0.02 * np.linalg.norm(batch.planes_)
