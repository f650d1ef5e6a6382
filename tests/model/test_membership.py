"""The membership formula, its rescaling and its degenerate cases, whole, in pieces and row by row."""

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.model.membership import Ranges, memberships

OWN = np.array([0.0, 1.0, 4.0, 2.25])


OTHER = np.array([[9.0], [0.5], [9.0], [9.0]])  # the second row is nearer to the other centre


def test_printed_formula():
    expected = np.array([0.9 * 1.0, 0.1 * 0.5, 0.0, 0.9 * 0.25])
    assert memberships(OWN, OTHER, 0.1, "printed")[:, 0] == pytest.approx(expected, abs=1e-9)


def test_fuzzy_is_printed_rescaled_to_zero_one():
    printed, fuzzy = (memberships(OWN, OTHER, 0.1, kind)[:, 0] for kind in ("printed", "fuzzy"))
    assert fuzzy == pytest.approx(printed / 0.9, abs=1e-9)
    assert fuzzy.max() == 1.0
    assert 0 < fuzzy.min() < 1e-10


@pytest.mark.parametrize("kind", ["fuzzy", "printed"])
@pytest.mark.parametrize("own", [np.array([0.0]), np.array([1.0, 1.0]), np.full(5, 0.7), np.zeros(4)])
def test_equal_rows_are_trusted(kind, own):
    other = np.column_stack([own, own + 1.0])
    assert np.array_equal(memberships(own, other, 0.1, kind), np.ones((len(own), 2)))


def test_none_trusts_all_rows():
    assert np.array_equal(memberships(OWN, OTHER, 0.1, "none"), np.ones((4, 1)))


def test_memberships_live_in_the_mapped_space_and_on_the_given_rows(blobs):
    X, y = blobs
    weights = np.ones(len(y))
    weights[5] = 0.0
    model = FBTWSVM(kernel="linear", mu=0.2).fit(X, y, sample_weight=weights)
    assert model.memberships_.shape == (len(y), 3)
    assert np.array_equal(model.memberships_[5], np.zeros(3))
    used = weights > 0
    for k, label in enumerate(model.classes_):
        rows = used & (y == label)
        centres = np.array([X[used & (y == other)].mean(axis=0) for other in model.classes_])
        squared = ((X[rows][:, None] - centres) ** 2).sum(axis=2)
        expected = memberships(squared[:, k], squared, 0.2, "fuzzy")
        others = [j for j in range(3) if j != k]
        assert model.memberships_[rows][:, others] == pytest.approx(expected[:, others], abs=1e-6)


@pytest.mark.parametrize("kind", ["fuzzy", "printed"])
@pytest.mark.parametrize("mu", [0.1, 0.5, 0.9])
def test_memberships_found_in_pieces_are_those_of_all_rows(kind, mu):
    random = np.random.default_rng(1)
    distances = random.random((60, 3))
    labels = np.repeat([0, 1, 2], 20)
    ranges = Ranges(3, mu, kind, np.array([20, 20, 20]))
    for k in range(3):
        for part in (slice(20 * k, 20 * k + 7), slice(20 * k + 7, 20 * k + 20)):
            piece = Ranges(3, mu, kind, np.array([20, 20, 20]))
            piece.widen(k, distances[part])
            ranges.merge(piece)
    expected = np.concatenate([memberships(d[:, k], d, mu, kind) for k, d in enumerate(np.split(distances, 3))])
    np.testing.assert_allclose(ranges.memberships(distances, labels), expected, atol=1e-12)
