"""From checked rows to what the solver wants: order, weights, map, rows to calibrate on."""

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.batch.model import BatchModel
from fbtwsvm.batch.prepare import _ordered_compactly, _sorted_by_class, ordered, prepare
from fbtwsvm.classifier import parameters_of
from fbtwsvm.model.rows import CheckedRows

X = np.random.default_rng(0).normal(size=(90, 3))
Y = np.array(["ant", "bee", "cat"])[np.arange(90) % 3]


@pytest.mark.parametrize("n_classes", [1, 3, 400])
def test_an_order_by_class_keeps_the_order_of_rows(n_classes):
    labels = np.random.default_rng(0).integers(n_classes, size=20_000).astype(np.int16)  # several tiles
    assert np.array_equal(_sorted_by_class(labels, n_classes), np.argsort(labels, kind="stable"))


@pytest.mark.parametrize("class_weight", [None, "balanced", {"ant": 2.0}])
@pytest.mark.parametrize("weights", [None, np.where(np.arange(90) < 9, 0.0, np.linspace(0.5, 2.0, 90))])
def test_very_many_rows_are_ordered_as_few_are(class_weight, weights):
    parameters = parameters_of(FBTWSVM(class_weight=class_weight))
    classes, usual, labels, factors = ordered(parameters, X, Y, weights)
    many_classes, compact, many_labels, many_factors = _ordered_compactly(parameters, X, Y, weights)
    assert np.array_equal(classes, many_classes)
    assert np.array_equal(factors, many_factors)
    present = slice(None) if weights is None else weights > 0
    assert np.array_equal(labels[present], many_labels[present])
    assert np.array_equal(usual.starts, compact.starts)
    by_row = dict(zip(usual.index.tolist(), usual.weights.tolist(), strict=True))  # few are sorted by their values
    assert [by_row[i] for i in compact.index.tolist()] == pytest.approx(compact.weights.tolist())


def test_a_map_that_cannot_be_is_refused_before_gamma_is_searched(monkeypatch):
    monkeypatch.setattr("fbtwsvm.batch.choose_gamma.search_gamma", lambda *_: pytest.fail("gamma was searched"))
    with pytest.raises(ValueError, match="more than the 90"):
        prepare(parameters_of(FBTWSVM(n_components=91)), X, Y, None)


def test_a_quick_fit_takes_gamma_scale_and_the_exact_kernel():
    found = prepare(parameters_of(FBTWSVM(n_components=20, random_state=0)), X, Y, None, quick=True)
    assert found.mapping.exact
    assert found.kernel.shape == (90, 90)
    assert np.array_equal(found.wanted, np.arange(90))


def test_the_model_of_one_class_answers_with_it():
    model = BatchModel.of_one_class(CheckedRows.unnamed(X[:3], np.array(["ant"] * 3)), "dag", "calibrated")
    rows = model.mapping.rows(X)
    assert (model.classes[model.rule.winners(rows)] == "ant").all()
    assert (model.rule.probabilities(rows) == 1.0).all()
