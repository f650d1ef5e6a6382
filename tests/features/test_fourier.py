"""Random Fourier features: independent and orthogonal directions."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from fbtwsvm.features import FourierFeatures


def test_orthogonal_directions_beat_independent_ones():
    X = np.random.default_rng(1).normal(size=(60, 16))
    exact = rbf_kernel(X, gamma=0.03)

    def error(orthogonal):
        maps = [
            FourierFeatures(gamma=0.03, n_components=64, orthogonal=orthogonal, random_state=seed) for seed in range(40)
        ]
        return np.mean([((Z @ Z.T - exact) ** 2).mean() for Z in (m.fit_transform(X) for m in maps)])

    assert error(True) < 0.9 * error(False)


def test_orthogonal_needs_rbf(X):
    with pytest.raises(ValueError, match="kernel='rbf' only"):
        FourierFeatures(kernel="laplacian", orthogonal=True).fit(X)
