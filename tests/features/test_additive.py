"""Explicit features of the intersection kernel."""

import numpy as np
import pytest
import scipy.sparse as sp

from fbtwsvm.features import AdditiveIntersectionFeatures


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_column_becomes_so_many_features_and_zeros_stay_zero(steps, X):
    mapped = AdditiveIntersectionFeatures(sample_steps=steps).fit_transform(X)
    assert mapped.shape == (len(X), 5 * (2 * steps - 1))
    assert not mapped[3].any()  # an empty histogram
    np.testing.assert_array_equal(
        mapped, AdditiveIntersectionFeatures(sample_steps=steps).fit_transform(sp.csr_array(X))
    )


def test_more_samples_of_the_spectrum_come_nearer_to_the_kernel(X):
    exact = np.minimum(X[:, None], X).sum(axis=2)
    errors = []
    for steps, interval in ((2, 0.7), (10, 0.5), (60, 0.2)):
        mapped = AdditiveIntersectionFeatures(sample_steps=steps, sample_interval=interval).fit_transform(X)
        errors.append(np.abs(mapped @ mapped.T - exact).mean())
    assert errors[0] > errors[1] > errors[2]
