"""The rivals of the benchmarks against libsvm, brute force and finite differences: a fair race needs sound runners."""

import numpy as np
import pytest
from benchmarks.rivals import ILVQ, ISVM, LASVM, ORF
from benchmarks.rivals.ilvq import attract_and_repel, best_place, cost
from benchmarks.rivals.isvm import ExactMachine
from benchmarks.rivals.lasvm import OnlineMachine
from benchmarks.rivals.orf import best_test, gini
from sklearn.datasets import load_digits, make_moons
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

RIVALS = {
    "isvm": ISVM(C=10.0, gamma=0.3),
    "lasvm": LASVM(C=10.0, gamma=0.3),
    "orf": ORF(least_rows=10, random_state=0),
    "ilvq": ILVQ(random_state=0),
}


def problem(seed, n_rows=60):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, random.integers(1, 5)))
    signs = np.where(X[:, 0] + 0.8 * random.normal(size=n_rows) > 0, 1.0, -1.0)
    return X, signs, 10.0 ** random.uniform(-1, 0.7), 10.0 ** random.uniform(-1, 0.5), random


def assert_is_libsvms_solution(machine, C, gamma):
    X, signs = machine.held()
    if len(np.unique(signs)) < 2:
        return
    libsvm = SVC(C=C, gamma=gamma, tol=1e-11).fit(X, signs)
    # libsvm keeps its kernel in single precision, which moves its duals by 1e-5 where rows are nearly alike:
    # what is compared to 1e-6 are the values, offset included
    found = machine.decide(X)
    free = (machine.alpha[: machine.n] > 1e-6) & (machine.alpha[: machine.n] < C - 1e-6)
    wanted = libsvm.decision_function(X)
    if not free.any():  # then any offset of an interval is right
        found, wanted = found - found[0], wanted - wanted[0]
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    # and the duals are checked against the optimality conditions
    alpha, margins = machine.alpha[: machine.n], signs * machine.decide(X) - 1.0
    assert alpha.min() >= 0
    assert alpha.max() <= C
    assert abs(alpha @ signs) < 1e-9 * C
    assert margins[alpha < 1e-9].min(initial=0.0) > -1e-7
    assert margins[alpha > C - 1e-9].max(initial=0.0) < 1e-7
    assert np.abs(margins[free]).max(initial=0.0) < 1e-7


@pytest.mark.parametrize("seed", range(20))
def test_isvm_is_libsvm_after_every_row_added_and_removed(seed):
    X, signs, C, gamma, random = problem(seed)
    machine = ExactMachine(C, gamma)
    for x, sign in zip(X, signs, strict=True):
        machine.learn(x[None], np.array([sign]))
        assert_is_libsvms_solution(machine, C, gamma)
    while machine.n > 2:
        machine.unlearn(int(random.integers(machine.n)))
        assert_is_libsvms_solution(machine, C, gamma)


def test_isvm_bears_rows_that_come_again_and_again():
    X, signs, C, gamma, _ = problem(3, 30)
    X, signs = np.tile(X, (4, 1)), np.tile(signs, 4)
    machine = ExactMachine(C, gamma)
    machine.learn(X, signs)
    libsvm = SVC(C=C, gamma=gamma, tol=1e-9).fit(X, signs)
    np.testing.assert_allclose(machine.decide(X), libsvm.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(("slack", "share"), [(1.0, 0.99), (0.0, 0.9)])
@pytest.mark.parametrize("seed", range(20))
def test_lasvm_comes_within_one_percent_of_libsvms_objective(seed, slack, share):
    X, signs, C, gamma, _ = problem(seed, 200)
    machine = OnlineMachine(C, gamma, 1e-3, slack)
    machine.learn(X, signs)
    before = machine.objective()
    machine.finish()
    libsvm = SVC(C=C, gamma=gamma, tol=1e-9).fit(X, signs)
    alpha, S = libsvm.dual_coef_[0], libsvm.support_vectors_
    K = np.exp(-gamma * ((S[:, None] - S) ** 2).sum(axis=2))
    best = np.abs(alpha).sum() - 0.5 * alpha @ K @ alpha
    assert before <= machine.objective() + 1e-9
    assert share * best <= machine.objective() <= best * (1 + 1e-6)


def test_lasvm_holds_the_gradients_of_its_rows():
    X, signs, C, gamma, _ = problem(1, 150)
    machine = OnlineMachine(C, gamma, 1e-3, 1.0)
    machine.learn(X, signs)
    rows, labels = machine.held()
    values = machine.decide(rows) - machine._scalars[0]
    np.testing.assert_allclose(machine.g[: machine.size], labels - values, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 5])
