"""Nystroem features: how landmarks are chosen, and chosen anew."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from fbtwsvm.features import NystroemFeatures
from helpers import clouds


@pytest.mark.parametrize("landmarks", ["kmeans", "leverage"])
def test_chosen_landmarks_beat_random_ones(landmarks):
    random = np.random.default_rng(2)
    X = np.concatenate([random.normal(size=(400, 3)), random.normal(6, 0.3, size=(12, 3))])  # a small far cloud
    exact = rbf_kernel(X, gamma=0.3)

    def error(kind):
        maps = [NystroemFeatures(gamma=0.3, n_components=40, landmarks=kind, random_state=s) for s in range(8)]
        return np.mean([np.abs(Z @ Z.T - exact).max() for Z in (m.fit_transform(X) for m in maps)])

    assert error(landmarks) < error("random")


def test_nystroem_refuses_more_landmarks_than_rows(X):
    with pytest.raises(ValueError, match="n_components=81 is more than the 80 rows that"):
        NystroemFeatures(n_components=81).fit(X)


def test_new_landmarks_of_a_nystroem_map():
    X, _ = clouds(100)
    first = NystroemFeatures(gamma=0.1, n_components=20, random_state=0).fit(X)
    second = first.with_landmarks(X[:20])
    direct = np.exp(-0.1 * ((X[:20, None] - X[:20]) ** 2).sum(axis=-1))
    mapped = second.transform(X[:20])
    np.testing.assert_allclose(mapped @ mapped.T, direct, atol=1e-6)
    assert first.landmarks_ is not second.landmarks_
