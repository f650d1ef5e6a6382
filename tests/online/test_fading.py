"""Rows that lose weight: half-lives, drift, balanced classes."""

import numpy as np
import pytest
from sklearn.base import clone

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from helpers import FOURIER, KEEP_ALL, Every, clouds, fourier, stream


def test_fading_forgets_the_old_and_keeps_absent_classes():
    X, y = clouds(3000, 3)
    turned = np.where(y == 0, 1, np.where(y == 1, 0, 2))
    model = FBTWSVM(gamma=0.1, n_components=40, warm_up=100, half_life=100)
    stream(model, X[:1000], y[:1000], 50)
    two = np.flatnonzero(y != 2)
    two = two[two >= 1000]
    stream(model, X[two], turned[two], 50)
    assert (
        model.score(X[two], turned[two]) > FBTWSVM(gamma=0.1).fit(X[two], turned[two]).score(X[two], turned[two]) - 0.05
    )
    third = X[y == 2]
    assert (model.predict(third) == 2).mean() > 0.5  # not seen for some 1,300 rows
    member = model_of(model.settle()).members[0]
    assert (member.moments.counts / member.current_weight > 5).all()
    assert (member.kept.weights / member.current_weight > 1e-5).all()


def test_fading_weighs_every_row_by_its_age():
    """The moments of a fading stream are those of rows weighted by decay^age, after as many rows as overflow once."""
    X, y = clouds(900, 2)
    decay = 0.98
    model = FBTWSVM(gamma=0.1, n_components=10, warm_up=50, decay=decay, feature_map="fourier", random_state=0)
    stream(model, X, y, 30).settle()
    member = model_of(model).members[0]
    assert member.current_weight < 1e7
    weights = decay ** np.arange(len(y) - 1.0, -1.0, -1.0)
    for k in range(2):
        rows = model_of(model).mapping.rows(X[y == k])
        expected = (rows * weights[y == k][:, None]).T @ rows
        np.testing.assert_allclose(member.moments.grams[k] / member.current_weight, expected, atol=1e-7)


class Alarm:
    """A drift detector that rings once, after so many rows."""

    def __init__(self, after):
        self.left, self.drift_detected = after, False

    def update(self, error):
        """Count a row."""
        self.left -= 1
        self.drift_detected = self.left == 0


def test_drift_fades_fast():
    X, y = clouds(600, 2)
    model = FBTWSVM(gamma=0.1, n_components=20, warm_up=100, drift_detector=Alarm(250), random_state=0)
    stream(model, X, y, 50).settle()
    member = model_of(model).members[0]
    # The 250th row after the warm-up: what came until then has a tenth of its weight.
    assert model_of(model).drifts == [349]
    assert member.moments.counts.sum() / member.current_weight == pytest.approx(250 + 0.1 * 350)
    assert model.drift_detector.left == 250


def test_balanced_classes_on_a_stream():
    X, y = clouds(1500, 2, spread=2.5)
    rare = np.flatnonzero((y == 0) | (np.arange(len(y)) % 15 == 0))
    X, y = X[rare], y[rare]
    options = {"feature_map": fourier(X), "tol": 1e-7, "class_weight": "balanced", **KEEP_ALL}
    batch = FBTWSVM(**options).fit(X, y)
    model = stream(FBTWSVM(**options), X, y, 80).settle()
    assert np.linalg.norm(model.planes_ - batch.planes_) < 0.02 * np.linalg.norm(batch.planes_)
    recall = (model.predict(X[y == 1]) == 1).mean()
    assert recall > (stream(FBTWSVM(**{**options, "class_weight": None}), X, y, 80).predict(X[y == 1]) == 1).mean()


@pytest.mark.parametrize("half_life", [1.0, 3.0, 30.0])
@pytest.mark.parametrize("size", [1, 100, 700])
def test_very_short_half_lives_follow_a_change_and_forget_what_was_before(half_life, size):
    X, y = clouds(700, 2, spread=0.5)
    turned = np.where(np.arange(700) < 400, y, 1 - y)
    model = FBTWSVM(**FOURIER, half_life=half_life, warm_up=60, decision="value")
    assert stream(model, X, turned, size).score(X, 1 - y) > 0.8  # 0.93 is possible
    assert np.isfinite(model.predict_proba(X)).all()
    without = clone(model).set_params(half_life=None)
    assert stream(without, X, turned, size).score(X, 1 - y) < 0.7


def test_many_drifts_stay_finite():
    X, y = clouds(1200, 2)
    steady = stream(FBTWSVM(warm_up=100, **FOURIER), X, y, 10).score(X, y)
    for dtype in (np.float32, np.float64):
        model = stream(FBTWSVM(drift_detector=Every(10), warm_up=100, **FOURIER), X.astype(dtype), y, 10)
        assert model.inspect().drifts > 100
        assert model_of(model).members[0].current_weight < 1e7
        assert model.score(X, y) > steady - 0.1


def test_the_unit_of_weight_does_not_matter_to_fading():
    X, y = clouds(2000, 2)
    y = np.where(np.arange(2000) > 1000, 1 - y, y)
    models = [
        stream(
            FBTWSVM(half_life=150.0, warm_up=100, reg=0.01 * unit, **FOURIER),
            X,
            y,
            50,
            sample_weight=np.full(2000, unit),
        )
        for unit in (1.0, 1e-4)
    ]
    np.testing.assert_allclose(models[1].planes_, models[0].planes_, atol=0.05)
    assert models[1].score(X[1500:], y[1500:]) > 0.9


def test_balanced_classes_have_balanced_offsets():
    """The prior in the learned offsets is that of the weighted classes: a class of one in fifty is found."""
    X, y = clouds(6000, 2, spread=2.5, seed=1)
    rare = (y == 0) | (np.arange(6000) % 50 == 0)
    X, y = X[rare], y[rare]
    found = {}
    for weight in (None, "balanced"):
        model = stream(FBTWSVM(class_weight=weight, warm_up=500, **FOURIER), X, y, 100)
        found[weight] = (model.predict(X[y == 1]) == 1).mean()
    assert found["balanced"] > found[None] + 0.2
    assert found["balanced"] > 0.6