def test_orf_splits_by_the_best_of_its_tests(classes):
    random = np.random.default_rng(0)
    sides = random.integers(0, 30, size=(12, 2, classes)).astype(float)
    sides[3, 0] = 0  # nothing on one side: no split

    def gain(left, right):
        def impurity(counts):
            return 1 - ((counts / counts.sum()) ** 2).sum()

        both = left + right
        weights = left.sum() / both.sum(), right.sum() / both.sum()
        return impurity(both) - weights[0] * impurity(left) - weights[1] * impurity(right)

    gains = [gain(*side) if side.sum(axis=1).all() else -1.0 for side in sides]
    best, found = best_test(sides)
    assert best == int(np.argmax(gains))
    assert found == pytest.approx(max(gains))
    assert gini(np.array([5.0, 5.0])) == pytest.approx(0.5)


def test_ilvq_moves_prototypes_down_the_gradient_of_the_cost():
    random = np.random.default_rng(0)
    x, W = random.normal(size=3), random.normal(size=(2, 3))

    def loss(W):
        return cost(((x - W[0]) ** 2).sum(), ((x - W[1]) ** 2).sum())

    gradient = np.zeros_like(W)
    for place in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[place] = 1e-6
        gradient[place] = (loss(W + step) - loss(W - step)) / 2e-6
    moved = W.copy()
    distances = ((x - W) ** 2).sum(axis=1)
    attract_and_repel(x, 0, 1, distances[0], distances[1], moved, 0.01)
    np.testing.assert_allclose(moved - W, -0.01 * gradient, rtol=1e-5, atol=1e-12)


def test_ilvq_puts_a_prototype_where_the_window_costs_least():
    random = np.random.default_rng(1)
    window, labels = random.normal(size=(40, 2)), random.integers(0, 2, 40)
    prototypes, own = random.normal(size=(4, 2)), np.array([0, 0, 1, 1])

    def total(extra):
        W, kinds = np.vstack([prototypes, window[extra]]), np.append(own, labels[extra])
        squares = ((window[:, None] - W) ** 2).sum(axis=2)
        same = labels[:, None] == kinds
        return sum(
            cost(np.where(s, d, np.inf).min(), np.where(s, np.inf, d).min()) for s, d in zip(same, squares, strict=True)
        )

    squares = ((window[:, None] - prototypes) ** 2).sum(axis=2)
    same = labels[:, None] == own
    near, far = np.where(same, squares, np.inf).min(axis=1), np.where(same, np.inf, squares).min(axis=1)
    candidates = np.array([3, 17, 8, 30, 22])
    assert best_place(window, labels, near, far, candidates) == min(candidates, key=total)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16, y, random_state=0)


@pytest.mark.parametrize("name", RIVALS)
def test_chunks_of_any_size_give_one_answer(name, digits):
    X, X_test, y, _ = digits
    classes = np.unique(y)
    answers = []
    for size in (1, 50, 400):
        model = RIVALS[name].__class__(**RIVALS[name].get_params())
        model.partial_fit(X[:100], y[:100], classes=classes)
        for first in range(100, 400, size):
            model.partial_fit(X[first : first + size][: 400 - first], y[first : first + size][: 400 - first])
        answers.append(model.predict(X_test))
    if name == "orf":  # chance comes in another order, tree after tree
        assert np.mean(answers[0] == answers[2]) > 0.85
    else:
        np.testing.assert_array_equal(answers[0], answers[2])
        np.testing.assert_array_equal(answers[1], answers[2])


