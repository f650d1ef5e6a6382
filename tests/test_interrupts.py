"""An interrupt at any place leaves the model as it was."""

import pickle
from importlib import import_module

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from helpers import FOURIER, Every, clouds, state, stream

X = np.random.default_rng(0).normal(size=(30, 3))


Y = np.arange(30) % 2


def test_an_interrupt_of_fit_leaves_the_model_as_it_was(monkeypatch):
    model = FBTWSVM().fit(X, Y)
    before = pickle.dumps(model)

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("fbtwsvm.classifier.fit_rows", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(np.hstack([X, X]), np.arange(30) % 3)
    assert pickle.dumps(model) == before


PLACES = {
    "learn_rows": ("absorb", "model"), "resolve": ("absorb", "model"), "solve_features": ("resolve",),
    "forget": ("resolve",),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("size", [1, 5, 120])
@pytest.mark.parametrize("decay", [1.0, "auto"])
def test_ctrl_c_changes_nothing(place, size, decay, monkeypatch):
    """An interrupt anywhere within a call, and the call that follows learns as if nothing had happened."""
    X, y = clouds(500)
    model = stream(FBTWSVM(gamma=0.1, n_components=15, warm_up=60, decay=decay, random_state=0), X[:230], y[:230], 23)
    before, twin = state(model), pickle.loads(pickle.dumps(model))
    owners, calls = [import_module(f"fbtwsvm.online.{module}") for module in PLACES[place]], []
    original = getattr(owners[0], place)

    def interrupted(*arguments, **options):
        original(*arguments, **options)
        calls.append(place)
        raise KeyboardInterrupt if len(calls) == 1 else AssertionError

    chunks = [slice(first, first + size) for first in range(230, 480, size)]
    for owner in owners:
        monkeypatch.setattr(owner, place, interrupted)
    learned = 0
    for chunk in chunks:
        try:
            model.partial_fit(X[chunk], y[chunk])
        except KeyboardInterrupt:
            break
        before = state(model)
        learned += 1
    monkeypatch.undo()
    assert calls
    assert state(model) == before
    for chunk in chunks[:learned]:
        twin.partial_fit(X[chunk], y[chunk])
    for chunk in chunks[learned:]:
        model.partial_fit(X[chunk], y[chunk])
        twin.partial_fit(X[chunk], y[chunk])
    np.testing.assert_array_equal(model.planes_, twin.planes_)


def test_an_interrupt_after_a_drift(monkeypatch):
    X, y = clouds(400, 2)
    model = stream(FBTWSVM(drift_detector=Every(30), half_life=200.0, warm_up=100, **FOURIER), X[:129], y[:129], 1)
    before = state(model)

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    for module in ("absorb", "model"):
        monkeypatch.setattr(f"fbtwsvm.online.{module}.learn_rows", stop)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[129:130], y[129:130])
    assert state(model) == before
