"""What reaches a terminal: no control characters of data or files, and progress only where somebody looks."""

import io
import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from command import QUICK, called, fbtwsvm_json
from fbtwsvm import FBTWSVM
from fbtwsvm.cli import app
from fbtwsvm.cli.output import visible
from fbtwsvm.cli.table_files import CsvWriter

EVIL = "\x1b]0;owned\x07\x1b[31m[red]:smile:\x9b5n\u202e\rno"
SEEN = r"\x1b]0;owned\x07\x1b[31m[red]:smile:\x9b5n\u202e\rno"


class Terminal(io.StringIO):
    """An error stream that says it is a terminal."""

    def isatty(self):
        """Say so."""
        return True


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """Return a folder with rows and a model whose labels, ids, columns and categories hold escape sequences."""
    folder = tmp_path_factory.mktemp("evil")
    random = np.random.default_rng(0)
    n = 300
    size = random.normal(size=n)
    kind = np.where(size > 0, EVIL, "plain")
    columns = {"id": [f"{EVIL}{row}" for row in range(n)], f"size{EVIL}": size, "colour": [EVIL, "red"] * (n // 2)}
    table = pa.table({**columns, "kind": kind})
    papq.write_table(table, folder / "rows.parquet")
    papq.write_table(table.slice(0, 9), folder / "few.parquet")
    called("train", folder / "rows.parquet", "-t", "kind", "--id", "id", "-o", folder / "m.fbt", "--chunk", 100, *QUICK)
    return folder


def assert_harmless(text):
    assert visible(text.replace("\n", "")) == text.replace("\n", "")


@pytest.mark.parametrize("verb", ["info MODEL", "evaluate MODEL ROWS", "unlearn MODEL FEW -o OTHER", "train ROWS"])
def test_texts_of_data_and_models_are_escaped(verb, evil, tmp_path):
    paths = {"MODEL": evil / "m.fbt", "ROWS": evil / "rows.parquet", "FEW": evil / "few.parquet"}
    paths["OTHER"] = tmp_path / "other.fbt"
    arguments = [paths.get(word, word) for word in verb.split()]
    if verb.startswith("train"):
        arguments += ["-t", "kind", "--id", "id", "-o", tmp_path / "m.fbt", "--gamma", "scale"]
    shown = called(*arguments)
    assert_harmless(shown)
    assert r"\x1b]0;" in shown.replace("\n", "").replace(" ", "")


def test_markup_and_names_of_emoji_are_shown_as_they_are(evil, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    shown = called("evaluate", evil / "m.fbt", evil / "rows.parquet")
    assert SEEN in shown


def test_errors_and_warnings_are_escaped(evil, tmp_path, capsys):
    assert_harmless(called("update", evil / "m.fbt", tmp_path / f"no{EVIL}.csv", status=1))
    (tmp_path / "rows.csv").write_text(f"size{EVIL}".replace("\r", "") + ",id\n1,2\n")
    said = called("predict", evil / "m.fbt", tmp_path / "rows.csv", status=1)
    assert r"\x1b" in said
    assert_harmless(said)
    with pytest.raises(SystemExit):
        app.run(["info", str(evil / "m.fbt"), f"--no{EVIL}"])
    assert_harmless(capsys.readouterr().err)
    traced = called("predict", evil / "m.fbt", tmp_path / "rows.csv", "--debug", status=1)
    assert "Traceback" in traced
    assert_harmless(traced)


def test_json_is_escaped_and_still_says_the_same(evil):
    text = called("info", evil / "m.fbt", "--json")
    assert_harmless(text)
    assert json.loads(text)["knows"]["classes"] == sorted([EVIL, "plain"])


def test_answers_are_escaped_on_a_terminal_only(evil):
    rows = pa.table({"prediction": [EVIL, None], "n": [1.5, 2.0]})
    shown, piped = io.BytesIO(), io.BytesIO()
    CsvWriter(shown, to_terminal=True).write(rows)
    CsvWriter(piped).write(rows)
    assert_harmless(shown.getvalue().decode())
    assert SEEN in shown.getvalue().decode()
    assert EVIL in piped.getvalue().decode()
    assert EVIL in called("predict", evil / "m.fbt", evil / "rows.parquet")


def test_every_letter_of_a_normal_text_stays():
    text = "naïve 日本語 \\ [bold] 🙂 e\u0301"
    assert visible(text) == text


def test_train_shows_how_far_the_fit_is(data, tmp_path, monkeypatch):
    """On a terminal the steps of the fit are shown; elsewhere nothing."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    given = ["train", str(data / "more.csv"), "-t", "kind", "--drop", "id", "-o", str(tmp_path / "m.fbt")]
    told = {}
    for kind, stream in (("terminal", Terminal()), ("file", io.StringIO())):
        monkeypatch.setattr(sys, "stderr", stream)
        with pytest.raises(SystemExit) as ended:
            app.run(given)
        assert ended.value.code == 0
        told[kind] = stream.getvalue()
    assert "solving the planes of 2 classes" in told["terminal"]
    assert told["file"] == ""


def test_the_bar_counts_the_classes_that_are_solved(monkeypatch):
    from fbtwsvm._progress import _Messages, fit_bar

    places = []
    emit = _Messages.emit

    def noted(self, record):
        emit(self, record)
        (task,) = self.progress.tasks
        places.append((task.completed, task.total))

    monkeypatch.setattr(_Messages, "emit", noted)
    random = np.random.default_rng(0)
    X, y = random.normal(size=(1500, 2)), np.arange(1500) % 3
    with fit_bar():
        FBTWSVM(gamma="scale", feature_map="fourier", n_components=10).fit(X, y)
    assert (0, None) in places
    assert (3, 3) in places


def test_info_shows_unseen_categories_and_readable_numbers(data, model, tmp_path):
    here = tmp_path / "m.fbt"
    here.write_bytes(model.read_bytes())
    assert "not seen" not in called("info", here)
    (tmp_path / "rows.csv").write_text((data / "more.csv").read_text().replace("red", "violet", 5))
    called("update", here, tmp_path / "rows.csv")
    shown = " ".join(called("info", here).split())
    assert "not seen since then 5 values of categorical columns were not in the first rows" in shown
    assert "kind, 2 classes: no, yes" in shown
    assert "0.0 MiB" not in shown
    assert fbtwsvm_json("info", here)["unseen_categories"] == 5
