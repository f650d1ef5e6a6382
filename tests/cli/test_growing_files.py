"""stream over files that grow, are cut within a line, or are replaced: no row is lost, learned twice or half."""

import gzip
import os
import random
import subprocess

import pytest

import fbtwsvm as package
from command import COMMAND, QUICK, assert_equal, called, fbtwsvm_json

FULL = bool(os.environ.get("FBTWSVM_FULL"))
OPTIONS = ("-t", "y", *QUICK)


@pytest.fixture
def lines(tmp_path):
    """Return the lines of a CSV file with two-letter labels, so that half a label is a label too."""
    text = called("generate", "sea", "-n", 900).splitlines()
    return [text[0], *(line + "2" for line in text[1:])]


def stream_json(path, model, *options):
    """Run stream, and return what it prints."""
    return fbtwsvm_json("stream", path, "--model", model, "--chunk", 50, *options)


def compare(one, other):
    """Compare two models; only names of files may differ."""
    one, other = package.load(one), package.load(other)
    for model in (one, other):
        model.run.source = model.run.name = ""
    assert_equal(one, other)


@pytest.mark.parametrize("packed", [False, True])
def test_an_unfinished_last_line_waits(packed, lines, tmp_path):
    """A file that is cut within a line, and then grows, gives the model of the whole file, bit for bit."""
    path, whole = tmp_path / "rows.csv", tmp_path / "whole.csv"
    text = "\n".join(lines) + "\n"
    pack = gzip.compress if packed else bytes
    whole.write_bytes(text.encode())
    stream_json(whole, tmp_path / "whole.fbt", *OPTIONS)
    end = text.index(lines[501]) + len(lines[501]) - 1  # 500 rows, and one without its last letter
    path.write_bytes(pack(text[:end].encode()))
    assert stream_json(path, tmp_path / "m.fbt", *OPTIONS)["rows"] == 500
    path.write_bytes(pack(text.encode()))
    assert stream_json(path, tmp_path / "m.fbt")["new_rows"] == 400
    compare(tmp_path / "m.fbt", tmp_path / "whole.fbt")
    assert package.load(tmp_path / "m.fbt").estimator.classes_.tolist() == [-12, 12]


def test_what_waits_is_said_and_can_be_learned(lines, tmp_path):
    path, model = tmp_path / "rows.csv", tmp_path / "m.fbt"
    path.write_text("\n".join(lines))
    command = [COMMAND, "stream", path, "--model", model, *OPTIONS]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    assert f"waits: {len(lines[-1])} bytes" in done.stderr
    assert stream_json(path, model, "--finished")["new_rows"] == 1
    assert package.load(model).rows == 900
    path.write_text("\n".join(lines) + "\n" + lines[1] + "\n")  # only the line end was missing
    assert stream_json(path, model)["new_rows"] == 1
    path.write_text("\n".join(lines) + "0\n")
    assert "does not begin any more" in called("stream", path, "--model", model, status=1)


def test_a_row_that_was_learned_and_has_grown_is_refused(lines, tmp_path):
    path, model = tmp_path / "rows.csv", tmp_path / "m.fbt"
    path.write_text("\n".join(lines))
    stream_json(path, model, *OPTIONS, "--finished")
    path.write_text("\n".join(lines) + "0\n")
    assert "row 900 was learned before its line was finished" in called("stream", path, "--model", model, status=1)


def test_standard_input_that_has_ended_is_finished(lines, tmp_path):
    assert fbtwsvm_json("stream", "-", *OPTIONS, input="\n".join(lines))["rows"] == 900


def test_verbs_that_read_a_file_once_take_its_last_line(lines, tmp_path):
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    assert fbtwsvm_json("train", tmp_path / "rows.csv", "-t", "y", "-o", tmp_path / "m.fbt", *QUICK)["rows"] == 900


@pytest.mark.parametrize("place", [1, 899])
def test_a_rotated_file_is_not_gone_on_from(place, lines, tmp_path):
    """A file of the same name with other rows is refused, and --from-start reads it."""
    path, model = tmp_path / "rows.csv", tmp_path / "m.fbt"
    path.write_text("\n".join(lines) + "\n")
    stream_json(path, model, *OPTIONS)
    before = model.read_bytes()
    other = [*lines[:place], lines[place + 1], *lines[place:]]
    path.write_text("\n".join(other) + "\n")
    said = called("stream", path, "--model", model, status=1)
    assert "does not begin any more with the 900 rows" in said
    assert "--from-start" in said
    assert model.read_bytes() == before
    assert stream_json(path, model, "--from-start")["new_rows"] == 901


def test_places_of_older_model_files(lines, tmp_path):
    """A place that is only a number of rows is gone on from, and the next one has a hash."""
    path, model = tmp_path / "rows.csv", tmp_path / "m.fbt"
    path.write_text("\n".join(lines[:501]) + "\n")
    stream_json(path, model, *OPTIONS)
    old = package.load(model)
    assert old.run.place.count("/") == 2
    old.run.place = "500"
    package.save(old, model)
    path.write_text("\n".join(lines) + "\n")
    assert stream_json(path, model)["new_rows"] == 400
    whole = tmp_path / "whole.fbt"
    stream_json(path, whole, *OPTIONS)
    compare(model, whole)


@pytest.mark.slow
def test_a_file_that_grows_at_random_places(lines, tmp_path):
    """However a file grows, every row is learned once."""
    text = ("\n".join(lines) + "\n").encode()
    chance = random.Random(0)
    cuts = sorted(chance.sample(range(len(text)), 20 if FULL else 4))
    path, model = tmp_path / "rows.csv", tmp_path / "m.fbt"
    learned = 0
    for cut in [*(cut for cut in cuts if cut > 8000), len(text)]:
        path.write_bytes(text[:cut])
        learned += stream_json(path, model, *(OPTIONS if not model.exists() else ()))["new_rows"]
        assert learned == text[:cut].count(b"\n") - 1
    assert package.load(model).rows == 900


def test_one_byte_waits(lines, tmp_path):
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n1")
    command = [COMMAND, "stream", tmp_path / "rows.csv", *OPTIONS]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    assert "and waits: 1 byte; --finished" in done.stderr
