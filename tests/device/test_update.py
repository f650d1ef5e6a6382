"""Large chunks that are learned on their device."""

from copy import copy

import numpy as np
import pytest

from devices import DEVICES, PLACES, crowd, here, needs_torch, there
from fbtwsvm import FBTWSVM
from fbtwsvm.batch.model import BatchModel
from fbtwsvm.classifier import model_of
from fbtwsvm.device import update

GIVEN = {
    "feature_map": "fourier", "gamma": 0.2, "n_components": 30, "random_state": 0, "memory": 100,
    "precision": "highest",
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_chunks_are_large(monkeypatch):
    monkeypatch.setattr(update, "LARGE", 2500)
    monkeypatch.setattr(update, "_LARGE_CHUNK", 1000)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("parameters", [{}, {"class_weight": "balanced"}, {"membership": "none"}, {"mu": 0.2}], ids=str)
def test_chunks_add_up_to_a_fit_of_all_rows(place, parameters):
    X, y = crowd(12_000, 3)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    given = {**GIVEN, **parameters}
    whole = FBTWSVM(**given).fit(X, y, weights)
    model = FBTWSVM(**given)
    for k in range(0, len(y), 4000):
        part = slice(k, k + 4000)
        model.partial_fit(*(there(values[part], place) for values in (X, y)), sample_weight=there(weights[part], place))
        assert isinstance(model_of(model), BatchModel)
        assert model.duality_gap_.max() <= 1e-3
    sums, other = model_of(model).sums, model_of(FBTWSVM(**given).fit(there(X, place), y, weights)).sums
    np.testing.assert_allclose(sums.grams, other.grams, rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(sums.counts, other.counts)
    np.testing.assert_array_equal(sums.n_rows, other.n_rows)
    assert np.mean(model.predict(X) == whole.predict(X)) >= 0.96
    assert model.score(X, y) >= whole.score(X, y) - 0.01


@pytest.mark.parametrize("place", PLACES)
def test_the_gap_is_that_of_rows_whose_duals_are_fixed(place):
    """The problem that is left over: support rows and new rows are free, all others are fixed."""
    X, y = crowd(8000)
    model = FBTWSVM(**GIVEN, tol=1e-6).partial_fit(there(X[:4000], place), there(y[:4000], place))
    before = model_of(model).sums
    model.partial_fit(there(X[4000:], place), there(y[4000:], place))
    after = model_of(model)
    assert after.gaps.max() <= 1e-6
    np.testing.assert_allclose(after.sums.sums[:, -1], np.bincount(y), rtol=1e-9)
    gram = after.sums.grams[0] + 0.01 * np.eye(31)
    # the plane is stationary: G u + (sum of all duals times rows) = 0, of which the fixed part has not changed
    u = after.planes[0, 1].astype(np.float64)
    support = after.sums.support
    own = support.labels == 1
    kept = support.alpha[own, 0] @ support.rows[own]
    np.testing.assert_allclose(gram @ u, -(after.sums.dual_sums[0, 1] + kept), atol=1e-6 * np.abs(gram @ u).max())
    assert after.sums.n_condensed.sum() >= before.n_condensed.sum()


@pytest.mark.parametrize("place", PLACES)
def test_small_chunks_and_new_classes_are_learned_here(place):
    X, y = crowd(6000, 3)
    first = y < 2
    model = FBTWSVM(**GIVEN).partial_fit(there(X[first], place), there(y[first], place))
    small = copy(model).partial_fit(there(X[first][:50], place), there(y[first][:50], place))
    assert not isinstance(model_of(small), BatchModel)
    model.partial_fit(there(X, place), there(y, place))
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("place", PLACES)
def test_bad_chunks_change_nothing(place):
    X, y = crowd(6000)
    model = FBTWSVM(**GIVEN).partial_fit(there(X, place), there(y, place), classes=[0, 1])
    planes = model.planes_.copy()
    bad = X.copy()
    bad[5, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(there(bad, place), there(y, place))
    with pytest.raises(ValueError, match="not in the classes given"):
        model.partial_fit(there(X, place), there(y + 1, place))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(there(X[:, :3], place), there(y, place))
    np.testing.assert_array_equal(model.planes_, planes)
    one_class = y == 0
    model.partial_fit(there(X[one_class], place), there(y[one_class], place))
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("place", PLACES)
def test_decay_and_detectors_stay_here(place):
    X, y = crowd(3000)
    model = FBTWSVM(**GIVEN, decay="auto").partial_fit(there(X[:400], place), there(y[:400], place))
    model.partial_fit(there(X[400:600], place), there(y[400:600], place))
    assert here(model.predict(there(X, place))).shape == (3000,)


@needs_torch
@pytest.mark.parametrize("device", DEVICES)
def test_rows_of_numpy(device):
    X, y = crowd(6000)
    model = FBTWSVM(**GIVEN, device=device)
    for part in (slice(0, 3000), slice(3000, None)):
        model.partial_fit(X[part], y[part])
    assert isinstance(model_of(model), BatchModel)
    assert model.score(X, y) > 0.75


@pytest.mark.parametrize("place", PLACES)
def test_weights_of_classes_count_once(place):
    """What class_weight adds to the weight of a stored row does not grow from chunk to chunk."""
    X, y = crowd(9000)
    model = FBTWSVM(**GIVEN, class_weight={0: 1.0, 1: 5.0})
    for k in range(0, 9000, 3000):
        model.partial_fit(there(X[k : k + 3000], place), there(y[k : k + 3000], place))
        support = model_of(model).sums.support
        np.testing.assert_allclose(support.weights, np.where(support.labels == 1, 5.0, 1.0))


@needs_torch
@pytest.mark.parametrize("device", DEVICES)
def test_chunks_that_a_stream_takes(device):
    """One class only, weights of zero, lists: as without a device."""
    X, y = crowd(6000)
    model = FBTWSVM(**GIVEN, device=device).partial_fit(X[:3000], np.zeros(3000, dtype=int), classes=[0, 1])
    model.partial_fit(X[3000:].tolist(), y[3000:].tolist())
    assert model.classes_.tolist() == [0, 1]
    fitted = FBTWSVM(**GIVEN, device=device).fit(X, y)
    before = fitted.predict(X)
    fitted.partial_fit(X[:2000], y[:2000], sample_weight=np.zeros(2000))
    assert np.mean(fitted.predict(X) == before) > 0.95
