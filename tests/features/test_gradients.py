"""Gradients of feature maps in closed form, beside finite differences."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_approximation import AdditiveChi2Sampler, SkewedChi2Sampler
from sklearn.preprocessing import StandardScaler

from fbtwsvm.features import AdditiveIntersectionFeatures, ExactKernel, FourierFeatures, NystroemFeatures
from fbtwsvm.features.gradients import sampler_gradient
from fbtwsvm.features.kernels import KERNELS, check_metric, gamma_scale, scaled, similarity

RANDOM = np.random.default_rng(0)
TRAINING = RANDOM.uniform(0.1, 2.0, size=(60, 4))
X = RANDOM.uniform(0.2, 1.9, size=(15, 4))
METRIC = np.array([1.5, 0.3, 0.0, 1.0])
MAPS = [
    *(ExactKernel(kernel=kernel, gamma=0.7) for kernel in KERNELS),
    *(NystroemFeatures(kernel=kernel, gamma=0.7, n_components=20, random_state=0) for kernel in KERNELS[2:]),
    *(NystroemFeatures(kernel=kernel, gamma=0.7, n_components=4, random_state=0) for kernel in KERNELS[:2]),
    *(FourierFeatures(kernel=k, gamma=0.7, random_state=0) for k in ("rbf", "laplacian", "skewed_intersection")),
    FourierFeatures(gamma=0.7, orthogonal=True, random_state=0),
    *(make(gamma=0.7, metric=METRIC) for make in (ExactKernel, NystroemFeatures, FourierFeatures)),
    ExactKernel(kernel="laplacian", gamma=0.7, metric=METRIC),
    *(AdditiveIntersectionFeatures(sample_steps=steps) for steps in (1, 2, 4)),
    *(AdditiveChi2Sampler(sample_steps=steps) for steps in (1, 2, 3)),
    AdditiveChi2Sampler(sample_steps=4, sample_interval=0.3),
    SkewedChi2Sampler(skewedness=1.0, random_state=0),
    SkewedChi2Sampler(skewedness=0.3, random_state=0),
]


def differences(function, rows, step=1e-6):
    """Return the slopes of a function of rows in each column, by central differences."""
    slopes = np.empty(rows.shape)
    for column in range(rows.shape[1]):
        moved = np.zeros(rows.shape[1])
        moved[column] = step
        slopes[:, column] = (function(rows + moved) - function(rows - moved)) / (2.0 * step)
    return slopes


@pytest.mark.parametrize("transformer", MAPS, ids=repr)
def test_gradients_are_finite_differences(transformer):
    transformer.fit(TRAINING)
    weights = np.random.default_rng(1).normal(size=transformer.transform(X).shape)
    gradient = transformer.gradient if hasattr(transformer, "gradient") else None
    found = gradient(X, weights) if gradient else sampler_gradient(transformer, X, weights)
    expected = differences(lambda rows: np.einsum("ij,ij->i", transformer.transform(rows), weights), X)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_at_a_kink_the_slope_is_the_mean_of_both_sides():
    row = np.array([[1.0, 1.0]])
    for kernel, expected in (("laplacian", 0.0), ("intersection", 0.5)):
        fitted = ExactKernel(kernel=kernel, gamma=0.7).fit(row)
        np.testing.assert_allclose(fitted.gradient(row, np.ones((1, 1))), expected)


def test_additive_features_have_no_slope_at_zero():
    fitted = AdditiveIntersectionFeatures().fit([[0.0, 1.0]])
    gradient = fitted.gradient(np.array([[0.0, 1.0]]), np.ones((1, 6)))
    assert gradient[0, 0] == 0.0
    assert np.isfinite(gradient[0, 1])


def test_maps_without_a_gradient_say_so():
    with pytest.raises(ValueError, match="given as a function has no gradient"):
        NystroemFeatures(kernel=lambda a, b: a @ b.T, n_components=5).fit(TRAINING).gradient(X, np.ones((15, 5)))
    with pytest.raises(ValueError, match="The map StandardScaler has no gradient"):
        sampler_gradient(StandardScaler().fit(X), X, X)


@pytest.mark.parametrize("make", [ExactKernel, NystroemFeatures, FourierFeatures])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_a_metric_is_the_map_of_multiplied_columns(make, kernel):
    options = {"random_state": 0} if make is not ExactKernel else {}
    plain = make(kernel=kernel, gamma=0.5, **options).fit(TRAINING * METRIC)
    own = make(kernel=kernel, gamma=0.5, metric=METRIC, **options).fit(TRAINING)
    np.testing.assert_allclose(own.transform(X), plain.transform(X * METRIC), atol=1e-12)
    sparse = make(kernel=kernel, gamma=0.5, metric=METRIC, **options).fit(sp.csr_matrix(TRAINING))
    np.testing.assert_allclose(sparse.transform(sp.csr_matrix(X)), own.transform(X), atol=1e-9)
    centred = TRAINING - TRAINING.mean(axis=0)
    for offset in (0.0, 1e6):  # the mean of a column does not count
        fitted = make(kernel=kernel, metric=METRIC, **options).fit(TRAINING + offset)
        assert fitted.gamma_ == pytest.approx(gamma_scale(centred * METRIC, kernel), rel=1e-6)


def test_a_fitted_map_keeps_its_metric():
    metric = METRIC.copy()
    for make in (ExactKernel, NystroemFeatures, FourierFeatures):
        fitted = make(gamma=0.5, metric=metric).fit(TRAINING)
        before = fitted.transform(X)
        metric[:] = 7.0
        fitted.set_params(metric=None)
        np.testing.assert_array_equal(fitted.transform(X), before)
        np.testing.assert_array_equal(fitted.metric_, METRIC)
        metric[:] = METRIC


def test_scaling_keeps_precision_and_zeros():
    rows = sp.random_array((20, 4), density=0.3, format="csr", dtype=np.float32, random_state=0)
    multiplied = scaled(rows, METRIC)
    assert multiplied.dtype == np.float32
    assert multiplied.nnz <= rows.nnz
    np.testing.assert_allclose(multiplied.toarray(), rows.toarray() * METRIC, rtol=1e-6)
    assert scaled(X, None) is X


def test_gamma_scale_of_very_many_rows_takes_some(monkeypatch):
    monkeypatch.setattr("fbtwsvm.features.kernels._MOST_IN_METRIC", 20)
    weights = np.arange(60.0)
    expected = gamma_scale(TRAINING[::3], "rbf", weights[::3], METRIC)
    assert gamma_scale(TRAINING, "rbf", weights, METRIC) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ([1.0, 2.0], "has the shape .2,.; X has 4 columns"),
        ([1.0, -2.0, 1.0, 1.0], "must hold zeros and numbers from 1e-12"),
        ([np.nan, 1.0, 1.0, 1.0], "must hold zeros and numbers"),
        ([np.inf, 1.0, 1.0, 1.0], "must hold zeros and numbers"),
        ([0.0] * 4, "only zeros"),
        ("wrong", "give a number for each column"),
        ([[1.0, 2.0], [3.0]], "give a number for each column"),
    ],
)
def test_a_wrong_metric_is_refused(metric, message):
    with pytest.raises(ValueError, match=message):
        check_metric(metric, "rbf", 4)


def test_only_kernels_of_distances_have_a_metric():
    for kernel in ("linear", "chi2", similarity("rbf", 1.0)):
        with pytest.raises(ValueError, match="metric exists for kernel='rbf' and 'laplacian'"):
            ExactKernel(kernel=kernel, metric=METRIC).fit(TRAINING)
