"""Answers for rows on a device: they follow X, and are those of the processor."""

import pickle

import numpy as np
import pytest
from sklearn import config_context

from devices import DEVICES, PLACES, crowd, here, needs_torch, there
from fbtwsvm import FBTWSVM
from fbtwsvm.device import answers
from fbtwsvm.export.modelfile import load, save
from fbtwsvm.model import decision

METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba")
GIVEN = {"feature_map": "fourier", "gamma": 0.2, "n_components": 40, "random_state": 0}


def assert_same_answers(model, X, place, rounding=1e-6):
    rows = there(X, place)
    for method in METHODS:
        one, other = getattr(model, method)(rows), getattr(model, method)(X)
        assert type(one) is type(rows)
        assert getattr(one, "device", None) == getattr(rows, "device", None)
        assert here(one).dtype == other.dtype
        if method == "predict":
            assert np.mean(here(one) == other) >= 0.999
        elif method == "predict_log_proba":
            np.testing.assert_allclose(np.exp(here(one)), np.exp(other), atol=rounding)
        else:
            np.testing.assert_allclose(here(one), other, atol=rounding, rtol=1e-4)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"multiclass": "vote"},
        {"decision": "distance"},
        {"kernel": "laplacian"},
        {"kernel": "laplacian", "feature_map": "nystroem"},
        {"feature_map": "nystroem"},
        {"feature_map": "orthogonal", "metric": [1.0, 2.0, 0.5, 0.0, 1.0]},
        {"feature_map": "nystroem", "metric": [1.0, 2.0, 0.5, 0.0, 1.0]},
        {"kernel": "linear", "feature_map": "nystroem", "n_components": 5},
        {"kernel": "linear", "feature_map": "auto", "n_components": "auto"},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_answers_are_those_of_the_processor(place, parameters, n_classes):
    X, y = crowd(700, n_classes)
    model = FBTWSVM(**{**GIVEN, **parameters}).fit(X, y)
    assert_same_answers(model, X, place)


@pytest.mark.parametrize("place", PLACES)
def test_many_classes(place, monkeypatch):
    """The DAG plays plane by plane with many classes; of very many, only some probabilities are coupled."""
    X, y = crowd(1500, 26)
    model = FBTWSVM(**GIVEN).fit(X, y)
    assert_same_answers(model, X, place)
    monkeypatch.setattr(decision, "VERY_MANY_CLASSES", 20)
    monkeypatch.setattr(answers, "VERY_MANY_CLASSES", 20)
    monkeypatch.setattr(decision, "_COUPLED", 10)
    assert_same_answers(model, X, place)


@pytest.mark.parametrize("place", PLACES)
def test_what_a_device_cannot_compute_is_computed_here(place):
    """An exact kernel, a committee, an additive kernel and classes that are promised."""
    X, y = crowd(400)
    stream = FBTWSVM(decay="auto", random_state=0).partial_fit(X, y)
    promised = FBTWSVM(**GIVEN).partial_fit(X, y, classes=[0, 1, 2])
    additive = FBTWSVM(kernel="chi2", random_state=0).fit(np.abs(X), y)
    for model in (FBTWSVM(random_state=0).fit(X, y), stream, promised, additive):
        rows = np.abs(X) if model is additive else X
        for method in METHODS:
            answer = getattr(model, method)(there(rows, place))
            assert type(answer) is type(there(rows, place))
            np.testing.assert_array_equal(here(answer), getattr(model, method)(rows))


@pytest.mark.parametrize("place", PLACES)
def test_score_planes_and_gradients(place):
    X, y = crowd(500)
    weights = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    model, rows = FBTWSVM(**GIVEN).fit(X, y), there(X, place)
    for given in (y, there(y, place)):
        assert model.score(rows, given) == pytest.approx(model.score(X, y))
    assert model.score(rows, there(y, place), there(weights, place)) == pytest.approx(model.score(X, y, weights))
    np.testing.assert_allclose(here(model.plane_values(rows, 0, 1)), model.plane_values(X, 0, 1))
    np.testing.assert_allclose(here(model.gradients(rows)), model.gradients(X))
    named = FBTWSVM(**GIVEN).fit(X, np.array(["no", "yes"])[y])
    assert named.predict(rows).tolist() == named.predict(X).tolist()
    assert named.score(rows, np.array(["no", "yes"])[y]) == pytest.approx(model.score(X, y))


