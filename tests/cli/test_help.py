"""Help of the command and of its verbs, and tab completion."""

import os
import subprocess
import sys

import pytest

from command import called
from fbtwsvm.cli import app


def test_the_bare_command_is_its_help(capsys):
    with pytest.raises(SystemExit) as ended:
        app.run([])
    printed = capsys.readouterr()
    assert ended.value.code == 0
    assert "Usage: fbtwsvm" in printed.out
    assert "evaluate" in printed.out
    assert printed.err == ""
    assert called("--help").split() == printed.out.split()


def test_help_and_completion_of_verbs_load_neither_numpy_nor_scikit_learn():
    """They take a second or more to load."""
    code = """
import sys
from fbtwsvm.cli import main
try:
    main()
except SystemExit as ended:
    print(ended.code, sorted({"numpy", "numba", "sklearn", "pyarrow"} & set(sys.modules)))
"""
    complete = {"_FBTWSVM_COMPLETE": "complete_bash", "COMP_WORDS": "fbtwsvm tr", "COMP_CWORD": "1"}
    for arguments, more, expected in ((["--help"], {}, "evaluate"), ([], {}, "evaluate"), ([], complete, "train")):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **more})
        assert expected in done.stdout
        assert done.stdout.endswith("0 []\n")


@pytest.mark.parametrize("verb", app._VERBS)
def test_the_help_of_the_command_has_the_first_lines_of_its_verbs(verb):
    summary, _ = app._VERBS[verb]
    assert app.load_verb(verb).help.split("\n\n")[0].replace("\n", " ") == summary


@pytest.mark.parametrize("verb", app._VERBS)
def test_every_option_has_words(verb):
    parameters = app.load_verb(verb).params
    assert len(parameters) > 1
    for parameter in parameters:
        assert parameter.help and len(parameter.help.split()) > 1, parameter.name  # noqa: PT018


def test_tune_says_what_it_tries_and_in_which_units():
    shown = " ".join(called("tune", "--help").replace("│", " ").split())
    for words in (
        "five values of gamma",
        "of C (from 0.25)",
        "of reg (around 0.01)",
        "more where the best lies on an edge",
        "membership fuzzy and none",
        "The score is the mean accuracy",
        "tpe chooses candidates by what it has seen (needs fbtwsvm[tune])",
        "Most rows used in the search",
        "numbers, separated by commas",
    ):
        assert words in shown


def test_what_tune_says_is_what_it_tries():
    """The values in the help are those of the search."""
    from fbtwsvm import FBTWSVM, FBTWSVMCV
    from fbtwsvm.search.grid import values_to_try

    grid = values_to_try(FBTWSVMCV().get_params(deep=False), FBTWSVM(), {"auto": 1.0, "scale": 0.5}.get)
    assert (len(grid["gamma"]), grid["gamma"][1] / grid["gamma"][0]) == (5, 2.0)
    assert grid["C"] == [0.25, 1.0, 4.0, 16.0, 64.0]
    assert (len(grid["reg"]), grid["reg"][0], grid["reg"][-1]) == (5, pytest.approx(0.001), pytest.approx(0.1))
    assert list(grid["membership"]) == ["fuzzy", "none"]


COMPLETIONS = [
    ("t", ["train", "tune"]),
    ("train --fe", ["--feature-map"]),
    ("train rows.csv --feature-map ", ["auto", "exact", "fourier", "nystroem", "orthogonal"]),
    ("train rows.csv --scale s", ["standard"]),
    ("train rows.csv --drift-detector ", ["hoeffding", "none"]),
    ("tune rows.csv --search ", ["grid", "tpe"]),
    ("predict model.fbt rows --format a", ["arff", "arrow"]),
    ("generate s", ["sea"]),
    ("predict --ke", ["--keep"]),
]


@pytest.mark.parametrize(("line", "completed"), COMPLETIONS, ids=[line for line, _ in COMPLETIONS])
def test_tab_completes_verbs_options_and_values(line, completed, monkeypatch):
    words = f"fbtwsvm {line}"
    monkeypatch.setenv("_FBTWSVM_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    assert called().split() == completed


def test_completion_can_be_installed(monkeypatch):
    assert "--install-completion" in called("--help")
    monkeypatch.setenv("_FBTWSVM_COMPLETE", "source_bash")
    assert "complete -o default -F _fbtwsvm_completion fbtwsvm" in called()
