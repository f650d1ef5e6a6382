"""predict, evaluate and info."""

import json
import subprocess

import numpy as np
import pyarrow.csv as pacsv
import pytest
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score, f1_score

from command import COMMAND, called, fbtwsvm_json


def rows(path):
    return pacsv.read_csv(path).to_pydict()


def test_predict_and_evaluate(data, model, tmp_path):
    out = tmp_path / "out.csv"
    called("predict", model, data / "test.csv", "-o", out, "--proba")
    answers, truth = rows(out), rows(data / "test.csv")
    assert list(answers) == ["id", "prediction", "probability_no", "probability_yes"]
    assert answers["id"] == truth["id"]
    printed = called("predict", model, data / "test.csv").splitlines()
    assert printed[1] == f'"{truth["id"][0]}","{answers["prediction"][0]}"'
    lines = called("predict", model, data / "test.csv", "--json").splitlines()
    assert json.loads(lines[0]) == {"id": str(truth["id"][0]), "prediction": answers["prediction"][0]}
    told = fbtwsvm_json("evaluate", model, data / "test.csv")
    right, given = truth["kind"], answers["prediction"]
    assert told["accuracy"] == pytest.approx(np.mean(np.array(right) == given))
    assert told["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(right, given))
    assert told["kappa"] == pytest.approx(cohen_kappa_score(right, given))
    assert told["classes"]["yes"]["f1"] == pytest.approx(f1_score(right, given, pos_label="yes"))
    assert np.sum(told["confusion"]) == len(right)
    shown = called("evaluate", model, data / "test.csv")
    assert "Confusion" in shown
    assert "balanced accuracy" in shown


def test_no_rows_give_no_answers(data, model, tmp_path):
    (tmp_path / "none.csv").write_text((data / "test.csv").read_text().splitlines()[0] + "\n")
    assert called("predict", model, tmp_path / "none.csv") == '"id","prediction"\n'
    assert "as CSV" in called("predict", model, data / "test.csv", "-o", tmp_path / "a.parquet", status=2)


def test_predict_answers_before_its_input_ends(data, model):
    """Rows come out while the pipe that they come in by is still open."""
    lines = (data / "test.csv").read_bytes().splitlines(keepends=True)
    with subprocess.Popen([COMMAND, "predict", model, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b"".join(lines[:11]))
        process.stdin.flush()
        first = [process.stdout.readline() for _ in range(11)]
        assert first[0] == b'"id","prediction"\n'
        assert len(first[10].split(b",")) == 2
        rest, _ = process.communicate(b"".join(lines[11:]))
    assert len(rest.splitlines()) == len(lines) - 11
    assert process.returncode == 0


def test_info(model):
    told = fbtwsvm_json("info", model)
    assert told["knows"] == {"rows": 1000, "classes": ["no", "yes"]}
    assert told["columns"]["names"] == ["size", "colour", "weight"]
    assert told["keeps"]["support"] > 0
    shown = called("info", model)
    assert "colour (3 categories)" in shown
    assert "1,000" in shown
