"""The learned metric: taken where columns are noise, and not by chance."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fbtwsvm import FBTWSVM
from fbtwsvm.batch.one_hot import one_hot_blocks
from fbtwsvm.features.kernels import gamma_scale
from helpers import assert_same_answers


def checkerboard(n, n_noise, seed=0):
    """Return rows of two columns with a checkerboard of nine fields, and others that tell nothing."""
    X = np.random.default_rng(seed).uniform(0.0, 3.0, size=(n, 2 + n_noise))
    return X, X[:, :2].astype(int).sum(axis=1) % 2


@pytest.mark.parametrize("n", [1000, 3000])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_columns_of_noise_are_left_out(n, kernel):
    X, y = checkerboard(2 * n, 10)
    model = FBTWSVM(kernel=kernel, random_state=0)
    plain = clone(model).set_params(metric="none").fit(X[:n], y[:n])
    model.fit(X[:n], y[:n])
    assert model.n_rounds_ >= 1
    assert model.metric_[:2].min() > 3.0 * model.metric_[2:].max()
    assert model.score(X[n:], y[n:]) > plain.score(X[n:], y[n:]) + 0.1
    np.testing.assert_array_equal(plain.metric_, 1.0)
    assert plain.n_rounds_ == 0


@pytest.mark.parametrize("n_classes", [2, 5])
def test_labels_without_meaning_get_no_metric(n_classes):
    """By chance, fewer than one in ten; what a wider kernel gains is not taken for a gain of the metric."""
    taken = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        X = random.normal(size=(400, int(random.choice([2, 3, 5, 10, 30]))))
        taken += FBTWSVM().fit(X, random.integers(n_classes, size=400)).n_rounds_ > 0
    assert taken <= 1


def test_columns_that_all_matter_get_no_metric():
    X, y = load_digits(return_X_y=True)
    assert FBTWSVM().fit(X, y).n_rounds_ == 0
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 6))
    assert FBTWSVM().fit(X, (np.square(X).sum(axis=1) > 5.5).astype(int)).n_rounds_ == 0


def test_few_rows_and_one_column_get_no_metric():
    X, y = checkerboard(250, 10)
    assert FBTWSVM().fit(X, y).n_rounds_ == 0
    copies = np.random.default_rng(0).integers(250, size=2000)
    assert FBTWSVM(warm_up=600).partial_fit(X[copies], y[copies]).n_rounds_ == 0
    assert FBTWSVM(metric="columns").fit(X, y).n_rounds_ >= 1
    X, y = checkerboard(600, 10)
    assert FBTWSVM(metric="columns").fit(X[:, :1], y).n_rounds_ == 0


@pytest.mark.parametrize("gamma", ["scale", 0.3])
def test_a_gamma_that_is_given_is_meant_for_the_columns_as_they_are(gamma):
    X, y = checkerboard(800, 4)
    assert FBTWSVM(gamma=gamma).fit(X, y).n_rounds_ == 0
    learned = FBTWSVM(gamma=gamma, metric="columns").fit(X, y)
    assert learned.metric_[:2].min() > 2.0 * learned.metric_[2:].max()
    assert gamma == "scale" or learned.gamma_ == gamma


def test_given_factors_are_those_of_multiplied_columns():
    X, y = checkerboard(800, 3)
    X -= X.mean(axis=0)
    factors = np.array([2.0, 1.0, 0.5, 0.0, 0.1])
    for options in ({}, {"n_components": 60}, {"feature_map": "fourier", "n_components": 60}):
        for gamma in (0.4, "scale", "auto"):
            own = FBTWSVM(gamma=gamma, metric=factors, random_state=0, **options).fit(X, y)
            plain = FBTWSVM(gamma=gamma, metric="none", random_state=0, **options).fit(X * factors, y)
            np.testing.assert_allclose(own.predict_proba(X), plain.predict_proba(X * factors), atol=1e-6)
            np.testing.assert_array_equal(own.metric_, factors)
            assert own.n_rounds_ == 0


def test_learned_factors_can_be_given():
    X, y = checkerboard(800, 5)
    learned = FBTWSVM().fit(X, y)
    given = FBTWSVM(gamma=learned.gamma_, metric=learned.metric_).fit(X, y)
    assert_same_answers(learned, given, X)


def test_a_gamma_of_scale_judges_with_scale():
    """In a fit and on a stream."""
    X, y = checkerboard(600, 2)
    fit = FBTWSVM(gamma="scale", metric="columns", random_state=0).fit(X, y)
    assert fit.gamma_ == pytest.approx(gamma_scale((X - X.mean(axis=0)) * fit.metric_), rel=1e-6)


@pytest.mark.parametrize("n_columns", [6, 120])
def test_units_and_offsets_of_the_columns_do_not_matter(n_columns):
    """Such as degrees Kelvin, or values that are too small or too large for float32."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1400, n_columns))
    y = (X[:, 0] * X[:, 1] > 0 if n_columns == 6 else X[:, 0] > 0).astype(int)
    for unit, offset in ((1.0, 0.0), (1.0, 1000.0), (1e-22, 0.0), (1e25, 0.0)):
        rows = unit * (X + offset)
        model = FBTWSVM(random_state=0).fit(rows[:700], y[:700])
        assert model.n_rounds_ > 0
        assert model.score(rows[700:], y[700:]) > 0.85


