"""Where rows live: in memory or mapped when read, a fit sees the same rows in the same order."""

import numpy as np
import pytest

from fbtwsvm.batch import row_homes
from fbtwsvm.batch.row_homes import MemoryHome, UnmappedHome
from fbtwsvm.batch.solve import add_sums
from fbtwsvm.features import FourierFeatures
from fbtwsvm.model.mapping import Mapping
from fbtwsvm.model.rows import arrange


@pytest.fixture(params=[1, 2])
def homes(request, monkeypatch):
    """Return the same mapped rows in both homes, in tiles of seven and pieces of twenty."""
    for kind in (MemoryHome, UnmappedHome):
        monkeypatch.setattr(kind, "tile", 7)
    monkeypatch.setattr(row_homes, "_PIECE", 20)
    random = np.random.default_rng(0)
    X, labels = random.normal(size=(60, 3)), random.integers(0, 3, 60)
    rows = arrange(X, labels, random.uniform(0.5, 2.0, 60), 3, merge=False)
    mapping, data = Mapping.fit(FourierFeatures(gamma=0.3, n_components=8, random_state=0), rows, labels, "rbf")
    return MemoryHome(rows, data, request.param), UnmappedHome(rows, mapping, request.param)


def seen(tiles, _):
    """Return the tiles of a piece as (numbers, labels, rows, weights)."""
    return [(np.arange(60)[tile.numbers], tile.labels, tile.rows, tile.weights) for tile in tiles]


def test_both_have_the_same_rows(homes):
    memory, unmapped = homes
    numbers = np.array([2, 5, 40])
    one, other = memory.take(numbers), unmapped.take(numbers)
    np.testing.assert_allclose(one.rows, other.rows, atol=1e-14)
    for name in ("numbers", "labels", "weights"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert np.array_equal(memory.raw(numbers), memory.training.X[memory.training.index[numbers]])


@pytest.mark.parametrize("classes", [None, [1], [0, 2]])
def test_tiles_cover_every_row_once_and_hold_one_class(homes, classes):
    for home in homes:
        tiles = home.reduce(seen, None, "a look", classes)
        wanted = np.isin(home.training.labels, range(3) if classes is None else classes)
        assert np.array_equal(np.concatenate([numbers for numbers, *_ in tiles]), np.flatnonzero(wanted))
        for numbers, labels, rows, weights in tiles:
            assert len(numbers) <= 7
            assert (labels == labels[0]).all()
            assert np.array_equal(labels, home.training.labels[numbers])
            assert np.array_equal(weights, home.training.weights[numbers])
            np.testing.assert_allclose(rows, homes[0].data[numbers], atol=1e-14)


def test_sums_over_tiles_are_those_of_all_rows(homes):
    training, data = homes[0].training, homes[0].data
    for home in homes:
        sums = home.reduce(add_sums, True, "sums")
        for k in range(3):
            own = training.labels == k
            weights, rows = training.weights[own], data[own]
            np.testing.assert_allclose(sums.totals.by_class[k], weights @ rows, atol=1e-12)
            np.testing.assert_allclose(sums.grams.by_class[k], rows.T @ (weights[:, None] * rows), atol=1e-12)
            assert home.class_weights[k] == pytest.approx(weights.sum())
