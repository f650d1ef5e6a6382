"""stream: test, learn, go on, be interrupted."""

import json
import signal
import subprocess
import time

import pytest

import fbtwsvm as package
from command import COMMAND, QUICK, assert_equal, called, fbtwsvm, fbtwsvm_json


def test_update_keeps_the_place_of_a_stream(tmp_path):
    called("generate", "sea", "-n", 700, "-o", tmp_path / "a.csv")
    called("generate", "sea", "-n", 300, "--seed", 1, "-o", tmp_path / "b.csv")
    called("stream", tmp_path / "a.csv", "-t", "y", "--model", tmp_path / "m.fbt", *QUICK)
    called("update", tmp_path / "m.fbt", tmp_path / "b.csv")
    told = fbtwsvm_json("stream", tmp_path / "a.csv", "--model", tmp_path / "m.fbt")
    assert (told["new_rows"], package.load(tmp_path / "m.fbt").rows) == (0, 1000)


def test_a_stream_that_is_all_warm_up(tmp_path):
    called("generate", "sea", "-n", 100, "-o", tmp_path / "a.csv")
    done = fbtwsvm("stream", tmp_path / "a.csv", "-t", "y", "--report", tmp_path / "r.html")
    assert "nan" not in done
    assert not (tmp_path / "r.html").exists()


def test_stream_tests_then_learns_and_goes_on(tmp_path):
    path, model = tmp_path / "sea.csv", tmp_path / "m.fbt"
    called("generate", "sea", "-n", 3000, "--drift-every", 1500, "-o", path)
    told = fbtwsvm_json("stream", path, "-t", "y", "--model", model, *QUICK)
    assert told["rows"] == 3000
    assert told["tested"] == 2800
    assert 0.8 < told["accuracy"] < 0.95
    assert told["label_before"] < 0.6
    again = fbtwsvm_json("stream", path, "-t", "y", "--model", model)
    assert (again["rows"], again["new_rows"]) == (3000, 0)
    lines = path.read_text().splitlines(keepends=True)
    with open(path, "a") as file:
        file.writelines(lines[1:201])
    grown = fbtwsvm_json("stream", path, "-t", "y", "--model", model)
    assert (grown["rows"], grown["new_rows"]) == (3200, 200)
    whole = fbtwsvm_json("stream", path, "-t", "y", "--model", model, "--from-start")
    assert whole["new_rows"] == 3200


def test_an_interrupt_saves_what_was_learned(tmp_path):
    """Ctrl-C ends a run between two chunks, with its model and its report, and it can go on."""
    model, source = tmp_path / "m.fbt", "generate:sea?rows=400000"
    command = [COMMAND, "stream", source, "-t", "y", "--model", model, "--report", tmp_path / "r.png", "--json"]
    command += [*map(str, QUICK), "--checkpoint", "1000"]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not model.exists():
            time.sleep(0.05)
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    told = json.loads(out)
    assert told["interrupted"]
    assert 1000 <= told["rows"] < 400_000
    loaded = package.load(model)
    assert loaded.rows == told["rows"] == loaded.estimator.inspect().seen
    assert (tmp_path / "r.png").stat().st_size > 1000


def test_other_names_of_a_source_are_the_same_source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    called("generate", "sea", "-n", 1000, "-o", "rows.csv")
    called("stream", "rows.csv", "-t", "y", "--model", "m.fbt", *QUICK)
    assert fbtwsvm_json("stream", tmp_path / "rows.csv", "--model", "m.fbt")["new_rows"] == 0
    (tmp_path / "again.csv").write_bytes((tmp_path / "rows.csv").read_bytes())
    done = subprocess.run(
        [COMMAND, "stream", "again.csv", "--model", "m.fbt"], capture_output=True, text=True, check=True
    )
    assert "has learned 1,000 rows before; again.csv is read from its beginning" in done.stderr