def test_the_order_of_the_rows_does_not_matter():
    X, y = checkerboard(900, 5)
    order = np.random.default_rng(1).permutation(900)
    one, other = FBTWSVM().fit(X, y), FBTWSVM().fit(X[order], y[order])
    np.testing.assert_allclose(one.metric_, other.metric_, rtol=1e-9)


def test_a_row_of_weight_two_is_the_row_twice():
    X, y = checkerboard(600, 4)
    twice = np.concatenate([X, X[:200]]), np.concatenate([y, y[:200]])
    weighted = FBTWSVM().fit(X, y, np.where(np.arange(600) < 200, 2.0, 1.0))
    np.testing.assert_allclose(weighted.metric_, FBTWSVM().fit(*twice).metric_, rtol=1e-9)


def test_factors_leave_the_variance_as_it_is():
    X, y = checkerboard(900, 5)
    model = FBTWSVM().fit(X, y)
    assert np.var(X * model.metric_, axis=0).sum() == pytest.approx(np.var(X, axis=0).sum(), rel=0.02)


@pytest.mark.parametrize("n", [800, 2500])
def test_sparse_rows(n):
    X, y = checkerboard(2 * n, 5)
    X[:, 2:][np.random.default_rng(2).random((2 * n, 5)) < 0.5] = 0.0
    rows = sp.csr_matrix(X)
    model = FBTWSVM(random_state=0).fit(rows[:n], y[:n])
    assert model.metric_[:2].min() > 5.0 * model.metric_[2:].max()
    assert model.score(rows[n:], y[n:]) > 0.9
    if n > 2000:  # small data is sorted in another order, and its sample is another one
        dense = FBTWSVM(random_state=0).fit(X[:n], y[:n])
        np.testing.assert_allclose(model.metric_, dense.metric_, rtol=1e-4)


