"""The fitted map as the solver sees it: scale, bias column, tiles, landmarks that are replaced."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator

from fbtwsvm.features import ExactKernel, FourierFeatures, NystroemFeatures
from fbtwsvm.model.mapping import Mapping
from fbtwsvm.model.new_map import new_landmarks
from fbtwsvm.model.rows import arrange

X = np.random.default_rng(0).normal(size=(50, 3))
Y = np.arange(50) % 2
ROWS = arrange(X, Y, np.linspace(0.5, 2.0, 50), 2)


def fitted(transformer, kernel="rbf"):
    return Mapping.fit(transformer, ROWS, Y, kernel)


@pytest.mark.parametrize(
    "transformer", [None, PCA(2), NystroemFeatures(kernel="linear", n_components=3, random_state=0)]
)
def test_maps_without_a_scale_of_their_own_have_a_mean_square_of_one(transformer):
    mapping, mapped = fitted(transformer, "linear")
    np.testing.assert_allclose(mapped, mapping.rows(X, ROWS.index))
    assert (mapped[:, -1] == 1.0).all()
    assert np.average((mapped[:, :-1] ** 2).sum(axis=1), weights=ROWS.weights) == pytest.approx(1.0)


def test_normalised_kernels_are_not_scaled_and_the_exact_kernel_is_a_matrix():
    assert fitted(FourierFeatures(gamma=0.5, random_state=0))[0].scale == 1.0
    mapping, kernel = fitted(ExactKernel(gamma=0.5))
    assert mapping.exact
    assert np.diag(kernel) == pytest.approx(1.0)


def test_tiles_do_not_matter(monkeypatch):
    mapping, _ = fitted(FourierFeatures(gamma=0.5, n_components=10, random_state=0))
    whole = mapping.rows(X)
    monkeypatch.setattr("fbtwsvm.model.mapping._TILE", 7)
    np.testing.assert_allclose(mapping.rows(X), whole, atol=1e-14)


def test_maps_are_the_same_if_all_their_numbers_are():
    one, twin, other = (fitted(FourierFeatures(gamma=0.5, random_state=seed))[0] for seed in (0, 0, 1))
    assert one.same_as(twin)
    assert not one.same_as(other)
    assert not one.same_as(fitted(NystroemFeatures(gamma=0.5, n_components=5, random_state=0))[0])


def test_a_renewed_map_carries_rows_over_as_the_old_map_sees_them():
    """With all rows as landmarks nothing is lost: what is carried over is what the new map says itself."""
    mapping, mapped = fitted(NystroemFeatures(gamma=0.1, n_components=50, random_state=0))
    new = new_landmarks(mapping, X[:20], None)
    np.testing.assert_allclose(mapped @ new.change.T, new.mapping.rows(X, ROWS.index), atol=1e-5)


def test_landmarks_are_known_by_their_values_and_by_their_places():
    mapping, _ = fitted(NystroemFeatures(gamma=0.5, n_components=7, random_state=0))
    held = mapping.is_landmark(X)
    assert held.sum() == mapping.landmarks(ROWS).sum() == 7
    assert sorted(ROWS.index[mapping.landmarks(ROWS)]) == np.flatnonzero(held).tolist()
    assert mapping.renewable


def test_a_frozen_map_is_neither_fitted_nor_renewed():
    given = NystroemFeatures(gamma=0.5, n_components=7, random_state=0).fit(X[:20])
    mapping, _ = fitted(FrozenEstimator(given))
    assert mapping.data_independent
    assert not mapping.renewable
    assert mapping.transformer is given
