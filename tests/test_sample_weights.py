"""Weights of rows and of classes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_moons

from fbtwsvm import FBTWSVM
from helpers import KEEP_ALL, clouds, fourier, stream


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(6, 40), kernel=st.sampled_from(["rbf", "linear"]))
def test_a_weight_is_a_repetition(seed, n, kernel):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(n, 3)), np.arange(n) % 3
    weights = random.integers(0, 4, n)
    weights[:3] = 1
    weighted = FBTWSVM(kernel=kernel).fit(X, y, sample_weight=weights)
    repeated = FBTWSVM(kernel=kernel).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.array_equal(weighted.decision_function(X), repeated.decision_function(X))
    assert np.array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_weights_on_large_data():
    """Above the size of the exact form weights act through the same equations, to the solver's tolerance."""
    X, y = make_moons(2600, noise=0.3, random_state=0)
    weights = np.random.default_rng(0).integers(1, 4, 2600)
    options = {"feature_map": "fourier", "n_components": 40, "gamma": 1.0, "tol": 1e-8, "max_iter": 100_000}
    weighted = FBTWSVM(**options, random_state=0).fit(X, y, sample_weight=weights)
    repeated = FBTWSVM(**options, random_state=0).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.planes_ == pytest.approx(repeated.planes_, abs=1e-3 * np.abs(repeated.planes_).max())


def test_class_weight_multiplies(blobs):
    X, y = blobs
    factor = {"ant": 1.0, "bee": 2.0, "cat": 3.0}
    by_class = FBTWSVM(class_weight=factor).fit(X, y)
    by_row = FBTWSVM().fit(X, y, sample_weight=[factor[label] for label in y])
    assert np.array_equal(by_class.decision_function(X), by_row.decision_function(X))
    balanced = FBTWSVM(class_weight="balanced").fit(X, y)
    counts = {label: (y == label).sum() for label in factor}
    same = FBTWSVM().fit(X, y, sample_weight=[len(y) / (3 * counts[label]) for label in y])
    assert balanced.decision_function(X) == pytest.approx(same.decision_function(X))


def test_balanced_weights_help_the_rare_class():
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(0, 1, (950, 2)), random.normal(1.2, 1, (50, 2))])
    y = np.repeat([0, 1], (950, 50))
    plain, balanced = (FBTWSVM(class_weight=w).fit(X, y).predict(X)[950:].mean() for w in (None, "balanced"))
    assert balanced > plain + 0.2


def test_a_pair_of_values_is_one_value_per_near_class():
    X, y = make_moons(200, noise=0.3, random_state=0)
    options = {"gamma": 1.0, "membership": "none"}
    base = FBTWSVM(**options, C=1.0, reg=0.01).fit(X, y)
    pair = FBTWSVM(**options, C=(1.0, 3.0), reg=(0.01, 0.2)).fit(X, y)
    other = FBTWSVM(**options, C=3.0, reg=0.2).fit(X, y)
    assert np.array_equal(pair.planes_[0, 1], base.planes_[0, 1])
    assert np.array_equal(pair.planes_[1, 0], other.planes_[1, 0])


def test_small_weights_have_supports(blobs):
    X, y = blobs
    one, tiny = (
        FBTWSVM(gamma=0.1, reg=r, C=1.0).fit(X, y, sample_weight=np.full(len(y), w))
        for w, r in ((1.0, 0.01), (1e-10, 1e-12))
    )
    assert len(one.support_) > 10
    assert abs(len(tiny.support_) - len(one.support_)) <= 3


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("warm_up", [20, 1000])
def test_a_misspelt_class_weight_is_refused_by_fit_and_partial_fit_alike(method, warm_up, blobs):
    """A class that is not there is no mistake as long as every class that is there has its weight."""
    X, y = blobs
    model = FBTWSVM(gamma=0.1, n_components=20, warm_up=warm_up, random_state=0)
    all_classes = {} if method == "fit" else {"classes": ["ant", "bee", "cat"]}
    with pytest.raises(ValueError, match=r"names 'dog'.*no weight for 'ant'"):
        getattr(clone(model).set_params(class_weight={"dog": 2.0, "bee": 1.0}), method)(X, y, **all_classes)
    for fine in ({"bee": 2.0}, {"ant": 1.0, "bee": 2.0, "cat": 1.0, "dog": 3.0}):
        assert getattr(clone(model).set_params(class_weight=fine), method)(X, y).classes_.tolist() == [
            "ant",
            "bee",
            "cat",
        ]


def test_a_stream_may_weigh_a_class_before_it_comes(blobs):
    X, y = blobs
    model = FBTWSVM(gamma=0.1, n_components=20, warm_up=60, class_weight={"cat": 5.0}, random_state=0)
    for label in ("ant", "bee", "cat"):
        for row in np.flatnonzero(y == label):
            model.partial_fit(X[[row]], y[[row]])
    assert model.classes_.tolist() == ["ant", "bee", "cat"]


def test_class_weights_of_a_stream_are_those_of_a_fit():
    X, y = clouds(300, 2, spread=2.0)
    options = {"feature_map": fourier(X), "class_weight": {1: 5.0}, "tol": 1e-9, "max_iter": 100_000, **KEEP_ALL}
    batch = FBTWSVM(**options).fit(X, y)
    np.testing.assert_allclose(stream(FBTWSVM(**options), X, y, 40).settle().planes_, batch.planes_, atol=1e-4)
