"""The first rows of a stream until its map is fixed, and parameters that it cannot have."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

from fbtwsvm import FBTWSVM
from helpers import FOURIER, clouds, state, stream


def test_warm_up_is_the_same_whatever_the_chunks():
    X, y = clouds(400)
    model = FBTWSVM(n_components=30, warm_up=150, random_state=0)
    gammas = {stream(clone(model), X, y, size).gamma_ for size in (1, 64, 150, 400)}
    assert len(gammas) == 1


def test_predictions_during_the_warm_up():
    X, y = clouds(200)
    model = FBTWSVM(warm_up=1000)
    with pytest.raises(Exception, match="not fitted"):
        model.predict(X)
    for first in range(0, 200, 10):
        model.partial_fit(X[first : first + 10], y[first : first + 10])
        assert model.predict(X[:5]).shape == (5,)
    assert model.inspect().stage == "warm_up"
    assert model.score(X, y) > FBTWSVM().fit(X, y).score(X, y) - 0.05


def test_warm_up_with_what_it_cannot_use_yet():
    X, y = clouds(300, 3)
    weighted = stream(FBTWSVM(class_weight={0: 1.0, 1: 5.0, 2: 1.0}, warm_up=100, **FOURIER), X[y != 1], y[y != 1], 2)
    assert weighted.classes_.tolist() == [0, 2]
    wide = np.hstack([X, X**2, X**3])
    model = stream(FBTWSVM(feature_map=PCA(5), warm_up=100), wide, y, 2)
    assert model.n_components_ == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decay": 0.9, "half_life": 5}, "not both"),
        ({"decay": 1.5}, "decay"),
        ({"memory": 0}, "memory"),
        ({"feature_map": "exact"}, "stream"),
        ({"accept": "some"}, "accept"),
        ({"warm_up": 0}, "warm_up"),
    ],
)
def test_parameters_that_a_stream_cannot_have_are_refused(options, message):
    X, y = clouds(20)
    with pytest.raises(ValueError, match=message):
        FBTWSVM(**options).partial_fit(X, y)


def test_size_warning():
    X, y = clouds(60)
    model = FBTWSVM(gamma=0.1, n_components=400_000, warm_up=50, feature_map="fourier")
    with pytest.warns(ResourceWarning, match="Gram matrices"), pytest.raises(MemoryError):
        model.partial_fit(X, y)
    assert not hasattr(model, "classes_")


def test_third_class_against_a_pair_of_prices():
    X, y = clouds(200, 3)
    two = y != 2
    model = FBTWSVM(C=(1.0, 2.0), gamma=0.1, n_components=20, warm_up=50).partial_fit(X[two], y[two])
    before = state(model)
    with pytest.raises(ValueError, match="3 classes"):
        model.partial_fit(X, y)
    assert state(model) == before


def test_unlearn_after_the_warm_up_was_made_shorter():
    X, y = clouds(100)
    model = FBTWSVM(warm_up=100, **FOURIER).partial_fit(X[:60], y[:60])
    model.set_params(warm_up=20).unlearn(X[:1], y[:1])
    assert model.inspect().stage == "stream"
    assert model.inspect().seen == 59
