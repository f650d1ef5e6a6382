"""Corners of learning from streams, each of which went wrong once."""

import pickle

import numpy as np
import pytest
from sklearn.decomposition import PCA

from fbtwsvm import FBTWSVM
from fbtwsvm.river import RiverFBTWSVM
from test_partial_fit import KEEP_ALL, clouds, fourier, state, stream

FOURIER = {"feature_map": "fourier", "gamma": 0.1, "n_components": 30, "random_state": 0}


@pytest.mark.parametrize("half_life", [1.0, 3.0, 30.0])
@pytest.mark.parametrize("size", [1, 100, 700])
def test_very_short_half_lives(half_life, size):
    X, y = clouds(700)
    model = stream(FBTWSVM(half_life=half_life, **FOURIER, warm_up=500 if size > 1 else 60), X, y, size)
    assert np.isfinite(model.planes_).all()
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("size", [50, 400])
def test_a_new_class_is_found_by_learned_offsets(size):
    """Rows tested before a class was known say nothing about it."""
    X, y = clouds(3200, 3, spread=1.5)
    old, new = np.flatnonzero(y != 2), np.flatnonzero(y == 2)
    recall = {}
    for decision in ("value", "calibrated"):
        model = stream(FBTWSVM(decision=decision, warm_up=200, **FOURIER), X[old], y[old], 200)
        stream(model, X[new[:200]], y[new[:200]], size).settle()
        recall[decision] = (model.predict(X[new]) == 2).mean()
    assert recall["calibrated"] > recall["value"] - 0.1


class Every:
    """A drift detector that rings every so many rows."""

    def __init__(self, rows):
        self.rows, self.seen, self.drift_detected = rows, 0, False

    def update(self, error):
        """Count a row."""
        self.seen += 1
        self.drift_detected = self.seen % self.rows == 0


def test_many_drifts_stay_finite():
    X, y = clouds(3000, 2)
    for dtype in (np.float32, np.float64):
        model = FBTWSVM(drift_detector=Every(20), warm_up=100, **FOURIER)
        stream(model, X.astype(dtype), y, 20)
        member = model._learner.members[0]
        assert len(model._learner.drifts) > 100
        assert member.rise < 1e7
        assert model.score(X, y) > 0.8


@pytest.mark.parametrize("accept", ["kkt", "inside"])
@pytest.mark.parametrize("size", [1, 50, 400])
def test_the_papers_sums_start_from_one_class(accept, size):
    X, y = clouds(600, 2)
    order = np.concatenate([np.flatnonzero(y == 0)[:60], np.flatnonzero(y == 1), np.flatnonzero(y == 0)[60:]])
    model = FBTWSVM(statistics="kept", accept=accept, warm_up=30, memory=None, **FOURIER)
    stream(model, X[order], y[order], size).settle()
    assert (model._learner.members[0].moments.counts > 0).all()
    assert model.score(X, y) > 0.8


def test_the_papers_sums_with_a_memory_of_one():
    X, y = clouds(400, 2, spread=2.0)
    weights = np.random.default_rng(0).uniform(0.1, 0.9, 400)
    model = FBTWSVM(statistics="kept", memory=1, forget_after=1, warm_up=50, **FOURIER)
    stream(model, X, y, 20, sample_weight=weights).settle()
    assert np.isfinite(model.planes_).all()
    assert (model._learner.members[0].moments.counts >= 0).all()


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


def test_a_failed_call_leaves_distances_alone():
    X, y = clouds(400, 3)
    two = y != 2
    model = FBTWSVM(C=(1.0, 2.0), decision="distance", warm_up=100, **FOURIER)
    stream(model, X[two][:200], y[two][:200], 1)
    before = state(model)
    with pytest.raises(ValueError, match="3 classes"):
        model.partial_fit(X[-40:], y[-40:])
    assert state(model) == before


def test_an_interrupt_after_a_drift(monkeypatch):
    X, y = clouds(400, 2)
    model = stream(FBTWSVM(drift_detector=Every(30), half_life=200.0, warm_up=100, **FOURIER), X[:129], y[:129], 1)
    before = state(model)
    module = __import__("fbtwsvm.online.member", fromlist=["incremental"])

    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "learn_rows", stop)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[129:130], y[129:130])
    assert state(model) == before


