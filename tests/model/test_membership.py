"""The membership formula, its rescaling and its degenerate cases, of whole classes and found in pieces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fbtwsvm import FBTWSVM
from fbtwsvm.model.membership import _DELTA, Extremes, Ranges, distances_from_kernel, distances_to_means
from strategies import DISTANCES

EPS = float(np.finfo(np.float64).eps)
OWN = np.array([0.0, 1.0, 4.0, 2.25])
OTHER = np.array([9.0, 0.5, 9.0, 9.0])  # the second row is nearer to the other centre


def memberships(own, others, mu, kind, gone=None):
    """Memberships of the rows of one class, from squared distances to its own centre and to those of others."""
    distances = np.column_stack([own, others])
    if gone is not None:
        gone = tuple(np.full(distances.shape[1], number) for number in gone)
    ranges = Extremes.of_class(0, distances).ranges(mu, kind, gone)
    return ranges.memberships(distances, np.zeros(len(own), dtype=np.int64))[:, 1:]


def by_hand(own, other, mu, kind):
    """Return the formula of the paper, and the published code's rescaling to (0, 1], row by row."""
    share = np.where(own >= other, mu, 1.0 - mu) * (1.0 - np.sqrt(own / (own.max() + _DELTA)))
    if kind == "none" or len(own) <= 2 or share.max() - share.min() <= 1e-9 * share.max():
        return np.ones(len(own))
    if kind == "printed":
        return share
    return EPS + (1.0 - EPS) * (share - share.min()) / (share.max() - share.min())


@given(DISTANCES, st.sampled_from([0.1, 0.3, 0.5, 0.9]), st.sampled_from(["fuzzy", "printed", "none"]))
def test_memberships_are_those_of_the_formula(rows, mu, kind):
    own, other = np.array(rows).T
    found = memberships(own, other, mu, kind)[:, 0]
    np.testing.assert_allclose(found, by_hand(own, other, mu, kind), rtol=0, atol=1e-12)


def test_printed_formula():
    expected = np.array([0.9 * 1.0, 0.1 * 0.5, 0.0, 0.9 * 0.25])
    assert memberships(OWN, OTHER, 0.1, "printed")[:, 0] == pytest.approx(expected, abs=1e-9)


def test_fuzzy_is_printed_rescaled_to_zero_one():
    printed, fuzzy = (memberships(OWN, OTHER, 0.1, kind)[:, 0] for kind in ("printed", "fuzzy"))
    assert fuzzy == pytest.approx(printed / 0.9, abs=1e-9)
    assert fuzzy.max() == 1.0
    assert 0 < fuzzy.min() < 1e-10


@pytest.mark.parametrize("kind", ["fuzzy", "printed"])
@pytest.mark.parametrize("own", [np.array([0.0]), np.array([1.0, 4.0]), np.full(5, 0.7), np.zeros(4)])
def test_classes_of_two_rows_and_rows_equally_far_are_trusted(kind, own):
    others = np.column_stack([own, own + 1.0])
    assert np.array_equal(memberships(own, others, 0.1, kind), np.ones((len(own), 2)))


def test_none_trusts_all_rows():
    assert np.array_equal(memberships(OWN, OTHER, 0.1, "none"), np.ones((4, 1)))


@pytest.mark.parametrize("kind", ["fuzzy", "printed"])
def test_rows_that_are_gone_widen_the_range(kind):
    """With the nearest and the farthest row gone, the others have what they had among them."""
    own, other = np.array([0.25, 1.0, 4.0, 2.25]), np.full(4, 9.0)
    whole = memberships(own, other, 0.3, kind)
    rest = memberships(own[[1, 3]], other[[1, 3]], 0.3, kind, gone=(2, 0.25, 4.0))
    np.testing.assert_allclose(rest, whole[[1, 3]], atol=1e-10)


def test_nothing_known_of_a_class_makes_every_row_count_fully():
    assert (Ranges.unknown(2, 0.3).memberships(np.ones((3, 2)), np.zeros(3, dtype=np.int64)) == 1.0).all()


@pytest.mark.parametrize("kind", ["fuzzy", "printed"])
@pytest.mark.parametrize("mu", [0.1, 0.5, 0.9])
def test_memberships_found_in_pieces_are_those_of_all_rows(kind, mu):
    distances, labels = np.random.default_rng(1).random((60, 3)), np.repeat([0, 1, 2], 20)
    pieces = [slice(first, first + 5) for first in np.random.default_rng(2).permutation(range(0, 60, 5))]
    extremes = sum((Extremes.of_class(labels[piece.start], distances[piece]) for piece in pieces), Extremes(3))
    assert extremes.counts.tolist() == [20, 20, 20]
    found = extremes.ranges(mu, kind).memberships(distances, labels)
    for k in range(3):
        for other in {0, 1, 2} - {k}:
            own = distances[labels == k]
            np.testing.assert_allclose(
                found[labels == k, other], by_hand(own[:, k], own[:, other], mu, kind), atol=1e-12
            )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_to_class_means_are_those_of_their_definition(dtype):
    random = np.random.default_rng(0)
    rows, weights, starts = (
        random.normal(size=(30, 4)).astype(dtype),
        random.uniform(0.5, 2.0, 30),
        np.array([0, 12, 30]),
    )
    means = np.stack([np.average(rows[a:b], axis=0, weights=weights[a:b]) for a, b in ((0, 12), (12, 30))])
    expected = ((rows[:, None] - means) ** 2).sum(axis=2)
    for found in (distances_to_means(rows, means), distances_from_kernel(rows @ rows.T, weights, starts)):
        np.testing.assert_allclose(found, expected, rtol=2e-4 if dtype == np.float32 else 1e-10)


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
        others = [j for j in range(3) if j != k]
        expected = memberships(squared[:, k], squared[:, others], 0.2, "fuzzy")
        assert model.memberships_[rows][:, others] == pytest.approx(expected, abs=1e-6)
