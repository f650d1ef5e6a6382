"""Fixture of the model files' tests."""

import pytest

import fbtwsvm
from fbtwsvm import FBTWSVM
from helpers import clouds


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Return a small model, and the bytes of its file."""
    X, y = clouds(600, n_columns=4)
    model = FBTWSVM(n_components=15, warm_up=60, memory=20, second_look=5, gamma=0.3, random_state=0)
    for first in range(0, 300, 10):
        model.partial_fit(X[first : first + 10], y[first : first + 10], ids=range(first, first + 10))
    path = tmp_path_factory.mktemp("good") / "model.fbt"
    fbtwsvm.save(model, path)
    return model, path.read_bytes()