@pytest.mark.parametrize("size", [1, 20, 400])
def test_bounds_of_a_class_that_arrives_in_small_chunks(size):
    X, y = clouds(900, 3)
    old, new = np.flatnonzero(y != 2), np.flatnonzero(y == 2)
    model = FBTWSVM(accept="inside", statistics="kept", second_look=0, memory=None, warm_up=100, **FOURIER)
    stream(model, X[old], y[old], 100)
    stream(model, X[new], y[new], size).settle()
    member = model._learner.members[0]
    assert (member.bounds[0, 2, 0], member.bounds[2, 0, 0]) <= (-1.0, -1.0)
    assert (member.kept.labels == 2).sum() > 0.3 * len(new)


def test_ids_are_unique_and_tied_to_their_label():
    X, y = clouds(400, 2, spread=2.0)
    model = FBTWSVM(warm_up=100, memory=5, second_look=0, **FOURIER)
    stream(model, X, y, 50, ids=np.arange(400)).settle()
    gone = next(iter(model._learner.members[0].gone.traces))
    before = state(model)
    with pytest.raises(ValueError, match="another label"):
        model.unlearn(X[[gone]], 1 - y[[gone]], ids=[gone])
    with pytest.raises(ValueError, match="learned already"):
        model.partial_fit(X[:2], y[:2], ids=[1000, gone])
    assert state(model) == before
    waiting = FBTWSVM(**FOURIER).partial_fit(X[:5], y[:5], ids=range(5))
    with pytest.raises(ValueError, match="learned already"):
        waiting.partial_fit(X[5:6], y[5:6], ids=[3])


def test_a_row_just_learned_is_unlearned_once():
    X, y = clouds(301, 2, spread=0.3)
    model = FBTWSVM(warm_up=100, second_look=0, **FOURIER)
    stream(model, X, y, 300, ids=np.arange(301))  # the last row waits for the next settle
    total = model._learner.members[0].moments.counts.sum()
    assert model.unlearn(X[300:], y[300:], ids=[300]).complete
    assert model._learner.members[0].moments.counts.sum() == total - 1
    with pytest.raises(ValueError, match="never learned"):
        model.unlearn(X[300:], y[300:], ids=[300])


def test_merge_refuses_what_would_count_twice_or_differs():
    X, y = clouds(600, 2)
    model = stream(FBTWSVM(warm_up=100, **FOURIER), X[:300], y[:300], 100)
    with pytest.raises(ValueError, match="count twice"):
        model.merge(pickle.loads(pickle.dumps(model)))
    for changes in ({"C": 5.0}, {"reg": 0.5}, {"mu": 0.2}, {"gamma": 0.2}):
        other = stream(FBTWSVM(warm_up=100, **FOURIER).set_params(**changes), X[300:], y[300:], 100)
        with pytest.raises(ValueError, match="differ"):
            model.merge(other)
    far = {"gamma": 1.0, "n_components": 50, "warm_up": 100}
    one = stream(FBTWSVM(random_state=0, **far), X[:300] + 60, y[:300], 100)
    with pytest.raises(ValueError, match="feature map"):
        one.merge(stream(FBTWSVM(random_state=1, **far), X[300:] + 60, y[300:], 100))
    named = stream(FBTWSVM(warm_up=100, **FOURIER), X[:300], y[:300], 100, ids=np.arange(300))
    with pytest.raises(ValueError, match="id 5"):
        named.merge(stream(FBTWSVM(warm_up=100, **FOURIER), X[300:], y[300:], 100, ids=np.arange(5, 305)))


def test_merged_balanced_models_equal_one():
    X, y = clouds(900, 2, spread=2.0)
    X, y = X[(y == 0) | (np.arange(900) % 4 == 0)], y[(y == 0) | (np.arange(900) % 4 == 0)]
    options = {"feature_map": fourier(X), "class_weight": "balanced", "tol": 1e-9, "max_iter": 50_000, **KEEP_ALL}
    one = stream(FBTWSVM(**options), X[:300], y[:300], 50)
    one.merge(stream(FBTWSVM(**options), X[300:], y[300:], 50))
    batch = FBTWSVM(**options).fit(X, y)
    assert np.linalg.norm(one.planes_ - batch.planes_) < 0.02 * np.linalg.norm(batch.planes_)


