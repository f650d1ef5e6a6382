"""Rows that go to a device: arrays, frames, memory maps, chunks and Dask collections, also if they do not fit there."""

import sys

import numpy as np
import pytest

from devices import DEVICES, PLACES, crowd, needs_torch, there
from fbtwsvm import FBTWSVM
from fbtwsvm.device import home, rows

GIVEN = {
    "feature_map": "fourier", "gamma": 0.2, "n_components": 40, "random_state": 0, "precision": "highest", "tol": 1e-6,
}  # fmt: skip


@pytest.fixture(scope="module")
def expected():
    """Return the fit of an array on the device, in double precision."""
    if not DEVICES:
        pytest.skip("Torch is not installed")
    X, y = crowd(5000, 3)
    return X, y, {device: FBTWSVM(**GIVEN, device=device).fit(X, y) for device in DEVICES}


def assert_same_planes(one, other):
    np.testing.assert_allclose(one.planes_, other.planes_, rtol=1e-5, atol=1e-7)
    assert one.n_support_.tolist() == other.n_support_.tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_rows_of_numpy_are_fitted_as_tensors_are(device, expected):
    X, y, models = expected
    tensors = FBTWSVM(**GIVEN).fit(*(there(part, "torch" if device == "cpu" else "cuda") for part in (X, y)))
    assert_same_planes(models[device], tensors)
    assert type(models[device].predict(X)) is np.ndarray


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["frame", "list", "memmap", "integers"])
def test_rows_of_every_kind(device, kind, expected, tmp_path):
    X, y, models = expected
    other = models[device]
    if kind == "integers":
        X = np.round(10 * X).astype(np.int64)
        other = FBTWSVM(**GIVEN, device=device).fit(X.astype(np.float64), y)
    given = X
    if kind == "frame":
        given = pytest.importorskip("pandas").DataFrame(X, columns=list("abcde"))
    elif kind == "list":
        given = X.tolist()
    elif kind == "memmap":
        np.save(tmp_path / "rows.npy", X)
        given = np.load(tmp_path / "rows.npy", mmap_mode="r")
    fitted = FBTWSVM(**GIVEN, device=device).fit(given, y)
    assert_same_planes(fitted, other)
    if kind == "frame":
        assert fitted.feature_names_in_.tolist() == list("abcde")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["memmap", "array", "tensor"])
def test_rows_that_do_not_fit_there(device, kind, expected, monkeypatch, tmp_path):
    """Given rows stay here and go there block by block; mapped rows are mapped anew in every pass."""
    X, y, models = expected
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    other = FBTWSVM(**GIVEN, device=device).fit(X, y, weights)
    for module in (home, rows):
        monkeypatch.setattr(module, "free_bytes", lambda x: 100_000)
    monkeypatch.setattr(rows, "_BLOCK", 700)
    monkeypatch.setattr(home, "_TILE", 600)
    given = X
    if kind == "memmap":
        np.save(tmp_path / "rows.npy", X)
        given = np.load(tmp_path / "rows.npy", mmap_mode="r")
    elif kind == "tensor":
        given = there(X, "torch" if device == "cpu" else "cuda")
    assert_same_planes(FBTWSVM(**GIVEN, device=device).fit(given, y), models[device])
    assert_same_planes(FBTWSVM(**GIVEN, device=device).fit(given, y, weights), other)


@pytest.mark.parametrize("device", DEVICES)
def test_chunks(device, expected):
    X, y, models = expected
    chunks = [(X[k : k + 900], y[k : k + 900]) for k in range(0, len(y), 900)]
    assert_same_planes(FBTWSVM(**GIVEN, device=device).fit(chunks), models[device])


@pytest.mark.parametrize("device", DEVICES)
def test_dask_collections(device, expected):
    da = pytest.importorskip("dask.array")
    X, y, models = expected
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    given = [da.from_array(part, chunks=(700, *part.shape[1:])) for part in (X, y, weights)]
    fitted = FBTWSVM(**GIVEN, device=device).fit(*given[:2])
    assert_same_planes(fitted, models[device])
    assert fitted.n_passes_ == 1
    weighted = FBTWSVM(**GIVEN, device=device).fit(*given)
    assert_same_planes(weighted, FBTWSVM(**GIVEN, device=device).fit(X, y, weights))
    assert weighted.predict(given[0]).compute().shape == y.shape
    X[3000, 2] = np.nan
    bad = da.from_array(X, chunks=(700, 5))
    with pytest.raises(ValueError, match=r"Partition 4: .*NaN"):
        FBTWSVM(**GIVEN, device=device).fit(bad, given[1])
    X[3000, 2] = 0.0


