"""The watch over a map's landmarks: when it rings, and when it lets a map grow."""

from types import SimpleNamespace

import numpy as np
import pytest

from fbtwsvm.online.landmarks import _GROWTH, _MEMORY, Watch

MEMORY = int(_MEMORY)


def watch(expected=0.1, count=10, n_components=10, clock=0):
    """Return a watch over a map of `count` landmarks that misses so much of rows like these."""
    transformer = SimpleNamespace(landmarks_=np.zeros((count, 3)))
    mapping = SimpleNamespace(expected_residual=lambda: expected, transformer=transformer)
    return Watch(mapping, n_components, clock)


def rows_missing(residuals):
    """Return mapped rows, with their bias column, of which the map misses so much: 1 - ||z||^2."""
    residuals = np.asarray(residuals, dtype=np.float64)
    return np.column_stack([np.sqrt(1.0 - residuals), np.ones(len(residuals))])


@pytest.mark.parametrize(("expected", "limit"), [(0.1, 0.17), (0.0, 0.02), (0.9, 0.95), (1.0, 1.0)])
def test_the_residual_may_rise_by_half_but_not_beyond_half_of_what_is_left(expected, limit):
    assert watch(expected).limit == pytest.approx(limit)


def test_the_mean_residual_follows_rows_with_a_half_life():
    residuals = np.random.default_rng(0).uniform(0.0, 0.6, 50)
    one = watch(0.2)
    share, mean = 0.5 ** (1.0 / _MEMORY), 0.2
    for residual in residuals:
        mean = share * mean + (1.0 - share) * residual
    assert one.after(rows_missing(residuals)) == pytest.approx(mean, rel=1e-10)
    assert one.after(rows_missing(np.ones(MEMORY))) == pytest.approx(0.6)  # halfway from 0.2 to 1
    assert one.residual == 0.2  # to look does not change what is known


def test_the_mean_of_a_very_large_block_is_that_of_its_end():
    residuals = np.concatenate([np.full(11 * MEMORY, 0.9), np.full(MEMORY, 0.3)])
    assert watch().after(rows_missing(residuals)) == pytest.approx(0.3)


def test_rows_like_the_landmarks_raise_no_alarm():
    assert not watch(0.1).alarms(rows_missing(np.full(500, 0.1)), clock=1000).any()


def test_rows_that_the_map_is_blind_to_raise_an_alarm_as_soon_as_the_mean_can_tell():
    rows = rows_missing(np.full(300, 0.9))
    alarms = watch(0.1).alarms(rows, clock=1000)
    share = 0.5 ** (1.0 / _MEMORY)
    means = 0.9 + (0.1 - 0.9) * share ** np.arange(1, 301)
    assert np.array_equal(alarms, means > 0.17)
    assert 0 < np.flatnonzero(alarms)[0] < 30


def test_no_alarm_before_the_landmarks_are_old_enough():
    alarms = watch(0.1, clock=50).alarms(rows_missing(np.full(300, 0.9)), clock=60)
    assert np.flatnonzero(alarms)[0] == 50 + MEMORY - 60


def test_a_map_with_fewer_landmarks_than_it_may_have_grows_when_there_are_more_rows():
    rows = rows_missing(np.full(100, 0.1))
    alarms = watch(0.1, count=10, n_components=20, clock=7).alarms(rows, clock=7)
    assert np.array_equal(np.flatnonzero(alarms), np.arange(_GROWTH * 10, 100))


def test_a_map_with_all_its_landmarks_does_not_grow():
    one = watch(0.1, count=20, n_components=20)
    assert one.grows_after is None
    assert not one.alarms(rows_missing(np.full(100, 0.1)), clock=10_000).any()
