"""What a notebook shows of a model: what was chosen and learned, above scikit-learn's own view."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris

import fbtwsvm
from fbtwsvm import FBTWSVM, FBTWSVMCV, TableClassifier


@pytest.fixture(scope="module")
def rows():
    return load_iris(return_X_y=True)


def words_above(model):
    """Return the text of the summary; None if there is none."""
    found = re.match(r'<div class="fbtwsvm-summary"[^>]*>(.*?)</div>', model._repr_html_(), flags=re.DOTALL)
    return found and re.sub(r"<[^>]+>", "", found.group(1)).replace("&nbsp;", " ")


def test_nothing_is_added_before_a_fit():
    for model in (FBTWSVM(), FBTWSVMCV(), TableClassifier()):
        assert words_above(model) is None
        assert type(model).__name__ in model._repr_html_()


def test_a_fit_shows_gamma_size_and_metric(rows):
    words = words_above(model := FBTWSVM().fit(*rows))
    assert f"gamma = {model.gamma_:.4g}" in words
    assert f"{model.n_components_} (exact kernel)" in words
    assert "150 of 3 classes" in words
    assert "all columns count alike" in words


def test_factors_are_shown_with_the_names_of_their_columns(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "b", "<c>", "d"])
    words = words_above(FBTWSVM(gamma=0.5, metric=[1.0, 0.1, 3.0, 2.0]).fit(frame, y))
    assert "given; largest factors: columns &lt;c&gt;, d, a" in words


def test_a_learned_metric_is_shown_with_its_rounds():
    X = np.random.default_rng(0).uniform(0.0, 3.0, size=(800, 8))
    model = FBTWSVM(metric="columns").fit(X, X[:, :2].astype(int).sum(axis=1) % 2)
    assert model.n_rounds_
    assert f"learned in {model.n_rounds_} round{'s' * (model.n_rounds_ > 1)}" in words_above(model)


def test_columns_of_one_category_are_shown_once():
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0] * 20, "colour": ["red", "green", "blue", "red"] * 20})
    words = words_above(TableClassifier(FBTWSVM(gamma=0.5, metric=[1.0, *[2.0] * 8])).fit(frame, ["a", "b"] * 40))
    assert words.endswith("columns colour, size")


def test_streams_tell_their_stage(rows):
    X, y = rows
    model = FBTWSVM(warm_up=100, n_components=20, random_state=0).partial_fit(X[::2], y[::2])
    assert "in its warm-up" in words_above(model)
    assert "rows kept" in words_above(model.partial_fit(X[1::2], y[1::2]))


@pytest.mark.parametrize(
    ("setting", "kind"),
    [
        ({"kernel": "linear"}, "4 (the columns)"),
        ({"feature_map": "fourier", "n_components": 20}, "20 (Fourier features)"),
        ({"kernel": "intersection"}, "(AdditiveIntersectionFeatures)"),
        ({"kernel": lambda a, b: a @ b.T}, "kernel of your own"),
    ],
)
def test_every_kind_of_map_has_words(rows, setting, kind):
    assert kind in words_above(FBTWSVM(random_state=0, **setting).fit(*rows))


def test_a_search_shows_its_best_candidate(rows):
    search = FBTWSVMCV(C=[1.0, 4.0], gamma=[0.1], reg=[0.01], membership=["none"], cv=2, random_state=0).fit(*rows)
    words = words_above(search)
    assert f"C = {search.best_params_['C']:.4g}" in words
    assert f"score {search.best_score_:.4f}" in words
    assert "gamma = 0.1" in words


def test_a_table_shows_its_encoded_columns(rows):
    X, y = rows
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(c=np.where(X[:, 2] > 2, "long", "short"))
    model = TableClassifier(FBTWSVM(gamma=0.5, metric="columns")).fit(frame, y)
    assert any(name in words_above(model) for name in model.encoded_names_)


def test_text_display_has_no_html(rows):
    with config_context(display="text"):
        assert not hasattr(FBTWSVM().fit(*rows), "_repr_html_")


def test_a_view_computes_nothing_and_shows_no_attribute_that_is_not_there(rows, monkeypatch):
    model = FBTWSVM().fit(*rows)
    monkeypatch.setattr("fbtwsvm.classifier.importances", None)  # cannot be computed now
    assert "feature_importances_" in dir(model)
    shows_attributes = hasattr(BaseEstimator, "_get_fitted_attr_html")  # older versions of scikit-learn do not
    assert ("gamma_" in model._repr_html_()) == shows_attributes
    search = FBTWSVMCV(C=[1.0], gamma=[0.1], reg=[0.01], membership=["none"], refit=False).fit(*rows)
    assert "feature_importances_" not in dir(search)
    for unfitted in (FBTWSVM(), FBTWSVMCV(), TableClassifier()):
        assert not [name for name in dir(unfitted) if name.endswith("_") and not name.startswith("_")]
        assert "property object" not in unfitted._repr_html_()


def test_the_rows_of_an_inspection_are_not_printed(rows):
    inside = FBTWSVM().fit(*rows).inspect()
    assert "seen=150" in repr(inside)
    assert "kept_rows" not in repr(inside)


def test_dir_shows_public_names_only():
    modules = {"data", "evaluate", "export", "features", "online", "river"}
    assert set(dir(fbtwsvm)) == {*fbtwsvm.__all__, *modules, "__version__"}
    assert all(getattr(fbtwsvm, name) is not None for name in dir(fbtwsvm))
