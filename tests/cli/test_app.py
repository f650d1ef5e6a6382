"""Every verb in a process of its own, and what each says of itself."""

import os

import pytest

from command import QUICK, called, fbtwsvm
from fbtwsvm import FBTWSVM
from fbtwsvm.cli import app


@pytest.mark.slow
def test_every_verb_in_a_process_of_its_own(tmp_path, monkeypatch):
    """A whole day's work, from a shell, on files."""
    monkeypatch.chdir(tmp_path)
    fourier = ("--feature-map", "fourier", "--gamma", "0.05", "--n-components", "40", "--warm-up", "200")
    fbtwsvm("generate", "sea", "-n", 1000, "-o", "rows.csv")
    called("generate", "sea", "-n", 600, "--seed", 1, "-o", "more.parquet")
    fbtwsvm("train", "rows.csv", "-t", "y", "-o", "first.fbt", "--chunk", 100, *fourier)
    called("train", "more.parquet", "--like", "first.fbt", "-o", "second.fbt")
    fbtwsvm("merge", "first.fbt", "second.fbt", "-o", "both.fbt")
    fbtwsvm("update", "both.fbt", "more.parquet")
    fbtwsvm("unlearn", "both.fbt", "more.parquet")
    fbtwsvm("predict", "both.fbt", "rows.csv", "-o", "answers.csv")
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 1001
    assert "accuracy" in fbtwsvm("evaluate", "both.fbt", "rows.csv")
    fbtwsvm("stream", "rows.csv", "-t", "y", "--model", "stream.fbt", "--report", "report.html", *QUICK)
    fbtwsvm("export", "stream.fbt", "stream.onnx")
    assert "1,600" in fbtwsvm("info", "both.fbt")
    assert {path.name for path in tmp_path.iterdir()} >= {"report.html", "stream.onnx", "both.fbt"}


def test_every_parameter_is_an_option():
    text = fbtwsvm("train", "--help", env={**os.environ, "COLUMNS": "200"})
    for name in FBTWSVM().get_params():
        assert f"--{name.replace('_', '-')} " in text
    assert "Example: fbtwsvm train" in text


@pytest.mark.parametrize("verb", [verb.__name__ for verb, _ in app._VERBS])
def test_every_verb_explains_itself(verb):
    text = " ".join(called(verb, "--help").split())
    assert f"Example: fbtwsvm {verb} " in text
