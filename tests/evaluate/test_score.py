"""Measures of a run, against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score

from fbtwsvm.evaluate import Score


def test_measures_agree_with_scikit_learn():
    random = np.random.default_rng(0)
    truth, answers = random.integers(0, 4, 500), random.integers(0, 4, 500)
    answers[:300] = truth[:300]
    score = Score(window=100)
    for first in range(0, 500, 37):
        score.add(truth[first : first + 37], answers[first : first + 37])
    accuracy, kappa, temporal, balanced = score.all()
    assert accuracy == pytest.approx((truth == answers).mean())
    assert kappa == pytest.approx(cohen_kappa_score(truth, answers))
    assert balanced == pytest.approx(balanced_accuracy_score(truth, answers))
    repeating = (truth[1:] == truth[:-1]).sum() / 500
    assert temporal == pytest.approx((accuracy - repeating) / (1 - repeating))
    assert score.window()[0] == pytest.approx((truth == answers)[-100:].mean())
    assert score.window()[1] == pytest.approx(cohen_kappa_score(truth[-100:], answers[-100:]))


def test_labels_may_be_anything_and_turn_up_late():
    score = Score(window=10)
    score.add(["a", "b"], ["a", "a"])
    score.add(["z"], ["b"])
    assert score.all()[0] == pytest.approx(1 / 3)