@pytest.mark.parametrize("place", PLACES)
def test_answers_in_tiles(place, monkeypatch):
    X, y = crowd(900, 3)
    model = FBTWSVM(**GIVEN).fit(X, y)
    whole = here(model.predict_proba(there(X, place)))
    monkeypatch.setattr(answers, "_TILE_NUMBERS", 10_000)
    np.testing.assert_allclose(here(model.predict_proba(there(X, place))), whole, atol=1e-9)


@needs_torch
@pytest.mark.parametrize("device", DEVICES)
def test_rows_of_numpy_are_answered_on_the_device(device):
    X, y = crowd(2500, dtype=np.float32)
    model = FBTWSVM(**GIVEN).fit(X, y)
    expected = {method: getattr(model, method)(X) for method in METHODS}
    model.set_params(device=device)
    for method in METHODS:
        answer = getattr(model, method)(X)
        assert type(answer) is np.ndarray
        if method == "predict":
            assert np.mean(answer == expected[method]) >= 0.999
        else:
            np.testing.assert_allclose(answer, expected[method], atol=2e-3, rtol=2e-3)
            assert answer.dtype == expected[method].dtype
    assert model.score(X, y) == pytest.approx(np.mean(expected["predict"] == y), abs=2e-3)


@pytest.mark.parametrize("place", PLACES)
def test_a_model_fitted_there_is_saved_and_loaded_here(place, tmp_path):
    X, y = crowd(2500)
    model = FBTWSVM(**GIVEN).fit(there(X, place), there(y, place))
    save(model, tmp_path / "model.fbt")
    for other in (load(tmp_path / "model.fbt"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert np.mean(here(model.predict(there(X, place))) == other.predict(X)) >= 0.999
        other.partial_fit(X[:20], y[:20])


@pytest.mark.parametrize("place", PLACES)
def test_public_arrays_follow_the_rows_under_dispatch_only(place, monkeypatch):
    X, y = crowd(2500)
    rows = there(X, place)
    model = FBTWSVM(**GIVEN, memory=50).fit(rows, there(y, place))
    names = ("planes_", "duality_gap_", "n_support_", "metric_")
    for name in names:
        assert type(getattr(model, name)) is np.ndarray
    monkeypatch.setattr("fbtwsvm.classifier.get_config", lambda: {"array_api_dispatch": True})
    for name in names:
        assert type(getattr(model, name)) is type(rows)
    assert type(model.classes_) is np.ndarray
    with pytest.raises(ValueError, match=r"FBTWSVM.predict\(\) must use the same namespace"):
        model.predict(X)
    assert type(pickle.loads(pickle.dumps(model)).planes_) is np.ndarray
    assert type(FBTWSVM(**GIVEN).fit(X, y).planes_) is np.ndarray


def test_dispatch_is_off_unless_it_is_switched_on():
    with config_context(array_api_dispatch=False):
        X, y = crowd(2500)
        model = FBTWSVM(**GIVEN).fit(there(X, PLACES[0]), y)
        assert model.predict(X).shape == (2500,)


@pytest.mark.parametrize("place", PLACES)
def test_score_checks_labels_and_weights(place):
    X, y = crowd(500)
    model, rows = FBTWSVM(**GIVEN).fit(X, y), there(X, place)
    assert model.score(rows, there(y[:, None], place)) == pytest.approx(model.score(X, y))
    with pytest.raises(ValueError, match="one label for each row"):
        model.score(rows, there(y[:1], place))
    with pytest.raises(ValueError, match="every sample_weight is zero"):
        model.score(rows, there(y, place), there(np.zeros(500), place))
    assert model.score(rows, y.astype(np.uint16)) == pytest.approx(model.score(X, y))


@needs_torch
def test_full_products_of_several_threads():
    """How Torch multiplies is one setting for all threads: it comes back when the last one is done."""
    import torch

    from fbtwsvm._namespace import full_products

    x = torch.zeros(1)
    torch.set_float32_matmul_precision("high")
    try:
        one, other = full_products(x), full_products(x)
        one.__enter__()
        other.__enter__()
        one.__exit__(None, None, None)
        assert torch.get_float32_matmul_precision() == "highest"
        other.__exit__(None, None, None)
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")


@needs_torch
@pytest.mark.parametrize("device", DEVICES)
def test_a_model_file_does_not_ask_for_its_device(device, tmp_path):
    X, y = crowd(2500)
    model = FBTWSVM(**GIVEN, device=device).fit(X, y)
    save(model, tmp_path / "model.fbt")
    assert load(tmp_path / "model.fbt").device is None
