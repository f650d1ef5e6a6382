"""The rivals against libsvm and their relatives: a fair comparison needs sound rivals."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from benchmarks.harness.measure import learn_chunks
from benchmarks.rivals.ilvq import ILVQ
from benchmarks.rivals.isvm import ISVM, ExactMachine
from benchmarks.rivals.lasvm import LASVM, OnlineMachine
from benchmarks.rivals.orf import ORF

RIVALS = (ISVM(C=10.0, gamma=0.3), LASVM(C=10.0, gamma=0.3), ORF(least_rows=10), ILVQ())


def problem(seed, n_rows=60):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, random.integers(1, 5)))
    signs = np.where(X[:, 0] + 0.8 * random.normal(size=n_rows) > 0, 1.0, -1.0)
    return X, signs, 10.0 ** random.uniform(-1, 0.7), 10.0 ** random.uniform(-1, 0.5)


@pytest.mark.parametrize("seed", range(10))
def test_isvm_is_libsvm_after_every_row(seed):
    X, signs, C, gamma = problem(seed)
    machine = ExactMachine(C, gamma, X.shape[1])
    for n in range(1, len(X) + 1):
        machine.learn(X[n - 1 : n], signs[n - 1 : n])
        if len(np.unique(signs[:n])) < 2:
            continue
        found, alpha = machine.decide(X[:n]), machine.alpha[:n]
        expected = SVC(C=C, gamma=gamma, tol=1e-11).fit(X[:n], signs[:n]).decision_function(X[:n])
        free = (alpha > 1e-6) & (alpha < C - 1e-6)
        if not free.any():  # then any offset of an interval is right
            found, expected = found - found[0], expected - expected[0]
        np.testing.assert_allclose(found, expected, atol=1e-6)
        margins = signs[:n] * machine.decide(X[:n]) - 1.0
        assert 0 <= alpha.min() <= alpha.max() <= C
        assert abs(alpha @ signs[:n]) < 1e-9 * C
        assert np.abs(margins[free]).max(initial=0.0) < 1e-7


@pytest.mark.parametrize(("slack", "share"), [(1.0, 0.99), (0.0, 0.9)])
@pytest.mark.parametrize("seed", range(5))
def test_lasvm_comes_within_one_percent_of_libsvms_objective(seed, slack, share):
    X, signs, C, gamma = problem(seed, 200)
    machine = OnlineMachine(C, gamma, 1e-3, slack, X.shape[1])
    machine.learn(X, signs)
    machine.finish()
    libsvm = SVC(C=C, gamma=gamma, tol=1e-9).fit(X, signs)
    alpha, S = libsvm.dual_coef_[0], libsvm.support_vectors_
    K = np.exp(-gamma * ((S[:, None] - S) ** 2).sum(axis=2))
    best = np.abs(alpha).sum() - 0.5 * alpha @ K @ alpha
    a, size = machine.a[: machine.size], machine.size
    objective = a @ machine.y[:size] - 0.5 * a @ machine.K[:size, :size] @ a
    assert share * best <= objective <= best * (1 + 1e-6)


def test_rivals_are_as_good_as_their_relatives_whatever_the_chunks():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0)
    relatives = [SVC(C=10, gamma=0.3)] * 2 + [ExtraTreesClassifier(random_state=0), KNeighborsClassifier(1)]
    for rival, relative, within in zip(RIVALS, relatives, (0.0, 0.005, 0.05, 0.07), strict=True):
        expected = relative.fit(X, y).score(X_test, y_test)
        assert clone(rival).fit(X, y).score(X_test, y_test) == pytest.approx(expected, abs=within)
        answers = []
        for size in (1, 100):
            model = clone(rival).partial_fit(X[:100], y[:100], classes=np.unique(y))
            answers.append(learn_chunks(model, X[100:200], y[100:200], size).predict(X_test))
        if not isinstance(rival, ORF):  # a forest draws in another order
            np.testing.assert_array_equal(*answers)
