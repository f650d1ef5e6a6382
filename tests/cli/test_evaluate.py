"""Measures of evaluate against scikit-learn's, for rows that come in many pieces."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
import pytest
from sklearn.metrics import log_loss, precision_recall_fscore_support, roc_auc_score

import fbtwsvm as package
from command import called, fbtwsvm_json
from fbtwsvm import FBTWSVM
from fbtwsvm.data.generators import make
from fbtwsvm.evaluate.probabilities import ProbabilityScore


def table(X, y):
    return pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "y": y})


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Return a folder with a model of three classes that overlap, and its test rows."""
    folder = tmp_path_factory.mktemp("three")
    X, y = make("rbf", seed=2, features=3, classes=3, spread=0.35).rows(3000)
    y = np.array(["ant", "bee", "cat"])[y]
    package.save(FBTWSVM(gamma="scale", random_state=0).fit(X[:1000], y[:1000]), folder / "m.fbt")
    papq.write_table(table(X[1000:], y[1000:]), folder / "rows.parquet")
    return folder, package.load(folder / "m.fbt").predict_proba(X[1000:]), y[1000:], X[1000:]


def test_measures_are_those_of_scikit_learn(three, monkeypatch):
    folder, probabilities, y, X = three
    monkeypatch.setattr("fbtwsvm.cli.rows._PIECE", 300)
    told = fbtwsvm_json("evaluate", folder / "m.fbt", folder / "rows.parquet")
    assert 0.1 < told["log_loss"] == pytest.approx(log_loss(y, probabilities), rel=1e-9)
    assert told["auc"] == pytest.approx(roc_auc_score(y, probabilities, multi_class="ovr"), abs=1e-4)
    assert told["auc"] < 0.999  # the classes overlap
    answers = package.load(folder / "m.fbt").predict(X)
    measures = precision_recall_fscore_support(y, answers)
    for k, name in enumerate(("ant", "bee", "cat")):
        row = told["classes"][name]
        assert [row[key] for key in ("precision", "recall", "f1", "rows")] == pytest.approx([m[k] for m in measures])
        assert row["auc"] == pytest.approx(roc_auc_score(y == name, probabilities[:, k]), abs=1e-4)
    assert (told["unknown_class_rows"], told["unseen_categories"]) == (0, 0)
    shown = called("evaluate", folder / "m.fbt", folder / "rows.parquet")
    assert f"{told['log_loss']:.4f}" in shown
    assert f"{told['auc']:.4f}" in shown
    assert f"{told['classes']['bee']['f1']:.3f} │ {told['classes']['bee']['auc']:.3f}" in shown


def test_classes_that_the_model_does_not_know_are_left_out_and_counted(three, tmp_path):
    folder, probabilities, y, X = three
    stranger = y.copy()
    stranger[:50] = "dog"
    papq.write_table(table(X, stranger), tmp_path / "rows.parquet")
    told = fbtwsvm_json("evaluate", folder / "m.fbt", tmp_path / "rows.parquet")
    assert told["unknown_class_rows"] == 50
    assert told["log_loss"] == pytest.approx(log_loss(y[50:], probabilities[50:]), rel=1e-9)
    assert told["classes"]["dog"]["auc"] is None
    shown = " ".join(called("evaluate", folder / "m.fbt", tmp_path / "rows.parquet").split())
    assert "50 rows of classes that the model does not know" in shown


def test_one_class_alone_has_no_auc(three, tmp_path):
    folder, _, y, X = three
    papq.write_table(table(X[y == "ant"], y[y == "ant"]), tmp_path / "rows.parquet")
    told = fbtwsvm_json("evaluate", folder / "m.fbt", tmp_path / "rows.parquet")
    assert told["auc"] is None
    assert "not defined" in called("evaluate", folder / "m.fbt", tmp_path / "rows.parquet")


def test_unseen_categories_are_counted(data, model, tmp_path):
    (tmp_path / "rows.csv").write_text((data / "test.csv").read_text().replace("red", "violet", 4))
    assert fbtwsvm_json("evaluate", model, tmp_path / "rows.csv")["unseen_categories"] == 4
    shown = " ".join(called("evaluate", model, tmp_path / "rows.csv").split())
    assert "4 values of categorical columns were not in the first rows" in shown


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bins_of_extreme_probabilities(dtype):
    """Zeros, ones and ties count as in an exact AUC; certain mistakes cost what they cost in scikit-learn."""
    random = np.random.default_rng(0)
    second = random.choice([0.0, 1e-12, 1e-3, 0.25, 0.5, 0.75, 1.0], size=4000).astype(dtype)
    truth = (random.random(4000) < 0.2 + 0.6 * second).astype(np.int64)
    probabilities = np.column_stack([1 - second, second])
    score = ProbabilityScore(2)
    for rows in np.array_split(np.arange(4000), 7):
        score.add(truth[rows], probabilities[rows])
    np.testing.assert_allclose(score.auc(), roc_auc_score(truth, np.maximum(second, 1e-7)), atol=1e-12)
    assert score.log_loss() == pytest.approx(log_loss(truth, probabilities), rel=1e-6)
