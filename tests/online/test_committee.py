"""A committee of several half-lives."""

from fbtwsvm import FBTWSVM
from helpers import clouds, stream


def test_decay_auto_follows_a_sudden_change():
    X, y = clouds(3000, 2)
    changed = y.copy()
    changed[1500:] = 1 - y[1500:]
    scores = {}
    for decay in (1.0, "auto"):
        model = FBTWSVM(gamma=0.1, n_components=30, warm_up=100, decay=decay, random_state=0)
        stream(model, X[:2500], changed[:2500], 10)
        scores[decay] = model.score(X[2500:], changed[2500:])
    assert scores["auto"] > 0.85
    assert scores["auto"] > scores[1.0] + 0.05
