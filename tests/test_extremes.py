"""Extreme but finite data: an answer or a clear error, and no row can spoil a stream for others."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.features.kernels import similarity
from helpers import clouds, state, stream


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("decay", [1.0, "auto"])
@pytest.mark.parametrize(
    ("kernel", "size", "weight"),
    [("linear", 1e10, 1.0), ("linear", 1e14, 1.0), ("linear", 1.0, 1e300), ("rbf", 1.0, 1e300), ("rbf", 1.0, 1e15)],
)
def test_a_row_that_outweighs_all_others_is_refused_and_changes_nothing(kernel, size, weight, decay, dtype):
    X, y = clouds(600, 2)
    X = X.astype(dtype)
    options = {"n_components": 30, "gamma": 0.1, "warm_up": 100, "decay": decay, "random_state": 0}
    model = stream(FBTWSVM(kernel=kernel, **options), X[:300], y[:300], 50)
    before = state(model)
    column = int(np.abs(X[1]).argmax())
    with pytest.raises(ValueError, match=rf"Row 1 weighs .* column {column}"):
        model.partial_fit(X[:3] * np.array([[1.0], [size], [1.0]], dtype=dtype), y[:3], sample_weight=[1, weight, 1])
    assert state(model) == before
    stream(model, X[300:], y[300:], 50).settle()
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1e2, 1e4])
def test_large_rows_and_weights_below_the_limit_are_learned(size, dtype):
    X, y = clouds(900, 2)
    X = X.astype(dtype)
    for kernel, factor, weight in (("linear", size, 1.0), ("linear", 1.0, size**2), ("rbf", 1.0, size**2)):
        model = FBTWSVM(kernel=kernel, gamma=0.1, n_components=30, warm_up=100, random_state=0)
        stream(model, X[:300], y[:300], 50)
        for row in range(20):
            model.partial_fit(X[[row]] * dtype(factor), y[[row]], sample_weight=[weight])
        stream(model, X[300:], y[300:], 50).settle()
        assert np.isfinite(model.planes_).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("jump", [1e6, 1e9])
def test_a_constant_column_that_leaves_its_range(jump, dtype):
    """Squared distances of far rows cancel; the landmarks were no longer positive semi-definite."""
    random = np.random.default_rng(0)
    X, y = clouds(3000, 2)
    X[:, 2] = 0.0
    X[800:, 2] = jump * random.random(2200) * (random.random(2200) < 0.5)
    X = X.astype(dtype)
    model = FBTWSVM(gamma=0.1, warm_up=200, n_components=60, random_state=0)
    stream(model, X, y, 100)
    assert model.score(X[:800], y[:800]) > 0.9


def test_similarities_of_far_rows_do_not_cancel():
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 4))
    X[10:20] += [0.0, 1e9, 0.0, 0.0]
    exact = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=-1))
    for rows in (X, sp.csr_matrix(X)):
        kernel = similarity("rbf", 0.3)(rows, rows)
        np.testing.assert_allclose(kernel, exact, atol=1e-6)
        assert np.linalg.eigvalsh(kernel).min() > -1e-9


@pytest.mark.parametrize(("dtype", "value"), [(np.float64, 1e300), (np.float32, 3e38)])
@pytest.mark.parametrize("sparse", [False, True])
def test_values_that_are_too_large_are_named(dtype, value, sparse):
    X, y = clouds(200)
    X = X.astype(dtype)
    bad = X.copy()
    bad[17, 2] = -value
    rows = sp.csr_matrix(bad) if sparse else bad
    model = FBTWSVM(gamma=0.1).fit(X, y)
    before = state(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (model.fit, model.partial_fit, FBTWSVM().fit, FBTWSVM().partial_fit):
            with pytest.raises(ValueError, match=r"Row 17 has the value -[13]e\+\d+ in column 2"):
                call(rows, y)
        if dtype == np.float64:
            with pytest.raises(ValueError, match="Row 17"):
                model.predict(rows)
        else:  # the exact kernel works in float64
            assert len(model.predict(rows)) == 200
    assert state(model) == before


def test_very_small_values():
    X, y = clouds(200)
    tiny = (X * 1e-38).astype(np.float32)
    model = FBTWSVM().fit(tiny, y)
    assert model.score(tiny, y) >= SVC().fit(tiny.astype(float) * 1e38, y).score(tiny.astype(float) * 1e38, y) - 0.03
    assert stream(FBTWSVM(warm_up=60, random_state=0), tiny, y, 40).score(tiny, y) > 0.9
    with pytest.raises(ValueError, match="squares of such numbers vanish"):
        FBTWSVM().fit(X * 1e-200, y)


def test_columns_of_unequal_scale_are_warned_about():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    X[:, 20] *= 1e6
    with pytest.warns(UserWarning, match=r"Column 20 ranges over .*StandardScaler"):
        FBTWSVM(gamma="scale").fit(X, y)
    model = FBTWSVM(gamma="scale", warm_up=200, n_components=20)
    with pytest.warns(UserWarning, match="Column 20"):
        stream(model, X, y, 100)
    with pytest.warns(UserWarning, match="Column 20"):
        FBTWSVM(gamma="scale").fit(sp.csr_matrix(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FBTWSVM(gamma="scale").fit(np.delete(X, 20, axis=1), y)
        FBTWSVM(kernel="chi2").fit(X, y)
        model.partial_fit(X[:10], y[:10])  # once is enough


def weighted_stream(first=1.0):
    X, y = clouds(900, 2)
    model = FBTWSVM(gamma=0.1, n_components=20, feature_map="fourier", warm_up=100, random_state=0)
    return X, y, model.partial_fit(X[:300], y[:300], sample_weight=np.full(300, first), ids=np.arange(300))


@pytest.mark.parametrize("first", [1e-13, 1.0, 1e13])
def test_the_weights_of_the_first_rows_do_not_end_a_stream(first):
    X, y, model = weighted_stream(first)
    model.partial_fit(X[300:310], y[300:310], sample_weight=np.full(10, max(first, 1.0)))
    model.partial_fit(X[310:320], y[310:320], sample_weight=np.full(10, first)).settle()
    assert np.isfinite(model.planes_).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_heavy_rows_that_are_unlearned_leave_the_usual_weight():
    X, y, model = weighted_stream()
    for number in range(1000, 1003):
        model.partial_fit(X[300:301], y[300:301], sample_weight=[1e6], ids=[number])
        model.unlearn(X[300:301], y[300:301], ids=[number])
    model.partial_fit(X[301:310], y[301:310])
    assert model_of(model).members[0].mean_weight == pytest.approx(1.0)


def test_models_with_other_weights_are_merged():
    X, y, model = weighted_stream()
    other = FBTWSVM(gamma=0.1, n_components=20, feature_map="fourier", warm_up=100, random_state=0)
    other.partial_fit(X[300:600], y[300:600], sample_weight=np.full(300, 1e3), ids=np.arange(300, 600))
    model.merge(other)
    assert model_of(model).members[0].mean_weight == pytest.approx(500.5)
    model.unlearn(X[300:600], y[300:600], ids=np.arange(300, 600))
    assert model_of(model).members[0].mean_weight == pytest.approx(1.0)
    model.partial_fit(X[600:], y[600:])


@pytest.mark.parametrize(("kernel", "size", "weight"), [("rbf", 1.0, 1e20), ("linear", 1e10, 1.0), ("rbf", 1.0, 1e300)])
def test_a_heavy_row_is_refused_in_the_warm_up_already(kernel, size, weight):
    X, y = clouds(400, 2)
    model = FBTWSVM(kernel=kernel, gamma=0.1, n_components=20, warm_up=100, random_state=0)
    weights, scaled = np.ones(40), X[:40].copy()
    weights[3], scaled[3] = weight, size * X[3]
    with pytest.raises(ValueError, match="Row 3 weighs"):
        model.partial_fit(scaled, y[:40], sample_weight=weights)
    model.partial_fit(X[:20], y[:20])
    with pytest.raises(ValueError, match="Row 3 weighs"):
        model.partial_fit(scaled, y[:40], sample_weight=weights)
    assert stream(model, X[20:], y[20:], 40).score(X, y) > 0.95


@pytest.mark.parametrize("seed", [10, 33])
def test_sums_of_float32_rows_that_come_and_go_stay_solvable(seed):
    """Rounding errors of rows that have left exceed the ridge of those that stay."""
    random = np.random.default_rng(seed)
    X, y = clouds(600, 2, seed=seed)
    X = X.astype(np.float32)
    model = FBTWSVM(gamma=0.1, n_components=20, feature_map="fourier", warm_up=60, decay=0.9, memory=5, second_look=0)
    model.set_params(statistics="kept", random_state=0)
    for first in range(0, 600, 20):
        rows, weights = np.arange(first, first + 20), 10.0 ** random.uniform(-3, 3, 20)
        model.partial_fit(X[rows], y[rows], sample_weight=weights, ids=rows)
    model.unlearn(X[580:590], y[580:590], ids=range(580, 590))
    model.settle()
    assert np.isfinite(model.planes_).all()
