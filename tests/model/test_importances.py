"""Gradients of the decision, and importances of columns."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from scipy.stats import spearmanr
from sklearn.decomposition import PCA
from sklearn.inspection import permutation_importance

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.online.committee import CommitteeRule
from helpers import clouds, stream


def chances(model, rows):
    """Return the probabilities whose gradients are computed: the closed form of coupling."""
    answers = model_of(model).answers
    mapped = answers.mapping.rows(rows)
    if isinstance(answers.rule, CommitteeRule):
        return answers.rule.probabilities(mapped)
    margins = np.concatenate(list(answers.rule._tiles(mapped, answers.rule.decision.learned_offsets)))
    return softmax(-np.log(np.exp(margins).sum(axis=2)), axis=1)


def differences(model, rows, step=1e-6):
    """Return how the probability of the predicted class changes with each column."""
    best, every = np.searchsorted(model.classes_, model.predict(rows)), np.arange(len(rows))
    slopes = np.empty(rows.shape)
    for column in range(rows.shape[1]):
        moved = np.zeros(rows.shape[1])
        moved[column] = step
        difference = chances(model, rows + moved) - chances(model, rows - moved)
        slopes[:, column] = difference[every, best] / (2.0 * step)
    return slopes


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize(
    "options",
    [
        {"gamma": 0.1},
        {"gamma": 0.1, "n_components": 40},
        {"gamma": 0.1, "feature_map": "fourier", "n_components": 60},
        {"kernel": "linear"},
        {"gamma": 0.1, "metric": [2.0, 0.5, 1.0]},
        {"gamma": 0.1, "decision": "value", "multiclass": "vote"},
    ],
    ids=str,
)
def test_gradients_are_finite_differences(options, n_classes):
    X, y = clouds(200, n_classes, spread=4.0)
    model = FBTWSVM(random_state=0, **options).fit(X, y)
    rows = X[::10] + 0.01
    np.testing.assert_allclose(model.gradients(rows), differences(model, rows), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(model.gradients(sp.csr_matrix(rows)), model.gradients(rows), atol=1e-9)


def test_gradients_are_those_of_the_predicted_class():
    """Its pairs may contradict each other, so that another class has the larger probability of the closed form."""
    X, y = clouds(300, 10, spread=3.0)
    model = FBTWSVM(gamma=0.5, decision="distance").fit(X, y)
    rows = np.random.default_rng(1).normal(0.0, 3.0, size=(80, 3))
    predicted = np.searchsorted(model.classes_, model.predict(rows))
    assert (chances(model, rows).argmax(axis=1) != predicted).any()
    np.testing.assert_allclose(model.gradients(rows), differences(model, rows), rtol=1e-2, atol=1e-4)


def test_maps_without_a_gradient_have_no_importances():
    X, y = clouds(100, 2)
    for options in ({"kernel": lambda A, B: A @ B.T}, {"feature_map": PCA(2)}):
        model = FBTWSVM(**options).fit(X, y)
        assert not hasattr(model, "feature_importances_")
        with pytest.raises(ValueError, match="has no gradient"):
            model.gradients(X)


def test_very_many_classes_take_little_memory():
    random = np.random.default_rng(0)
    y = np.arange(600) % 300
    X = random.normal(size=(600, 5)) + 3.0 * random.normal(size=(300, 5))[y]
    model = FBTWSVM(kernel="linear").fit(X, y)
    tracemalloc.start()
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400 * 2**20


def test_two_classes_have_the_gradients_of_predict_proba():
    X, y = clouds(200, 2)
    model = FBTWSVM(gamma=0.1).fit(X, y)
    rows, step = X[:5], np.array([1e-5, 0.0, 0.0])
    slopes = (model.predict_proba(rows + step) - model.predict_proba(rows - step)).max(axis=1) / 2e-5
    found = model.gradients(rows)[:, 0]
    np.testing.assert_allclose(np.abs(found), slopes, atol=1e-6)


@pytest.mark.parametrize("spread", [0.5, 4.0])
def test_a_committee_has_the_gradients_of_all_its_members(spread):
    """Also where a member is so sure that its log-probability has reached its lower limit."""
    X, y = clouds(400, 3, spread=spread)
    model = stream(FBTWSVM(gamma=0.1, decay="auto", warm_up=100, n_components=30, random_state=0), X, y, 40)
    np.testing.assert_allclose(model.gradients(X[:20]), differences(model, X[:20]), rtol=1e-3, atol=1e-5)


def known_truth(n=900, seed=0):
    """Return rows of six columns of which three matter, each less than the one before."""
    X = np.random.default_rng(seed).normal(size=(n, 6)) * [1.0, 10.0, 0.1, 1.0, 10.0, 0.1]
    y = (X[:, 0] + 0.5 * np.sin(X[:, 1] / 5.0) + 2.0 * X[:, 2] > 0).astype(int)
    return X, y


@pytest.mark.parametrize("options", [{}, {"n_components": 200}, {"metric": "none"}], ids=str)
def test_importances_agree_with_permutation_importance(options):
    X, y = known_truth()
    X /= X.std(axis=0)
    model = FBTWSVM(random_state=0, **options).fit(X, y)
    shares = model.feature_importances_
    assert shares.sum() == pytest.approx(1.0)
    assert list(np.argsort(-shares)[:3]) == [0, 1, 2]
    expected = permutation_importance(model, X, y, n_repeats=5, random_state=0).importances_mean
    assert spearmanr(shares[:3], expected[:3]).statistic == pytest.approx(1.0)
    assert shares[3:].max() < shares[:3].min()


def test_importances_do_not_depend_on_the_units_of_columns():
    X, y = known_truth()
    units = np.array([1.0, 100.0, 0.01, 5.0, 1.0, 3.0])
    one = FBTWSVM(gamma=0.1, metric="none").fit(X / X.std(axis=0), y).feature_importances_
    other = FBTWSVM(gamma=0.1, metric=1.0 / (units * X.std(axis=0))).fit(X * units, y).feature_importances_
    np.testing.assert_allclose(one, other, rtol=1e-3)


def test_given_factors_bring_columns_to_one_scale(recwarn):
    """There is nothing to warn of."""
    X, y = known_truth()
    units = np.array([1.0, 1e4, 1e-4, 1.0, 1.0, 1.0])
    FBTWSVM(gamma=0.1, metric=1.0 / units).fit(X * units, y)
    assert not recwarn.list
    FBTWSVM(gamma=0.1).fit(X * units, y)
    assert "ranges over" in str(recwarn.list[0].message)


def test_a_stream_has_the_importances_of_its_landmarks():
    X, y = known_truth()
    X /= X.std(axis=0)
    model = FBTWSVM(gamma=0.1, random_state=0, warm_up=300)
    assert stream(model, X[:200], y[:200], 50).feature_importances_.argmax() == 0  # in the warm-up
    assert stream(model, X[200:], y[200:], 50).feature_importances_.argmax() == 0
    plain = stream(FBTWSVM(kernel="linear", warm_up=300), X, y, 100)
    assert plain.feature_importances_.argmax() == 0


def test_a_model_without_rows_has_gradients_only():
    X, y = clouds(300, 2)
    model = stream(FBTWSVM(gamma=0.1, feature_map="fourier", n_components=20, warm_up=100), X, y, 50)
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(AttributeError, match=r"holds no rows.*gradients\(X\)"):
        model.feature_importances_  # noqa: B018
    assert model.gradients(X).shape == X.shape


def test_a_linear_fit_that_keeps_sums_has_importances():
    X, y = known_truth(3000)
    assert FBTWSVM(kernel="linear").fit(X / X.std(axis=0), y).feature_importances_.argmax() == 0


def test_columns_that_do_not_matter_at_all_share_alike():
    X, y = clouds(60, 1)
    model = FBTWSVM(warm_up=50).partial_fit(X, y)  # one class
    np.testing.assert_array_equal(model.feature_importances_, 1.0 / 3.0)
    assert not model.gradients(X).any()
