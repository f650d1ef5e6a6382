"""A committee of several half-lives and maps: its answer, and the trust in its members."""

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, softmax

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.model.decision import PairRule
from fbtwsvm.online._committee_loops import IDLE_ROWS, trust_rows
from fbtwsvm.online.trust import RATE, Trust
from helpers import clouds, stream


def judged(chances, labels, trust=None):
    """Return the trust after rows of which the members gave these log-probabilities (n, E, K)."""
    trust = Trust(chances.shape[1]) if trust is None else trust
    wrong = np.empty(chances.shape[:2], dtype=np.bool_)
    trust_rows(chances, np.asarray(labels), trust.weights, trust.slopes, trust.idle, RATE, wrong)
    np.testing.assert_array_equal(wrong, chances.argmax(axis=2) != np.asarray(labels)[:, None])
    return trust


def accuracy(chances, labels):
    """Return the accuracy of a committee that follows its members row by row."""
    trust, hits = Trust(chances.shape[1]), []
    for row, label in zip(chances, labels, strict=True):
        success, likelihood = trust.weights[:, :-1]
        ways = trust.weights[:, -1]
        answer = ways[0] * (success @ np.exp(row)) + ways[1] * softmax(likelihood @ row)
        hits.append(answer.argmax() == label)
        trust = judged(row[None], [label], trust)
    return np.mean(hits)


def guesses(labels, shares, seed=0):
    """Return log-probabilities of members that are right in these shares of the rows, more or less sure of it."""
    random = np.random.default_rng(seed)
    right = random.random((len(labels), len(shares))) < shares
    sure = random.uniform(0.6, 0.95, right.shape)
    own = np.where(right, sure, 1.0 - sure)[..., None]
    return np.log(np.where(np.arange(2) == np.asarray(labels)[:, None, None], own, 1.0 - own))


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


def test_the_answer_is_the_mean_of_both_ways_to_combine_members():
    X, y = clouds(300)
    model = stream(FBTWSVM(gamma=0.1, n_components=15, warm_up=100, decay="auto", random_state=0), X, y, 25)
    rule, rows = model_of(model).rule, model_of(model).mapping.rows(X)
    alone = np.stack([log_chances(PairRule(rule.decision, planes), rows) for planes in rule.planes], axis=1)
    used = np.where(rule.weights[:, :-1] > 1e-3, rule.weights[:, :-1], 0.0)
    mean = np.einsum("e,nek->nk", used[0], np.exp(alone))
    product = softmax(np.einsum("e,nek->nk", used[1], alone), axis=1)
    ways = rule.weights[:, -1] / rule.weights[:, -1].sum()
    expected = ways[0] * mean / mean.sum(axis=1, keepdims=True) + ways[1] * product
    np.testing.assert_allclose(rule.probabilities(rows), expected, atol=1e-10)
    np.testing.assert_allclose(np.concatenate([rule.probabilities(row[None]) for row in rows]), expected, atol=1e-10)
    np.testing.assert_allclose(rule.scores(rows), np.log(expected), atol=1e-8)
    assert len(rule.planes) == 7


def test_members_of_the_columns_use_these_and_no_others():
    X, y = clouds(400, n_columns=5)
    model = stream(FBTWSVM(gamma=0.1, n_components=15, warm_up=100, decay="auto", random_state=0), X, y, 25)
    state = model_of(model)
    standard = state.mapping.rows(X)[:, 15:20]
    centred = (X - state.mapping.columns.centre) * state.mapping.columns.factor
    np.testing.assert_allclose(standard, np.clip(centred, -np.sqrt(5), np.sqrt(5)))
    for member in state.members:
        assert (member.first, member.planes.shape[2]) == ((15, 6) if member.policy.linear else (0, 16))


def test_trust_goes_to_the_member_that_was_right():
    chances = np.tile(np.log([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]), (200, 1, 1))
    trust = judged(chances, np.zeros(200, dtype=np.int64))
    assert trust.weights[1, 0] > trust.weights[1, 1] > trust.weights[1, 2] == 0.0
    assert trust.weights[0, 2] < 0.01
    assert trust.shares.sum() == pytest.approx(1.0)
    assert trust.weights[0, :-1].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_committee_is_as_good_as_its_best_member(seed):
    labels = np.random.default_rng(seed).integers(0, 2, 4000)
    chances = guesses(labels, [0.6, 0.9, 0.7, 0.55, 0.8], seed)
    best = (chances.argmax(axis=2) == labels[:, None]).mean(axis=0).max()
    assert accuracy(chances, labels) > best - 0.005


def test_a_committee_follows_the_best_member_when_another_one_becomes_the_best():
    labels = np.random.default_rng(0).integers(0, 2, 4000)
    chances = np.concatenate([guesses(labels[:2000], [0.95, 0.6]), guesses(labels[2000:], [0.6, 0.95], 1)])
    assert accuracy(chances, labels) > 0.93


def test_members_without_a_part_in_the_answer_rest_until_they_are_needed():
    labels = np.zeros(3 * IDLE_ROWS, dtype=np.int64)
    chances = np.log(np.tile([[0.9, 0.1], [0.1, 0.9]], (len(labels), 1, 1)))
    trust = judged(chances, labels)
    assert [trust.rests(e) for e in range(2)] == [False, True]
    trust = judged(chances[:50], 1 - labels[:50], trust)  # now the other one is right
    assert not trust.rests(1)


def test_a_member_starts_again_when_its_error_rate_rises():
    """What it has learned since the change counts in full, what came before hardly at all."""
    X, y = clouds(2400, 2)
    changed = np.where(np.arange(2400) < 1200, y, 1 - y)
    model = FBTWSVM(gamma=0.1, n_components=30, warm_up=100, decay="auto", random_state=0)
    stream(model, X[:1190], changed[:1190], 10)
    first = model_of(model).members[0]
    assert first.policy.starts_again
    assert not first.faded
    stream(model, X[1190:], changed[1190:], 10)
    first = model_of(model).members[0]
    assert first.faded
    weight = first.moments.counts.sum() / first.current_weight
    assert 1150 < weight < 1250


def test_a_linear_concept_under_noise_is_left_to_the_linear_members():
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 40))
    y = (X @ random.normal(size=40) + 3.0 * random.normal(size=4000) > 0).astype(int)
    model = stream(FBTWSVM(decay="auto", random_state=0), X, y, 100)
    report = model.memory_report()
    linear = [name.startswith("linear") for name in report.members]
    assert report.trust[linear].sum() > 0.6


@pytest.mark.parametrize("n_columns", [100, 101])
def test_there_are_no_linear_members_of_very_many_columns(n_columns):
    X, y = clouds(150, 2, n_columns=n_columns)
    model = FBTWSVM(gamma=0.01, n_components=15, warm_up=100, decay="auto", random_state=0).partial_fit(X, y)
    assert len(model_of(model).members) == (7 if n_columns == 100 else 4)