@pytest.mark.parametrize("place", PLACES)
def test_tiny_values_and_mixed_libraries(place):
    X, y = crowd(2500)
    fitted = FBTWSVM(**{**GIVEN, "gamma": 2e29}).fit(there((1e-15 * X).astype(np.float32), place), y)
    other = FBTWSVM(**{**GIVEN, "gamma": 0.2}).fit(there(X, place), there(y, PLACES[0]))
    assert np.mean(fitted.predict(1e-15 * X) == other.predict(X)) > 0.99


def test_torch_is_needed_for_a_device_only(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    X, y = crowd(2500)
    with pytest.raises(ImportError, match=r"pip install 'fbtwsvm\[gpu\]'"):
        FBTWSVM(**GIVEN, device="cuda").fit(X, y)
    FBTWSVM(**GIVEN).fit(X, y)


@pytest.mark.parametrize("place", PLACES)
def test_integers_keep_their_digits(place):
    """As of NumPy rows, integers of 32 bits and more are computed in double precision."""
    X, y = crowd(2500)
    times = np.round(1000 * X).astype(np.int64) + 1_700_000_000
    given = {**GIVEN, "gamma": 2e-7}
    other = FBTWSVM(**given).fit(times, y)
    fitted = FBTWSVM(**given).fit(there(times, place), there(y, place))
    assert np.mean(fitted.predict(times) == other.predict(times)) >= 0.99


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [">f4", ">f8", np.longdouble, np.float16])
def test_rows_that_torch_does_not_know(device, dtype, expected):
    X, y, _ = expected
    given = X.astype(dtype)
    given.flags.writeable = False
    fitted = FBTWSVM(**GIVEN, device=device).fit(given, y.astype(">i4"))
    assert fitted.score(X, y) > 0.5


@pytest.mark.parametrize("device", DEVICES)
def test_bad_weights_of_a_collection_name_their_partition(device):
    da = pytest.importorskip("dask.array")
    X, y = crowd(1500)
    weights = np.ones(1500)
    weights[700:705] = -1.0
    given = [da.from_array(part, chunks=(500, *part.shape[1:])) for part in (X, y, weights)]
    with pytest.raises(ValueError, match=r"Partition 1: .*Negative"):
        FBTWSVM(**GIVEN, device=device).fit(*given)


@pytest.mark.parametrize("kind", ["array", "chunks", "partial_fit", "meta"])
def test_a_device_that_is_not_there_is_told_first(kind):
    if not DEVICES:
        pytest.skip("Torch is not installed")
    X, y = crowd(300)
    model = FBTWSVM(**GIVEN, device="meta" if kind == "meta" else "cuda:77")
    call, given = {"chunks": (model.fit, ([(X, y)],)), "partial_fit": (model.partial_fit, (X, y))}.get(
        kind, (model.fit, (X, y))
    )
    with pytest.raises(ValueError, match=r"cannot be used by Torch here .*set_params\(device=None\)"):
        call(*given)


@needs_torch
def test_tensors_with_gradients_and_sparse_ones():
    import torch

    X, y = crowd(2500)
    rows = torch.asarray(X).requires_grad_()
    fitted = FBTWSVM(**GIVEN).fit(rows, torch.asarray(y))
    assert not fitted.predict_proba(rows).requires_grad
    with pytest.raises(ValueError, match="Sparse tensors"):
        FBTWSVM(**GIVEN).fit(torch.asarray(X).to_sparse(), torch.asarray(y))


def test_a_model_does_not_hold_its_rows():
    if not DEVICES:
        pytest.skip("Torch is not installed")
    rows, labels = (there(part, "torch") for part in crowd(2500))
    model = FBTWSVM(**GIVEN).fit(rows, labels)
    assert model._learned.place.untyped_storage().nbytes() == 0
