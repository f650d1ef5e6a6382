"""Which map the parameters ask for, in a fit and on a stream."""

import numpy as np
import pytest
from sklearn.kernel_approximation import AdditiveChi2Sampler, SkewedChi2Sampler

from fbtwsvm.features import AdditiveIntersectionFeatures, ExactKernel, FourierFeatures, NystroemFeatures
from fbtwsvm.model.choose_map import auto_components, choose_map, most_components, stream_map
from fbtwsvm.model.rows import arrange


def training_rows(n, n_columns=3):
    X = np.random.default_rng(0).uniform(size=(n, n_columns))
    return arrange(X, np.arange(n) % 2, np.ones(n), 2)


@pytest.mark.parametrize(
    ("kernel", "feature_map", "small", "large", "stream"),
    [
        ("rbf", "auto", ExactKernel, NystroemFeatures, NystroemFeatures),
        ("rbf", "fourier", FourierFeatures, FourierFeatures, FourierFeatures),
        ("laplacian", "nystroem", NystroemFeatures, NystroemFeatures, NystroemFeatures),
        ("linear", "auto", type(None), type(None), type(None)),
        ("chi2", "auto", AdditiveChi2Sampler, AdditiveChi2Sampler, AdditiveChi2Sampler),
        ("intersection", "auto", *[AdditiveIntersectionFeatures] * 3),
        ("skewed_chi2", "fourier", *[SkewedChi2Sampler] * 3),
        (np.dot, "auto", ExactKernel, NystroemFeatures, NystroemFeatures),
    ],
)
def test_kernel_size_and_stream_decide_the_map(kernel, feature_map, small, large, stream):
    few, many = training_rows(100), training_rows(2100)
    assert type(choose_map(kernel, feature_map, "auto", 0.5, few, 0)) is small
    assert type(choose_map(kernel, feature_map, "auto", 0.5, many, 0)) is large
    assert type(stream_map(kernel, feature_map, 40, 0.5, few, 0)) is stream


def test_a_number_of_features_asks_for_landmarks_and_a_stream_starts_with_those_it_has():
    assert choose_map("rbf", "auto", 40, 0.5, training_rows(100), 0).n_components == 40
    assert stream_map("rbf", "auto", 300, 0.5, training_rows(100), 0).n_components == 100


def test_wide_rows_of_the_linear_kernel_are_not_used_as_they_are():
    assert isinstance(choose_map("linear", "auto", "auto", None, training_rows(60, 4001), 0), ExactKernel)


def test_a_given_transformer_is_cloned():
    given = FourierFeatures(random_state=0)
    found = choose_map("rbf", given, "auto", None, training_rows(100), 0)
    assert found is not given
    assert found.get_params() == given.get_params()


def test_features_grow_with_the_root_of_the_rows_within_bounds():
    assert auto_components(10_000, 2) == 1000
    assert auto_components(10, 2) == 50
    assert auto_components(10**7, 2) == most_components(10**7, 2) == 50
