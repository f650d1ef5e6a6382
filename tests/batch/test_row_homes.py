"""Where rows live: in memory or mapped when read, a fit sees the same rows in the same order."""

import numpy as np
import pytest

from fbtwsvm.batch.row_homes import MemoryHome, UnmappedHome
from fbtwsvm.batch.solve import _sums
from fbtwsvm.features import FourierFeatures
from fbtwsvm.model.mapping import Mapping
from fbtwsvm.model.rows import arrange


@pytest.fixture(params=[1, 2])
def homes(request, monkeypatch):
    """Return the same mapped rows in both homes, in tiles of seven."""
    for kind in (MemoryHome, UnmappedHome):
        monkeypatch.setattr(kind, "tile", 7)
    random = np.random.default_rng(0)
    X, labels = random.normal(size=(60, 3)), random.integers(0, 3, 60)
    rows = arrange(X, labels, random.uniform(0.5, 2.0, 60), 3, merge=False)
    mapping, data = Mapping.fit(FourierFeatures(gamma=0.3, n_components=8, random_state=0), rows, labels, "rbf")
    return MemoryHome(rows, data, request.param), UnmappedHome(rows, mapping, request.param)


def test_both_have_the_same_rows(homes):
    memory, unmapped = homes
    assert np.array_equal(memory.counts(), unmapped.counts())
    for numbers in (slice(3, 20), np.array([40, 2, 2])):
        np.testing.assert_allclose(memory.rows(numbers), unmapped.rows(numbers), atol=1e-14)


def test_tiles_cover_every_row_once_and_hold_one_class(homes):
    for home in homes:
        seen = np.concatenate([np.arange(part.start, part.stop) for _, part in home.tiles()])
        assert np.array_equal(seen, np.arange(60))
        assert all((home.training.labels[part] == k).all() for k, part in home.tiles())
        assert max(part.stop - part.start for _, part in home.tiles()) <= 7


def test_sums_over_tiles_are_those_of_all_rows(homes):
    training, data = homes[0].training, homes[0].data
    for home in homes:
        sums = home.reduce(_sums, (training.weights, True))
        for k in range(3):
            own = training.labels == k
            weights, rows = training.weights[own], data[own]
            np.testing.assert_allclose(sums.totals[k], weights @ rows, atol=1e-12)
            np.testing.assert_allclose(sums.grams[k], rows.T @ (weights[:, None] * rows), atol=1e-12)


def test_marked_rows_are_brought_back_with_their_numbers(homes):
    for home in homes:
        numbers, rows = home.collect(lambda k, numbers, values: values[numbers] > 0.2, homes[0].data[:, 0])
        assert np.array_equal(numbers, np.flatnonzero(homes[0].data[:, 0] > 0.2))
        np.testing.assert_allclose(rows, homes[0].data[numbers], atol=1e-14)
