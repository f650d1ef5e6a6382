"""bf16 features on a GPU: products lose nothing of them, and gaps are those of the rounded features."""

import numpy as np
import pytest

from devices import crowd, needs_gpu
from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.device.home import DeviceHome
from fbtwsvm.device.maps import DeviceMap
from fbtwsvm.solver import products

pytestmark = needs_gpu
GIVEN = {"feature_map": "fourier", "gamma": 0.05, "random_state": 0}


def tensors(X, y):
    import torch

    return torch.asarray(X, device="cuda"), torch.asarray(y, device="cuda")


def rounded(model, X):
    """Return the features of rows on the card, in double precision after rounding."""
    import torch

    return DeviceMap(model_of(model).mapping, X[:0], torch.bfloat16).rows(X).double()


@pytest.mark.parametrize("n_components", [300, 1500])
@pytest.mark.parametrize("apart", [0.0, 1.5])
def test_the_gap_is_true_for_the_rounded_features(n_components, apart):
    import torch

    X, y = crowd(300_000, n_columns=18, dtype=np.float32)
    X[:, 0] += apart * y
    rows, labels = tensors(X, y)
    model = FBTWSVM(**GIVEN, n_components=n_components, membership="none").fit(rows, labels)
    features = rounded(model, rows)
    for a, b in ((0, 1), (1, 0)):
        u = torch.zeros(features.shape[1], device="cuda", dtype=torch.float64)
        u[: n_components + 1] = torch.asarray(model_of(model).planes[a, b], device="cuda").double()
        near, pushed = features[labels == a], features[labels == b]
        gram = near.T @ near + 0.01 * torch.eye(len(u), device="cuda", dtype=torch.float64)
        x = 1.0 + pushed @ u
        primal = 0.5 * u @ gram @ u + x.clamp_min(0.0).sum()
        dual = -np.inf
        for width in (0.06, 0.024, 0.01, 0.004, 0.001):
            alpha = ((x + width / 2) / width).clamp(0.0, 1.0)
            pull = pushed.T @ alpha
            dual = max(dual, float(alpha.sum() - 0.5 * pull @ torch.linalg.solve(gram, pull)))
        assert (float(primal) - dual) / len(x) <= model.duality_gap_[a, b] + 1e-4
        assert model.duality_gap_[a, b] <= 1e-3


@pytest.mark.parametrize("n_columns", [104, 1000])
def test_products_of_rounded_rows_are_precise(n_columns):
    import torch

    make = torch.Generator("cuda").manual_seed(0)
    rows = torch.rand(50_000, n_columns, device="cuda", generator=make).bfloat16()
    exact = rows.double()
    vectors = torch.randn(3, n_columns, device="cuda", generator=make)
    found = products.row_values(rows, vectors)
    np.testing.assert_allclose(found.cpu(), (vectors.double() @ exact.T).cpu(), atol=2e-3)
    weights = torch.rand(3, 50_000, device="cuda", generator=make)
    sums = weights.double() @ exact
    np.testing.assert_allclose(products.weighted_sums(weights, rows).cpu(), sums.cpu(), rtol=2e-5)
    given = torch.rand(50_000, device="cuda", generator=make, dtype=torch.float64)
    zero = torch.zeros(n_columns, n_columns, device="cuda", dtype=torch.float64)
    for one in (None, given):
        gram = products.add_gram(zero.clone(), rows, one)
        expected = exact.T @ (exact if one is None else exact * one[:, None])
        np.testing.assert_allclose(gram.cpu(), expected.cpu(), rtol=3e-5)  # all errors have one sign: they add up
        assert bool((gram == gram.T).all()) or one is not None


def test_high_and_highest_agree():
    X, y = crowd(100_000, 4, n_columns=10, dtype=np.float32)
    rows, labels = tensors(X, y)
    high, highest = (FBTWSVM(**GIVEN, n_components=400, precision=p).fit(rows, labels) for p in ("high", "highest"))
    assert abs(high.score(rows, labels) - highest.score(rows, labels)) <= 0.002
    assert float((high.predict(rows) == highest.predict(rows)).double().mean()) >= 0.99
    assert np.mean(high.predict(X) == high.predict(rows).cpu().numpy()) >= 0.999


def test_what_the_user_has_set_does_not_change_a_map():
    import torch

    X, y = crowd(30_000, n_columns=10, dtype=np.float32)
    rows, labels = tensors(50.0 * X, y)
    given = {**GIVEN, "gamma": 0.05 / 2500, "n_components": 200, "precision": "highest"}
    expected = FBTWSVM(**given).fit(rows, labels)
    torch.set_float32_matmul_precision("medium")
    try:
        model = FBTWSVM(**given).fit(rows, labels)
        assert torch.get_float32_matmul_precision() == "medium"
        answers = model.predict(rows)
    finally:
        torch.set_float32_matmul_precision("highest")
    np.testing.assert_allclose(model.planes_, expected.planes_, rtol=1e-3, atol=1e-4)
    assert float((answers == expected.predict(rows)).double().mean()) >= 0.999


def test_few_columns_and_many_rows_stay_definite():
    """The Gram matrix of 500 features of three columns has eigenvalues far below the rounding of bf16 sums."""
    import torch

    make = torch.Generator("cuda").manual_seed(0)
    X = torch.rand(400_000, 3, device="cuda", generator=make)
    y = (X.sum(dim=1) + 0.1 * torch.randn(len(X), device="cuda", generator=make) > 1.5).long()
    model = FBTWSVM(**{**GIVEN, "gamma": 1.0}, n_components=500).fit(X, y)
    assert model.duality_gap_.max() <= 1e-3
    assert model.score(X, y) > 0.85
    with pytest.warns(UserWarning, match="was added to reg"):
        model = FBTWSVM(**{**GIVEN, "gamma": 1.0}, n_components=1500).fit(X, y)
    assert model.duality_gap_.max() <= 1e-3
    assert model.score(X, y) > 0.85


def test_a_fit_leaves_nothing_on_the_card():
    import torch

    rows, labels = tensors(*crowd(50_000, n_columns=10, dtype=np.float32))
    model = FBTWSVM(**GIVEN, n_components=500).fit(rows, labels)
    before = torch.cuda.memory_allocated()
    model.fit(rows, labels)
    assert torch.cuda.memory_allocated() - before < 2**20
    assert model_of(model).planes.dtype == np.float32


def test_rows_that_do_not_fit_mapped(monkeypatch):
    X, y = crowd(60_000, 3, n_columns=10, dtype=np.float32)
    rows, labels = tensors(X, y)
    held = FBTWSVM(**GIVEN, n_components=300).fit(rows, labels)
    monkeypatch.setattr(DeviceHome, "hold", lambda self: None)
    mapped = FBTWSVM(**GIVEN, n_components=300).fit(rows, labels)
    assert mapped.duality_gap_.max() <= 1e-3
    assert float((mapped.predict(rows) == held.predict(rows)).double().mean()) >= 0.995
