"""stream: test, learn, go on, be interrupted."""

import json
import signal
import subprocess
import time

import pytest

import fbtwsvm as package
from command import COMMAND, QUICK, called, fbtwsvm, fbtwsvm_json


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
