"""A stream learns the same whatever the sizes of its chunks: every decision depends on the rows so far alone."""

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.online.drift import HoeffdingDrift
from helpers import clouds

SMALL = {"gamma": 0.1, "n_components": 40, "warm_up": 100, "random_state": 0}
SETTINGS = {
    "defaults": {},
    "defaults with a chosen map": {"gamma": "auto", "n_components": "auto", "warm_up": "auto"},
    "Fourier features": {"feature_map": "fourier"},
    "the linear kernel": {"kernel": "linear", "gamma": "auto"},
    "all half-lives": {"decay": "auto"},
    "a committee whose metric is learned again": {"decay": "auto", "gamma": "auto", "warm_up": 300},
    "a half-life of 10 rows": {"half_life": 10.0},
    "a half-life of 333 rows": {"half_life": 333.0},
    "a short memory": {"memory": 15, "second_look": 5},
    "no second look": {"second_look": 0, "memory": 20},
    "the paper's way": {"statistics": "kept", "decision": "distance", "memory": None, "forget_after": 3},
    "the paper's bounds": {"accept": "inside", "statistics": "kept", "second_look": 0},
    "every row accepted": {"accept": "all", "membership": "printed"},
    "balanced classes": {"class_weight": "balanced"},
    "balanced classes and all half-lives": {"class_weight": "balanced", "decay": "auto"},
    "votes": {"multiclass": "vote", "decision": "value"},
    "a drift detector": {"drift_detector": HoeffdingDrift(confidence=0.05), "half_life": 500.0},
    "a metric": {"metric": [1.0, 2.0, 0.5, 1.0], "decay": "auto"},
}
SIZES = {
    "chunks of 7": [7],
    "chunks of 100": [100],
    "chunks of 999": [999],
    "mixed chunks": [1, 250, 3, 41, 999, 12, 1, 1, 77],
}


def rows(n=2100):
    """Return rows of four classes, the last of which comes late, and a drift."""
    X, y = clouds(n, 4, n_columns=4, seed=3, spread=1.5)
    late = np.flatnonzero(y[: n // 3] == 3)
    y[late] = 0
    X[n // 2 :, 0] += 4.0
    return X, y


def learned(options, sizes):
    X, y = rows()
    model = FBTWSVM(**{**SMALL, **options})
    first, turn = 0, 0
    while first < len(y):
        chunk = slice(first, first + sizes[turn % len(sizes)])
        model.partial_fit(X[chunk], y[chunk])
        first, turn = chunk.stop, turn + 1
    return model


@pytest.fixture(scope="module")
def row_by_row():
    made = {}
    return lambda name: made.setdefault(name, learned(SETTINGS[name], [1]))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", SETTINGS)
def test_chunks_of_any_size_give_the_same_model(name, sizes, row_by_row):
    X, _ = rows()
    one, other = row_by_row(name), learned(SETTINGS[name], SIZES[sizes])
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), rtol=1e-6, atol=1e-7)
    states = [model_of(model) for model in (one, other)]
    assert states[0].drifts == states[1].drifts
    for mine, theirs in zip(states[0].members, states[1].members, strict=True):
        np.testing.assert_array_equal(mine.kept.times, theirs.kept.times)
        np.testing.assert_array_equal(mine.solved_at, theirs.solved_at)
    assert states[0].studies == states[1].studies
    np.testing.assert_allclose(states[0].trust.weights, states[1].trust.weights, atol=1e-9)
    np.testing.assert_array_equal(states[0].trust.errors, states[1].trust.errors)
    if states[0].monitor is not None:
        assert states[0].monitor.since == states[1].monitor.since


def test_what_is_compared_has_happened(row_by_row):
    """The settings above renew landmarks, find drifts, rescale weights and condense rows."""
    assert model_of(row_by_row("all half-lives")).monitor.since > 0
    assert model_of(row_by_row("a drift detector")).drifts
    again = model_of(row_by_row("a committee whose metric is learned again"))
    assert again.members[0].faded  # it has started again
    assert again.studies.last > 300
    assert model_of(row_by_row("a short memory")).members[0].forgotten.counts.any()
    assert model_of(row_by_row("a half-life of 10 rows")).members[0].current_weight < 1e6


@pytest.mark.parametrize("settings", [{"half_life": 20.0}, {"decay": "auto"}], ids=str)
def test_most_rows_of_a_block_may_have_faded(settings):
    """They are forgotten at once: no duals may remain that they never had."""
    random = np.random.default_rng(0)
    X = random.normal(size=(9000, 4))
    y = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * np.sign(X[:, 2]) + X[:, 3] + random.normal(size=9000) > 0
    models = []
    for chunk in (200, 3000):
        model = FBTWSVM(n_components=60, gamma=0.2, metric="none", random_state=0, **settings)
        for first in range(0, 9000, chunk):
            model.partial_fit(X[first : first + chunk], y[first : first + chunk])
        models.append(model_of(model).members)
    for one, other in zip(*models, strict=True):
        assert 0.3 < np.linalg.norm(other.planes) / np.linalg.norm(one.planes) < 3.0


@pytest.mark.parametrize("size", [1000, 2500])
def test_blocks_follow_a_long_stream_as_well_as_rows_do(size):
    """The tolerance of a re-solve is relative to all rows so far: new rows must not depend on it alone."""
    random = np.random.default_rng(0)
    X = random.normal(size=(40_000, 6))
    value = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * np.sign(X[:, 2]) + X[:, 3]
    y = random.random(len(X)) < 1 / (1 + np.exp(-3 * value))
    planes = []
    for chunk in (200, size):
        model = FBTWSVM(n_components=60, gamma=0.1, random_state=0)
        for first in range(0, len(X), chunk):
            model.partial_fit(X[first : first + chunk], y[first : first + chunk])
        planes.append(model.planes_)
    assert np.linalg.norm(planes[1] - planes[0]) < 0.03 * np.linalg.norm(planes[0])