def test_rivals_are_as_good_as_their_relatives(digits):
    X, X_test, y, y_test = digits
    svc = SVC(C=10, gamma=0.3).fit(X, y).score(X_test, y_test)
    forest = ExtraTreesClassifier(random_state=0).fit(X, y).score(X_test, y_test)
    neighbour = KNeighborsClassifier(1).fit(X, y).score(X_test, y_test)
    scores = {name: model.fit(X, y).score(X_test, y_test) for name, model in RIVALS.items()}
    assert scores["isvm"] == svc  # the same machine, and the same votes
    assert scores["lasvm"] == pytest.approx(svc, abs=0.005)
    assert scores["orf"] == pytest.approx(forest, abs=0.05)  # in one pass
    assert scores["ilvq"] == pytest.approx(neighbour, abs=0.07)  # with a few prototypes


@pytest.mark.parametrize("name", ["isvm", "lasvm"])
def test_a_class_that_comes_late_meets_the_rows_that_came_before(name):
    X, y = make_moons(300, noise=0.1, random_state=0)
    late = np.argsort(y, kind="stable")
    model = RIVALS[name].__class__(C=10.0, gamma=2.0)
    model.partial_fit(X[late[:150]], y[late[:150]])
    assert set(model.predict(X)) == {0}
    for first in range(150, 300, 10):
        model.partial_fit(X[late[first : first + 10]], y[late[first : first + 10]])
    model.finish()
    assert model.score(X, y) == pytest.approx(SVC(C=10, gamma=2).fit(X, y).score(X, y), abs=0.01)
    three = np.where((y == 1) & (X[:, 0] > 1), 2, y)
    model = RIVALS[name].__class__(C=10.0, gamma=2.0)
    for label in (0, 1, 2):
        model.partial_fit(X[three == label], three[three == label])
    assert model.finish().score(X, three) == pytest.approx(SVC(C=10, gamma=2).fit(X, three).score(X, three), abs=0.02)


def test_orf_asks_for_classes_and_refuses_others():
    X, y = make_moons(50, random_state=0)
    with pytest.raises(ValueError, match="needs `classes`"):
        ORF().partial_fit(X, y)
    model = ORF(n_trees=5, random_state=0).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="not in `classes`"):
        model.partial_fit(X, y + 5)


def test_a_late_class_that_comes_with_old_ones_is_learned_once():
    random = np.random.default_rng(0)
    y = np.concatenate([random.integers(0, 2, 60), random.integers(0, 3, 90)])
    X = random.normal(size=(150, 2)) + 2.0 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    model = ISVM(C=3.0, gamma=0.5).partial_fit(X[:60], y[:60])
    for first in range(60, 150, 30):
        model.partial_fit(X[first : first + 30], y[first : first + 30])
    for (a, b), machine in model.machines_.items():
        own = (y == a) | (y == b)
        assert machine.n == own.sum()
        np.testing.assert_array_equal(machine.box[: machine.n], 3.0)
        libsvm = SVC(C=3.0, gamma=0.5, tol=1e-9).fit(X[own], np.where(y[own] == b, 1, -1))
        np.testing.assert_allclose(machine.decide(X), libsvm.decision_function(X), atol=1e-6)


def test_isvm_unlearns_a_row_as_often_as_it_was_learned():
    X, signs, C, gamma, _ = problem(2, 40)
    machine, other = ExactMachine(C, gamma), ExactMachine(C, gamma)
    machine.learn(np.concatenate([X, X[:10]]), np.concatenate([signs, signs[:10]]))
    other.learn(X, signs)
    for place in range(10):  # the second time of each
        machine.unlearn(place)
    assert machine.n == other.n
    np.testing.assert_allclose(machine.decide(X), other.decide(X), atol=1e-6)
    while machine.n:
        machine.unlearn(machine.n - 1)
    assert machine.alpha[: machine.n].sum() == 0
