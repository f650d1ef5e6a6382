"""A committee of several half-lives."""

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.model.decision import PairRule
from fbtwsvm.online._committee_loops import trust_rows
from fbtwsvm.online.committee import RATE
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


def log_chances(rule, rows):
    """Return log-probabilities by the closed form of pairwise coupling: p_k is 1 / sum_j exp(margin_kj), scaled."""
    values = np.einsum("ij,abj->iab", rows, rule.planes)
    values[:, *np.diag_indices(len(rule.planes))] = 1.0
    margins = 2.0 * np.log(np.abs(values) / np.abs(values.transpose(0, 2, 1)))
    return np.maximum(log_softmax(-logsumexp(np.minimum(margins, 50.0), axis=2), axis=1), -12.0)


def test_chances_add_up_by_trust():
    X, y = clouds(300)
    model = stream(FBTWSVM(gamma=0.1, n_components=15, warm_up=100, decay="auto", random_state=0), X, y, 25)
    rule, rows = model_of(model).rule, model_of(model).mapping.rows(X)
    alone = [log_chances(PairRule(rule.decision, planes), rows) for planes in rule.planes]
    expected = sum(trust * chances for trust, chances in zip(rule.trust, alone, strict=True))
    np.testing.assert_allclose(rule.scores(rows), expected, atol=1e-10)
    np.testing.assert_allclose(np.concatenate([rule.scores(row[None]) for row in rows]), expected, atol=1e-10)
    np.testing.assert_allclose(rule.probabilities(rows), softmax(expected, axis=1), atol=1e-10)
    assert len(rule.planes) == 4


def test_trust_goes_to_the_machine_that_was_right():
    chances = np.tile(np.log([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]), (200, 1, 1))
    trust, slopes = np.full(3, 1 / 3), np.full(3, 0.1)
    trust_rows(chances, np.zeros(200, dtype=np.int64), trust, slopes, RATE)
    assert trust[0] > trust[1] > trust[2] == 0.0
