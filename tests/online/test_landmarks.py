"""The residual of a map, when it calls for new landmarks, and what a renewed map says."""

from types import SimpleNamespace

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm._steps import finish
from fbtwsvm.classifier import model_of
from fbtwsvm.online._loops import Watch, needs_new_map
from fbtwsvm.online.landmarks import _GROWTH, _MEMORY, ResidualMonitor
from fbtwsvm.online.trust import RATE, REST, Trust
from helpers import clouds, stream

MEMORY = int(_MEMORY)
NOBODY = (*(getattr(Trust(1), name) for name in Trust.ARRAYS), RATE, REST)


def monitor(expected=0.1, count=10, n_components=10, clock=0):
    """Return a watch over a map of `count` landmarks that misses so much of rows like these."""
    transformer = SimpleNamespace(landmarks_=np.zeros((count, 3)))
    mapping = SimpleNamespace(expected_residual=lambda: expected, transformer=transformer)
    return ResidualMonitor(mapping, n_components, clock)


def rows_missing(residuals):
    """Return mapped rows of one feature of which the map misses so much: 1 - ||z||^2."""
    return np.sqrt(1.0 - np.asarray(residuals, dtype=np.float64))[:, None]


@pytest.mark.parametrize(("expected", "limit"), [(0.1, 0.17), (0.0, 0.02), (0.9, 0.95), (1.0, 1.0)])
def test_the_residual_may_rise_by_half_but_not_beyond_half_of_what_is_left(expected, limit):
    assert monitor(expected).limit == pytest.approx(limit)


def watched(one, clock):
    """Return what the compiled loops follow of a monitor."""
    grows = 10**9 if one.grows_after is None else one.grows_after
    ages = (np.array([clock]), one.since, one.least_age, grows, 10**9)
    return Watch(1, one.residual.copy(), one.share, one.limit, *ages, *NOBODY)


def alarms(row, watch):
    """Whether a row needs a new map; otherwise it counts."""
    alarm = needs_new_map(row, watch)
    watch.clock[0] += not alarm
    return alarm


def first_alarm(one, residuals, clock):
    """Return the first of these rows at which the map is to be renewed; None if there is none."""
    watch = watched(one, clock)
    return next((i for i, row in enumerate(rows_missing(residuals)) if alarms(row, watch)), None)


def test_the_mean_residual_follows_rows_with_a_half_life():
    residuals = np.random.default_rng(0).uniform(0.0, 0.6, 50)
    watch = watched(monitor(0.2), 0)
    share, mean = 0.5 ** (1.0 / _MEMORY), 0.2
    for i, row in enumerate(rows_missing(residuals)):
        mean = share * mean + (1.0 - share) * residuals[i]
        assert not needs_new_map(row, watch)
    assert watch.residual[0] == pytest.approx(mean, rel=1e-10)


def test_the_mean_of_a_very_large_block_is_that_of_its_end():
    residuals = np.concatenate([np.full(11 * MEMORY, 0.9), np.full(MEMORY, 0.1)])
    one = monitor()
    assert not one.alarm_after(rows_missing(residuals), clock=5000)
    assert one.residual[0] == pytest.approx(0.1)
    assert one.alarm_after(rows_missing(residuals[:1100]), clock=5000)
    assert not one.alarm_after(rows_missing(residuals[:1100]), clock=MEMORY - 1)


def test_rows_like_the_landmarks_raise_no_alarm():
    assert first_alarm(monitor(0.1), np.full(500, 0.1), clock=1000) is None


def test_rows_that_the_map_is_blind_to_raise_an_alarm_as_soon_as_the_mean_can_tell():
    share = 0.5 ** (1.0 / _MEMORY)
    means = 0.9 + (0.1 - 0.9) * share ** np.arange(1, 301)
    found = first_alarm(monitor(0.1), np.full(300, 0.9), clock=1000)
    assert found == np.flatnonzero(means > 0.17)[0]
    assert 0 < found < 30


def test_no_alarm_before_the_landmarks_are_old_enough():
    assert first_alarm(monitor(0.1, clock=50), np.full(300, 0.9), clock=60) == 50 + MEMORY - 60


def test_a_map_with_fewer_landmarks_than_it_may_have_grows_when_there_are_more_rows():
    one = monitor(0.1, count=10, n_components=20, clock=7)
    assert first_alarm(one, np.full(100, 0.1), clock=7) == _GROWTH * 10


def test_a_map_with_all_its_landmarks_does_not_grow():
    one = monitor(0.1, count=20, n_components=20)
    assert one.grows_after is None
    assert first_alarm(one, np.full(100, 0.1), clock=10_000) is None


def test_a_stream_sorted_by_class_gets_new_landmarks():
    X, y = clouds(1500, 5, n_columns=4, seed=2)
    order = np.argsort(y, kind="stable")
    model = FBTWSVM(gamma=0.3, n_components=60, warm_up=100, random_state=0)
    stream(model, X[order], y[order], 50)
    assert model_of(model).monitor.since > 300  # renewed, and not at once
    batch = FBTWSVM(gamma=0.3, n_components=60, random_state=0).fit(X, y)
    assert model.score(X, y) > batch.score(X, y) - 0.06


def test_a_renewed_map_says_nearly_the_same():
    X, y = clouds(800, 3)
    model = stream(FBTWSVM(gamma=0.1, n_components=100, warm_up=200, decision="value", random_state=0), X, y, 100)
    before, answers = model_of(model).mapping, model.predict(X)
    renewed_stream = finish(model_of(model).renewal(X[:1], moved=True, learn=False))
    assert not renewed_stream.mapping.same_as(before)
    member = renewed_stream.members[0]
    winners = renewed_stream.rule.winners(renewed_stream.mapping.rows(X))
    assert (model.classes_[winners] == answers).mean() > 0.97
    assert all(np.linalg.eigvalsh(gram).min() > -1e-8 for gram in member.moments.grams)


def test_a_map_that_sees_little_notices_that_it_sees_nothing():
    random = np.random.default_rng(0)
    X = random.normal(size=(1200, 8))
    y = (X[:, 0] > 0).astype(int)
    X[600:] += 50.0
    model = stream(FBTWSVM(gamma=1.0, n_components=60, warm_up=100, random_state=0), X, y, 50)
    assert model_of(model).monitor.since > 600


def test_a_map_that_began_too_small_grows():
    X, y = clouds(600)
    model = stream(FBTWSVM(gamma=0.3, n_components=80, warm_up=10, random_state=0), X, y, 20)
    assert model.n_components_ > 60


@pytest.mark.slow
def test_letter_sorted_by_class(dataset):
    """Landmarks of the first rows, all of one class, are blind to the rest: the map is renewed as classes come."""
    X, y, X_test, y_test = dataset("letter")
    order = np.argsort(y, kind="stable")
    model = FBTWSVM(n_components=200, gamma=0.02, random_state=0)
    stream(model, X[order], y[order], 1000)
    assert model_of(model).monitor.since > 10_000
    assert model.score(X_test, y_test) > 0.92