@pytest.mark.slow
def test_a_second_pipe_needs_a_word(tmp_path):
    """Rows of a pipe are skipped, or learned, only when it is said which."""
    text = called("generate", "sea", "-n", 900)
    model = tmp_path / "m.fbt"
    fbtwsvm("stream", "-", "-t", "y", "--model", model, *QUICK, input="\n".join(text.splitlines()[:501]) + "\n")
    assert "--resume, or --from-start" in fbtwsvm("stream", "-", "--model", model, status=2, input=text)
    assert fbtwsvm_json("stream", "-", "--model", model, "--resume", input=text)["new_rows"] == 400
    assert fbtwsvm_json("stream", "-", "--model", model, "--from-start", input=text)["new_rows"] == 900


def test_one_class_so_far_can_be_gone_on_from(tmp_path):
    """A stream sorted by class has one class for long; its checkpoints must be readable."""
    path, model = tmp_path / "rows.csv", tmp_path / "m.fbt"
    path.write_text("a,y\n" + "".join(f"{i % 7},first\n" for i in range(600)))
    called("stream", path, "-t", "y", "--model", model, *QUICK)
    with open(path, "a") as file:
        file.writelines(f"{i % 7 + 20},second\n" for i in range(300))
    assert fbtwsvm_json("stream", path, "--model", model)["new_rows"] == 300
    assert package.load(model).estimator.classes_.tolist() == ["first", "second"]


def test_labels_and_names_that_look_like_formulas(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(
        "$a^$,_b,y\n" + "".join(f"{i % 7},{i % 5},{'$x_$' if i % 7 > 3 else '_hidden'}\n" for i in range(900))
    )
    called("stream", path, "-t", "y", "--report", tmp_path / "r.html", *QUICK)
    assert "$x_$" in (tmp_path / "r.html").read_text()


def test_an_error_saves_what_was_learned(tmp_path):
    """A bad row ends the run with status 1, a model of the rows before it and a report; once mended, it goes on."""
    path, model, report = tmp_path / "rows.csv", tmp_path / "m.fbt", tmp_path / "r.html"
    called("generate", "sea", "-n", 1500, "-o", path)
    called("stream", path, "-t", "y", "--model", tmp_path / "whole.fbt", *QUICK)
    good = path.read_text()
    lines = good.splitlines(keepends=True)
    path.write_text("".join([*lines[:1250], "x" + lines[1250], *lines[1251:]]))
    said = called("stream", path, "-t", "y", "--model", model, "--report", report, *QUICK, status=1)
    assert "Row 1,250, column 'x0'" in said
    assert f"What was learned from the 1,200 rows before it is in {model}. The report is in {report}." in said
    assert said.count("\n") == 1
    assert report.exists()
    assert package.load(model).run.rows == 1200
    before = model.read_bytes()
    assert "Nothing was written." in called("stream", path, "--model", model, status=1)
    assert model.read_bytes() == before
    path.write_text(good)
    assert fbtwsvm_json("stream", path, "--model", model)["new_rows"] == 300
    assert_equal(package.load(model), package.load(tmp_path / "whole.fbt"))


def test_an_error_in_the_first_chunk_writes_nothing(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(50)) + "1,\n")
    said = called("stream", path, "-t", "y", "--model", tmp_path / "m.fbt", status=1)
    assert "Row 51 has no value in the target column 'y'." in said
    assert said.endswith(" Nothing was written.\n")
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_that_cannot_be_written_down(tmp_path, monkeypatch):
    """Two errors, that of the source and that of the disk, are both said."""
    path, model = tmp_path / "rows.csv", tmp_path / "m.fbt"
    path.write_text("a,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(500)) + "1,\n")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fbtwsvm.cli.model_file.save", full)
    said = called("stream", path, "-t", "y", "--model", model, *QUICK, status=1)
    assert "Row 501 has no value" in said
    assert "could not be written: No space left on device" in said


def test_an_update_with_an_error_changes_nothing(tmp_path):
    """An update has no place to go on from: half of it would be learned twice by the next attempt."""
    path, model = tmp_path / "rows.csv", tmp_path / "m.fbt"
    called("generate", "sea", "-n", 600, "-o", path)
    called("train", path, "-t", "y", "-o", model, "--chunk", 100, *QUICK)
    before = model.read_bytes()
    with open(path, "a") as file:
        file.write("1,2,3,\n")
    said = called("update", model, path, "--chunk", 100, status=1)
    assert said.endswith(f" Nothing was written: {model} is as before.\n")
    assert model.read_bytes() == before
