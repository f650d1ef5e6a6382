"""The first rows of a stream, until its map is fixed."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

from fbtwsvm import FBTWSVM
from helpers import FOURIER, clouds, stream


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
