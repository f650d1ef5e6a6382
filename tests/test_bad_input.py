"""Bad input gets an error that says what is wrong, and leaves the model as it was; odd input gets the right answer."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fbtwsvm import FBTWSVM, FBTWSVMCV, TableClassifier
from fbtwsvm.device.check import checked_labels

X = np.random.default_rng(0).normal(size=(30, 3))


Y = np.arange(30) % 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "cubic"}, "kernel"),
        ({"gamma": -1.0}, "gamma"),
        ({"gamma": "wide"}, "gamma"),
        ({"feature_map": "magic"}, "feature_map"),
        ({"n_components": 0}, "n_components"),
        ({"C": 0.0}, "'C'"),
        ({"C": (1.0, -1.0)}, "positive and finite"),
        ({"C": (1.0, 2.0, 3.0)}, "give one number, or for two classes a pair"),
        ({"reg": (1.0, np.inf)}, "positive and finite"),
        ({"mu": 1.5}, "mu"),
        ({"membership": "vague"}, "membership"),
        ({"multiclass": "ovr"}, "multiclass"),
        ({"decision": "guess"}, "decision"),
        ({"class_weight": {5: 1.0}}, "none of the classes"),
        ({"class_weight": {0: 0.0}}, "positive"),
        ({"class_weight": {0: np.inf}}, "finite"),
        ({"C": ("a", "b")}, "C=.*positive number"),
        ({"kernel": lambda A, B: np.ones(len(A))}, "must return the similarities"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "NaN or infinity"),
        ({"n_components": 31}, "more than the 30 rows .*equal rows of a class"),
        ({"tol": 0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_components": 31, "feature_map": "nystroem"}, "more than the 30 rows .*equal rows of a class"),
        ({"kernel": "linear", "feature_map": "fourier"}, "Use feature_map='auto'"),
        ({"kernel": "laplacian", "feature_map": "orthogonal"}, "kernel='rbf' only"),
        ({"kernel": "chi2"}, "Shift the data"),
        ({"kernel": lambda A, B: -(A @ B.T), "reg": 1e-6}, "positive semi-definite"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        FBTWSVM(**parameters).fit(X, Y)


LEARN = {
    "fit": lambda rows, labels: FBTWSVM().fit(rows, labels),
    "partial_fit": lambda rows, labels: FBTWSVM().partial_fit(rows, labels),
    "search": lambda rows, labels: FBTWSVMCV().fit(rows, labels),
}
LEARN_LABELS = LEARN | {
    "table": lambda rows, labels: TableClassifier().fit(rows, labels),
    "stream of tables": lambda rows, labels: TableClassifier().partial_fit(rows, labels),
    "device": lambda rows, labels: checked_labels(labels, len(rows), rows),
}


@pytest.mark.parametrize("learn", LEARN)
@pytest.mark.parametrize("value", [np.nan, "red"])
def test_gaps_and_texts_lead_to_the_class_that_takes_them(learn, value):
    rows = X.astype(object)
    rows[3, 1] = value
    with pytest.raises(ValueError, match="use TableClassifier"):
        LEARN[learn](rows, Y)


def test_gaps_and_texts_in_rows_to_predict_lead_to_the_same_class():
    model = FBTWSVM(gamma=1.0).fit(X, Y)
    for value in (np.nan, "red"):
        rows = X.astype(object)
        rows[3, 1] = value
        with pytest.raises(ValueError, match="use TableClassifier"):
            model.predict(rows)


@pytest.mark.parametrize("learn", LEARN_LABELS)
@pytest.mark.parametrize("gap", [None, np.nan, np.float32("nan"), np.datetime64("NaT"), pd.NA, pd.NaT])
@pytest.mark.parametrize("names", [["a", "b"], [0.0, 1.0]])
def test_the_first_row_without_a_label_is_named(learn, gap, names):
    labels = np.array(names, dtype=object)[Y]
    labels[[7, 12]] = gap
    for given in (labels, labels.tolist(), pd.Series(labels)):
        with pytest.raises(ValueError, match=r"^Row 7 has no label \(y\[7\] is"):
            LEARN_LABELS[learn](X, given)


def test_the_chunk_of_a_row_without_a_label_is_named():
    with pytest.raises(ValueError, match=r"^Chunk 1: Row 7 has no label \(y\[7\] is"):
        FBTWSVM().fit([(X, Y), (X, np.where(np.arange(30) == 7, np.nan, Y))])


@pytest.mark.parametrize("learn", LEARN_LABELS)
@pytest.mark.parametrize(
    "as_given", [lambda days: days, pd.Series, lambda days: days - days[0]], ids=["days", "series", "differences"]
)
def test_the_first_row_without_a_day_is_named(learn, as_given):
    days = np.array(["2026-01-01", "2026-01-02"], dtype="M8[ns]")[Y]
    days[[7, 12]] = "NaT"
    with pytest.raises(ValueError, match=r"^Row 7 has no label \(y\[7\] is N"):
        LEARN_LABELS[learn](X, as_given(days))


@pytest.mark.parametrize("learn", LEARN_LABELS)
@pytest.mark.parametrize("as_given", [np.asarray, list])
@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (["a", 1], "int and str"),
        ([np.int64(1), "b"], "int64 and str"),
        ([np.str_("a"), 1.5], "float and str_"),
        ([True, "a"], "bool and str"),
    ],
)
def test_labels_of_different_kinds_are_named(learn, as_given, names, kinds):
    with pytest.raises(ValueError, match=rf"y holds labels of different kinds \({kinds}\)"):
        LEARN_LABELS[learn](X, as_given(np.array(names, dtype=object)[Y]))
    with pytest.raises(ValueError, match=rf"classes holds labels of different kinds \({kinds}\)"):
        FBTWSVM().partial_fit(X, Y, classes=names)


def test_of_labels_in_two_columns_no_row_is_named():
    labels = np.array([["a", "b"]] * 30, dtype=object)
    labels[3, 1] = None
    with pytest.raises(ValueError, match=r"^(?!Row)"):
        FBTWSVM().fit(X, labels)


def test_rows_of_two_classes_are_not_called_distinct():
    rows, labels = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0), np.tile([0, 1], 6)
    with pytest.raises(ValueError, match=r"more than the 6 rows .*\(equal rows of a class count once"):
        FBTWSVM(n_components=40).fit(rows, labels)


def test_exact_kernel_refuses_what_does_not_fit():
    rows = np.random.default_rng(0).normal(size=(12_500, 2))
    with pytest.raises(ValueError, match="Use feature_map='nystroem'"):
        FBTWSVM(feature_map="exact").fit(rows, np.arange(12_500) % 2)


@pytest.mark.parametrize(
    ("rows", "labels", "weights", "message"),
    [
        (np.where(np.arange(90).reshape(30, 3) == 4, np.nan, X), Y, None, "NaN"),
        (np.where(np.arange(90).reshape(30, 3) == 4, np.inf, X), Y, None, "infinity"),
        (X[:0], Y[:0], None, "0 sample"),
        (X[:, :0], Y, None, "0 feature"),
        (X[:, 0], Y, None, "Expected 2D"),
        (X, Y[:-1], None, "inconsistent numbers of samples"),
        (X, np.linspace(0, 1, 30), None, "continuous"),
        (X, np.where(Y == 0, np.nan, 1.0), None, "Row 0 has no label"),
        (X, np.zeros(30), None, "one class only"),
        (X, Y, np.where(Y == 0, 0.0, 1.0), "positive weight"),
        (X, Y, np.zeros(30), "zero"),
        (X, Y, np.full(30, -1.0), "egative"),
        (X, Y, np.ones(29), "sample_weight"),
        (X, Y, np.full(30, np.nan), "NaN"),
    ],
)
def test_bad_rows_leave_the_model_as_it_was(rows, labels, weights, message):
    model = FBTWSVM().fit(X, Y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.fit(rows, labels, sample_weight=weights)
    assert pickle.dumps(model) == before


def test_predict_checks_columns():
    model = FBTWSVM().fit(X, Y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="two different classes"):
        model.plane_values(X, 0, 0)


@pytest.mark.parametrize("gamma", ["auto", "scale"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
def test_constant_features(gamma, kernel):
    model = FBTWSVM(kernel=kernel, gamma=gamma).fit(np.full((30, 3), 5.0), np.repeat([0, 1], (20, 10)))
    assert np.isfinite(model.decision_function(X)).all()
    assert set(model.predict(np.full((4, 3), 5.0))) == {0}  # nothing but the class sizes to go by
    mixed = np.column_stack([X, np.full(30, 5.0)])
    labels = (X[:, 0] > 0).astype(int)
    assert FBTWSVM(kernel=kernel, gamma=gamma).fit(mixed, labels).score(mixed, labels) > 0.9


def test_all_zero_rows():
    model = FBTWSVM(kernel="linear").fit(np.zeros((10, 2)), np.arange(10) % 2)
    assert np.isfinite(model.predict_proba(np.zeros((3, 2)))).all()


@pytest.mark.parametrize("n_twins", [3, 4000])
def test_duplicate_rows(n_twins):
    rows, labels = np.tile(X, (n_twins // 30 + 1, 1)), np.tile(Y, n_twins // 30 + 1)
    once = FBTWSVM(gamma=0.3).fit(X, Y).predict(X)
    many = FBTWSVM(gamma=0.3).fit(rows, labels)
    assert len(many.memberships_) == len(rows)
    assert (many.predict(X) == Y).mean() >= (once == Y).mean() - 0.05


def test_contradicting_twins():
    rows = np.concatenate([X, X])
    model = FBTWSVM().fit(rows, np.repeat([0, 1], 30))
    assert model.predict_proba(X) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 20), (2, 2), (2, 20), (1, 2, 3), (1, 1, 1, 1)])
def test_tiny_classes(sizes):
    random = np.random.default_rng(1)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    rows = random.normal(4.0 * labels[:, None], 0.3, size=(len(labels), 2))
    model = FBTWSVM().fit(rows, labels)
    assert (model.predict(rows) == labels).all()
    assert model.predict_proba(rows).sum(axis=1) == pytest.approx(1.0)
    small = np.isin(labels, np.flatnonzero(np.array(sizes) <= 2))
    assert (model.memberships_[small] == 1.0).all()


def test_a_class_of_next_to_no_weight():
    """Planes that are almost zero still give finite answers."""
    weights = np.where(Y == 1, 1e-12, 1.0)
    model = FBTWSVM(gamma=0.3).fit(X, Y, sample_weight=weights)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_read_only_and_fortran_order():
    rows = np.asfortranarray(X)
    rows.flags.writeable = False
    expected = FBTWSVM().fit(X, Y).predict(X)
    assert np.array_equal(FBTWSVM().fit(rows, Y).predict(rows), expected)


def test_sparse_explicit_zeros_are_zeros():
    dense = np.where(np.abs(X) < 0.5, 0.0, X)
    stored = sp.csr_array((dense.ravel(), (np.repeat(np.arange(30), 3), np.tile(np.arange(3), 30))), shape=(30, 3))
    assert stored.nnz == 90
    plain = sp.csr_array(dense)
    assert np.array_equal(
        FBTWSVM().fit(stored, Y).decision_function(plain), FBTWSVM().fit(plain, Y).decision_function(plain)
    )


@pytest.mark.parametrize("labels", [5, "abc", {1, 2}, None])
def test_labels_that_are_no_list_are_named(labels):
    with pytest.raises((TypeError, ValueError), match="y"):
        FBTWSVM().fit(np.zeros((3, 2)), labels)


@pytest.mark.parametrize("gap", [None, np.nan, np.datetime64("NaT")])
def test_every_row_needs_an_id_if_one_has(gap):
    with pytest.raises(ValueError, match="ids must name every row: that of row 1 is"):
        FBTWSVM().fit(np.zeros((3, 2)), [0, 1, 1], ids=["a", gap, "b"])


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_model_without_ids_says_so(method):
    X, y = np.random.default_rng(0).normal(size=(60, 2)), [0, 1] * 30
    model = getattr(FBTWSVM(warm_up=30), method)(X, y)
    with pytest.raises(ValueError, match="knows no row by an id"):
        model.unlearn(ids=["anna"])
