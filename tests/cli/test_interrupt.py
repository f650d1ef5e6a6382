"""Ctrl-C in the middle of a fit or a search: one line, status 130, and no half-written file."""

import os
import signal
import subprocess

import pytest

from command import COMMAND, called

WORDS = {
    "train": ("--verbose", "1"),
    "tune": ("--verbose", "1"),
}


@pytest.mark.parametrize("verb", ["train", "tune"])
def test_an_interrupted_fit_says_so_and_leaves_the_older_model(verb, tmp_path):
    called("generate", "rbf", "-n", 3000, "--features", 4, "--classes", 3, "-o", tmp_path / "rows.csv")
    model = tmp_path / "m.fbt"
    model.write_text("older")
    before = sorted(tmp_path.iterdir())
    line = [COMMAND, verb, tmp_path / "rows.csv", "-t", "y", "-o", model, "--verbose", "1"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert "[FBTWSVM]" in process.stdout.readline()  # the fit has begun
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130, said
    assert said.startswith("fbtwsvm: interrupted")
    assert said.count("\n") == 1
    assert model.read_text() == "older"
    assert sorted(tmp_path.iterdir()) == before
