"""Parameters of a stream that contradict each other, and what a pair of values waits for."""

import pytest

from fbtwsvm import FBTWSVM
from helpers import clouds, state


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