def test_going_on_from_a_fit_keeps_width_and_rows():
    X, y = clouds(300)
    given = X.copy()
    model = FBTWSVM(n_components=100, random_state=0).fit(given, y)
    model_exact = FBTWSVM(random_state=0).fit(given, y)
    gamma = model_exact.gamma_
    given *= 0.0
    assert model.partial_fit(X[:1], y[:1]).score(X, y) > 0.85
    assert model_exact.partial_fit(X[:1], y[:1]).gamma_ == gamma
    assert model_exact.score(X, y) > 0.85


def test_a_fit_too_large_to_go_on_from(monkeypatch):
    monkeypatch.setattr("fbtwsvm.classifier._MOST_HISTORY", 100)
    X, y = clouds(300)
    model = FBTWSVM(gamma=0.1).fit(X, y)
    with pytest.raises(ValueError, match="in chunks"):
        model.partial_fit(X, y)
    assert model.score(X, y) > 0.8


def test_warm_up_with_what_it_cannot_use_yet():
    X, y = clouds(300, 3)
    weighted = stream(FBTWSVM(class_weight={1: 5.0}, warm_up=100, **FOURIER), X[y != 1], y[y != 1], 2)
    assert weighted.classes_.tolist() == [0, 2]
    wide = np.hstack([X, X**2, X**3])
    model = stream(FBTWSVM(feature_map=PCA(5), warm_up=100), wide, y, 2)
    assert model.n_components_ == 5


def test_a_map_that_sees_little_notices_that_it_sees_nothing():
    random = np.random.default_rng(0)
    X = random.normal(size=(1200, 8))
    y = (X[:, 0] > 0).astype(int)
    X[600:] += 50.0
    model = stream(FBTWSVM(gamma=1.0, n_components=60, warm_up=100, random_state=0), X, y, 50)
    assert model._learner.watch.since > 600


def test_a_map_that_began_too_small_grows():
    X, y = clouds(600)
    model = stream(FBTWSVM(gamma=0.3, n_components=80, warm_up=10, random_state=0), X, y, 20)
    assert model.n_components_ > 60


def test_settle_twice_is_settle_once():
    X, y = clouds(400, spread=1.5)
    model = stream(FBTWSVM(warm_up=100, forget_after=3, half_life=200.0, **FOURIER), X, y, 50).settle()
    before = state(model)
    for _ in range(5):
        model.settle()
    assert len(model._learner.members[0].kept) == len(pickle.loads(before)["_learner"].members[0].kept)
    np.testing.assert_allclose(model.planes_, pickle.loads(before)["planes_"], atol=1e-3)


def test_positions_count_rows_without_weight():
    X, y = clouds(300)
    model = stream(FBTWSVM(n_components=30, gamma=0.1, warm_up=100, random_state=0), X, y, 100)
    landmark = next(i for i, row in enumerate(X) if model._mapping.is_landmark(row[None])[0])
    report = model.unlearn(X[[5, landmark]], y[[5, landmark]], sample_weight=[0.0, 1.0])
    assert report.remaining["landmark"] == [1]


def test_river_first_row_is_bad():
    river = RiverFBTWSVM(FBTWSVM(warm_up=20))
    with pytest.raises(ValueError, match="NaN"):
        river.learn_one({"a": float("nan")}, 1)
    assert river.predict_one({"a": 1.0}) is None
    river.learn_one({"a": 1.0, "b": 2.0}, 1)
    assert river.predict_one({"a": 1.0}) == 1
    for i in range(60):
        river.learn_one({"a": float(i % 7), "b": 1.0}, i % 2)
    with pytest.raises(ValueError, match="another kind"):
        river.learn_one({"a": 1.0}, "x")


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


def test_letter_sorted_by_class(dataset):
    """Landmarks of the first rows, all of one class, are blind to the rest: the map is renewed as classes come."""
    X, y, X_test, y_test = dataset("letter")
    order = np.argsort(y, kind="stable")
    model = FBTWSVM(n_components=200, gamma=0.02, random_state=0)
    stream(model, X[order], y[order], 1000)
    assert model._learner.watch.since > 10_000
    assert model.score(X_test, y_test) > 0.92
