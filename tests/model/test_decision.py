"""From values to answers: ties, the DAG, the vote, scores, probabilities."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

from fbtwsvm import FBTWSVM
from fbtwsvm.model import decision
from fbtwsvm.model.decision import Decision, PairRule, norms


def rule(planes, multiclass="dag", offsets=None):
    zero = np.zeros(planes.shape[:2])
    decision = Decision(zero if offsets is None else offsets, zero, np.ones(planes.shape[:2]), multiclass)
    return PairRule(decision, planes)


def constant_planes(beats):
    """Planes with a bias only, such that class a beats class b on every row iff beats[a][b]."""
    planes = np.zeros((len(beats), len(beats), 2))
    for a in range(len(beats)):
        for b in range(len(beats)):
            if a != b:
                planes[a, b, 1] = 0.5 if beats[a][b] else 1.0
    return planes


def test_king_of_the_hill_order():
    """A cycle 0 > 1 > 2 > 0: the king of the hill is 2, which beats 0, which has beaten 1."""
    planes = constant_planes([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    rows = np.array([[0.0, 1.0]])
    assert rule(planes).winners(rows).tolist() == [2]
    assert rule(planes, "vote").winners(rows).tolist() == [0]  # one win each: the first
    assert rule(planes).scores(rows).argmax() == 2


def test_both_values_zero_goes_to_the_smaller_class():
    rows, planes = np.array([[0.0, 1.0]]), np.zeros((3, 3, 2))
    always_second = np.triu(np.full((3, 3), -5.0))
    for multiclass in ("dag", "vote"):
        assert rule(planes, multiclass, always_second).winners(rows).tolist() == [0]
    assert rule(planes[:2, :2], offsets=always_second[:2, :2]).margins(rows).tolist() == [0.0]


def test_zero_plane_has_distance_zero():
    """u_01 = 0 is at distance 0 of everything, the other plane is not: class 0 wins under every rule."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = FBTWSVM(kernel="linear", decision="distance").fit(X, np.arange(40) % 2)
    planes = model.planes_.copy()
    planes[0, 1] = 0.0
    for name in ("distance", "value"):
        decision = Decision.plain(2, "dag", name)
        if name == "distance":
            decision = decision.with_distances(norms(planes[..., :-1]))
        assert not PairRule(decision, planes).winners(np.column_stack([X, np.ones(40)])).any()


@pytest.mark.parametrize("multiclass", ["dag", "vote"])
@pytest.mark.parametrize("kind", ["calibrated", "value", "distance"])
@pytest.mark.parametrize("many", [2, 24])
def test_argmax_of_decision_function_is_predict(multiclass, kind, many, monkeypatch):
    monkeypatch.setattr(decision, "_MANY_CLASSES", many)  # both ways of walking the DAG
    X, y = load_digits(return_X_y=True)
    model = FBTWSVM(multiclass=multiclass, decision=kind, gamma=0.001).fit(X[:500], y[:500])
    noise = np.random.default_rng(0).uniform(0, 16, size=(2000, 64))  # far from all classes: cycles happen
    for rows in (X[500:], noise):
        scores = model.decision_function(rows)
        assert scores.shape == (len(rows), 10)
        assert np.array_equal(model.classes_[scores.argmax(axis=1)], model.predict(rows))


def test_binary_decision_function(blobs):
    X, y = blobs
    model = FBTWSVM().fit(X[y != "cat"], y[y != "cat"])
    scores = model.decision_function(X)
    assert scores.shape == (len(X),)
    assert np.array_equal(np.where(scores > 0, "bee", "ant"), model.predict(X))
    assert model.predict_proba(X)[:, 1] == pytest.approx(1 / (1 + np.exp(-scores)), abs=1e-4)


def test_probabilities_are_calibrated():
    """Two overlapping clouds with a known posterior."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 6000)
    X = random.normal(y[:, None] * 1.5, 1.0, size=(6000, 1))
    model = FBTWSVM(gamma=0.3).fit(X[:1500], y[:1500])
    chances = model.predict_proba(X[1500:])
    assert chances.sum(axis=1) == pytest.approx(1.0)
    posterior = 1 / (1 + np.exp(-1.5 * (X[1500:, 0] - 0.75)))
    assert np.abs(chances[:, 1] - posterior).mean() < 0.06


def test_learned_offset_mends_noisy_and_unequal_classes(dataset):
    """Where classes are noisy and of unequal size the fixed rules lose points that the learned offset keeps."""
    X, y, X_test, y_test = dataset("overlap")
    options = {"feature_map": "fourier", "n_components": 150, "gamma": 0.4, "C": 8.0, "reg": 2 / 150, "mu": 0.1}
    scores = {
        kind: np.mean(
            [FBTWSVM(**options, decision=kind, random_state=s).fit(X, y).score(X_test, y_test) for s in range(3)]
        )
        for kind in ("calibrated", "value", "distance")
    }
    assert scores["calibrated"] > scores["value"] + 0.01
    assert scores["calibrated"] > scores["distance"] - 0.005


def test_many_classes_predict_without_all_planes():
    X, y = make_blobs(1500, centers=30, n_features=6, random_state=0)
    model = FBTWSVM(gamma="scale").fit(X[:900], y[:900])
    assert model.score(X[900:], y[900:]) > 0.95
    assert np.array_equal(
        model.predict(X[900:]), np.concatenate([model.predict(X[i : i + 1]) for i in range(900, 1500)])
    )