def test_many_classes():
    """The gradients of many classes are replaced by sums with random signs."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(12, 3)) * 2.0
    y = np.arange(1800) % 12
    X = np.hstack([centres[y] + random.normal(size=(1800, 3)) * 0.4, random.normal(size=(1800, 12))])
    model = FBTWSVM().fit(X, y)
    assert model.n_rounds_ >= 1
    assert model.metric_[:3].min() > 2.0 * model.metric_[3:].max()


def test_one_hot_columns_of_a_category_share_a_factor():
    random = np.random.default_rng(0)
    category = random.integers(5, size=1200)
    noise = random.integers(4, size=1200)
    numbers = random.normal(size=(1200, 3))
    y = (numbers[:, 0] * np.where(category < 2, 1.0, -1.0) > 0).astype(int)
    X = np.hstack([numbers, OneHotEncoder(sparse_output=False).fit_transform(np.column_stack([category, noise]))])
    model = FBTWSVM().fit(StandardScaler().fit_transform(X), y)
    factors = model.metric_
    assert model.n_rounds_ >= 1
    np.testing.assert_allclose(factors[3:8], factors[3], rtol=1e-9)
    np.testing.assert_allclose(factors[8:], factors[8], rtol=1e-9)
    assert factors[3] > 1.5 * factors[8]


def test_blocks_of_one_hot_columns():
    first, second = np.eye(3)[[0, 1, 2, 0, 1]], np.eye(2)[[0, 0, 1, 1, 0]]
    number = np.arange(5.0)[:, None]
    assert one_hot_blocks(np.hstack([first, second])) == [slice(0, 3), slice(3, 5)]
    assert one_hot_blocks(np.hstack([number, 7.0 * first - 2.0, number, second])) == [slice(1, 4), slice(5, 7)]
    assert one_hot_blocks(np.hstack([second[:, :1], first])) == [slice(1, 4)]  # a flag before a category
    flag = np.array([[0.0], [1.0], [0.0], [0.0], [0.0]])  # it excludes the first value of the category
    assert one_hot_blocks(np.hstack([flag, first])) == [slice(1, 4)]
    assert one_hot_blocks(first[:, :2]) == []  # a category without its last column
    assert one_hot_blocks(number) == []
    absent = np.insert(first, 1, 0.0, axis=1)  # a value that does not occur
    assert one_hot_blocks(np.hstack([number, absent, second])) == [slice(1, 5), slice(5, 7)]
    assert one_hot_blocks(sp.csr_matrix(np.hstack([first, second]))) == [slice(0, 3), slice(3, 5)]
    assert one_hot_blocks(np.ones((4, 2))) == []


def people(n_people=30, n_rows=80):
    """Return rows of people, one after the other: the first column matters, the next two tell who it is.

    Most labels are those of the person's habit.
    """
    random = np.random.default_rng(0)
    person, n = np.repeat(np.arange(n_people), n_rows), n_people * n_rows
    own, habit = 1.7 * random.normal(size=(n_people, 2)), random.random(n_people) < 0.5
    X = np.hstack([random.normal(size=(n, 1)), own[person] + 0.05 * random.normal(size=(n, 2)), np.zeros((n, 2))])
    X[:, 3:] = random.normal(size=(n, 2))
    return X, np.where(random.random(n) < 0.7, habit[person], X[:, 0] > 0).astype(int), person


def test_a_metric_is_judged_on_groups_that_were_held_out():
    X, y, person = people()
    factors = FBTWSVM(random_state=0).fit(X, y, groups=person).metric_
    assert factors[0] > 2.0 * factors[1:].max()
    factors = FBTWSVM(random_state=0, metric="columns").fit(X, y).metric_
    assert factors[1:3].min() > 2.0 * factors[0]


def test_a_metric_of_rows_that_belong_together_is_not_taken(monkeypatch):
    """Neighbouring rows are of one person: what tells people apart does not help with new people."""
    X, y, _ = people()
    assert FBTWSVM(random_state=0).fit(X, y).n_rounds_ == 0

    def always(*_):
        yield
        return True

    monkeypatch.setattr("fbtwsvm.batch.choose_metric._Rounds._holds_in_order", always)
    assert FBTWSVM(random_state=0).fit(X, y).n_rounds_ > 0


def test_what_is_done_is_said(capsys):
    X, y = checkerboard(800, 5)
    FBTWSVM(verbose=1).fit(X, y)
    assert "metric: learned in" in capsys.readouterr().out
    FBTWSVM(verbose=1).fit(X, np.arange(800) % 2)
    assert "metric: none, all columns count alike" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": [1.0, 2.0]}, "X has 4 columns"),
        ({"metric": [1.0, 2.0, -1.0, 0.0]}, "zeros and numbers from"),
        ({"metric": [1.0] * 4, "kernel": "linear"}, "metric exists for kernel='rbf' and 'laplacian'"),
        ({"metric": "columns", "kernel": "chi2"}, "metric='columns' exists for the kernels rbf and laplacian"),
        ({"metric": "columns", "feature_map": StandardScaler()}, "given by name"),
        ({"metric": [1.0] * 4, "feature_map": StandardScaler()}, "beside a feature map of your own"),
        ({"metric": "full"}, "metric"),
        ({"metric": np.ones((2, 2))}, r"shape \(2, 2\)"),
        ({"metric": ["1", "1", "1", "1"]}, "give a number for each column"),
        ({"metric": [1e-30, 1.0, 1.0, 1.0]}, "from 1e-12 to 1e\\+12"),
    ],
)
def test_a_metric_that_cannot_be_is_refused(options, message):
    X, y = np.abs(checkerboard(100, 2)[0]), checkerboard(100, 2)[1]
    model = FBTWSVM(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    for labels in (y, np.zeros(100, dtype=int)):
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(warm_up=200).partial_fit(X, labels)


def test_kernels_without_a_metric_ignore_auto():
    X, y = np.abs(checkerboard(400, 2)[0]), checkerboard(400, 2)[1]
    for options in ({"kernel": "linear"}, {"kernel": "chi2"}, {"feature_map": StandardScaler()}):
        model = FBTWSVM(**options).fit(X, y)
        np.testing.assert_array_equal(model.metric_, 1.0)
