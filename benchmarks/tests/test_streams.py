"""Streams that are made: the same rows for the same seed, concepts that switch where they should."""

import numpy as np
import pytest

from benchmarks.streams.generated import GENERATED, moving_columns


@pytest.mark.parametrize("name", GENERATED)
def test_a_stream_depends_on_its_seed_alone(name):
    X, y = GENERATED[name](300, 1)
    again, labels = GENERATED[name](300, 1)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)
    assert len(np.unique(y)) > 1
    assert not np.array_equal(X, GENERATED[name](300, 2)[0])


def test_concepts_switch():
    """The first function of "mixed" is the second one reversed: a switch turns all labels."""
    X, y = GENERATED["mixed"](4_000, 0)
    truth = (X[:, 0] == 1).astype(int) + (X[:, 1] == 1) + (X[:, 3] < 0.5 + 0.3 * np.sin(3 * np.pi * X[:, 2]))
    agree = [(y[part] == (truth[part] >= 2)).mean() for part in (slice(0, 990), slice(1_010, 1_700))]
    assert abs(agree[0] - agree[1]) > 0.99


def test_other_columns_matter_in_each_third():
    X, y = moving_columns(30_000)
    linear = [np.abs(np.corrcoef(X[part].T, y[part])[-1, :-1]) for part in np.split(np.arange(30_000), 3)]
    strongest = [set(np.argsort(-each)[:3]) for each in linear]
    assert strongest[0] != strongest[1] != strongest[2]
