"""Options of reading: bad rows are named or set aside, decimal commas, encodings, dates."""

import csv
import json
import os
import subprocess
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

import fbtwsvm as package
from command import COMMAND, QUICK, assert_equal, called, fbtwsvm_json
from fbtwsvm import FBTWSVM

GOOD = [f"{i % 7 + i / 1000:.3f},{'red' if i % 3 else 'blue'},{i % 7 > 3:d}" for i in range(900)]
BAD = {  # what comes before the row of this number, and what is said of it
    3: ("1,red", "3 fields expected, 2 found"),
    50: ("1,red,0,0", "3 fields expected, 4 found"),
    120: ("big,red,1", "column 'size': 'big' is not a number"),
    500: ("1,,1", "has no value in column 'colour'"),
    600: (",red,1", "has no value in column 'size'"),
    650: ("1e308,red,1", "column 'size': the number is too large"),
    651: ("inf,red,1", "column 'size': the number is infinite"),
    652: ("-1e200,red,1", "column 'size': the number is too large"),
    700: ("1,red,", "has no value in the target column 'y'"),
    750: ("1,red,maybe", "target 'y': 'maybe' is not an integer"),
}
SKIP = ("--on-error", "skip")


def write(path, lines):
    path.write_text("\n".join(["size,colour,y", *lines]) + "\n")
    return path


@pytest.fixture
def good(tmp_path):
    return write(tmp_path / "good.csv", GOOD)


@pytest.fixture
def mixed(tmp_path):
    return with_bad_rows(tmp_path, BAD)


def with_bad_rows(tmp_path, bad):
    """Return a file with bad rows, and their numbers."""
    lines, numbers = [], {}
    for i, line in enumerate(GOOD):
        if i in bad:
            numbers[len(lines) + 1] = BAD[i][1]
            lines.append(BAD[i][0])
        lines.append(line)
    return write(tmp_path / "mixed.csv", lines), numbers


def check_rejected(path, numbers):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["row"]) for row in rows] == list(numbers)
    for row, (text, _) in zip(rows, BAD.values(), strict=False):
        assert numbers[int(row["row"])] in row["problem"]
        assert row["values"] == text


@pytest.mark.parametrize("chunk", [(), ("--chunk", 100)])
def test_train_sets_bad_rows_aside(chunk, good, tmp_path):
    """The model is that of the good rows alone, where chunks do not matter."""
    bad = BAD if chunk else {i: BAD[i] for i in BAD if i < 750}  # among all rows, a text makes all labels texts
    path, numbers = with_bad_rows(tmp_path, bad)
    options = ("-t", "y", *QUICK, *chunk)
    told = fbtwsvm_json("train", path, "-o", tmp_path / "m.fbt", *options, *SKIP, "--rejected", tmp_path / "bad.csv")
    assert (told["rows"], told["set_aside"]) == (900, len(bad))
    check_rejected(tmp_path / "bad.csv", numbers)
    if not chunk:
        called("train", good, "-o", tmp_path / "g.fbt", *options)
        assert_equal(package.load(tmp_path / "m.fbt"), package.load(tmp_path / "g.fbt"))


def test_stream_sets_bad_rows_aside_and_goes_on(mixed, tmp_path):
    """A run in two parts is the run over the whole file, bit for bit, and row numbers are those of the file."""
    path, numbers = mixed
    whole, parts = tmp_path / "whole.fbt", tmp_path / "parts.fbt"
    options = ("--chunk", 50, *SKIP)
    told = fbtwsvm_json("stream", path, "-t", "y", "--model", whole, *QUICK, *options, "--rejected", tmp_path / "1.csv")
    assert (told["rows"], told["set_aside"], package.load(whole).rows) == (900 + len(BAD), len(BAD), 900)
    check_rejected(tmp_path / "1.csv", numbers)
    text = path.read_text()
    path.write_text("".join(text.splitlines(keepends=True)[:601]))
    options += ("--rejected", tmp_path / "2.csv")
    called("stream", path, "-t", "y", "--model", parts, *QUICK, *options)
    path.write_text(text)
    fbtwsvm_json("stream", path, "--model", parts, *options)
    check_rejected(tmp_path / "2.csv", numbers)
    assert_equal(package.load(whole), package.load(parts))


def test_other_verbs_set_bad_rows_aside(good, mixed, tmp_path):
    model = tmp_path / "m.fbt"
    called("train", good, "-t", "y", "-o", model, *QUICK, "--chunk", 100)
    told = fbtwsvm_json("evaluate", model, mixed[0], *SKIP)
    assert (told["rows"], told["set_aside"]) == (900, len(BAD))
    assert told["accuracy"] == fbtwsvm_json("evaluate", model, good)["accuracy"]
    with_labels_only = {700, 750}  # predict does not need labels
    answers = called("predict", model, mixed[0], *SKIP).splitlines()
    assert len(answers) == 1 + 900 + len(with_labels_only)
    assert fbtwsvm_json("update", model, mixed[0], *SKIP)["set_aside"] == len(BAD)
    none = write(tmp_path / "none.csv", ["x,red,0"] * 3)
    assert called("predict", model, none, *SKIP) == '"prediction"\n'
    assert "no rows that can be read" in called("evaluate", model, none, *SKIP, status=1)


@pytest.mark.parametrize("number", [i for i in BAD if i not in (3, 50)])
def test_a_bad_row_is_named_without_warnings(number, good, tmp_path):
    """Row, column and value are named, and what to do; NumPy says nothing."""
    called("train", good, "-t", "y", "-o", tmp_path / "m.fbt", *QUICK, "--chunk", 100)
    path = write(tmp_path / "more.csv", [*GOOD[:number], BAD[number][0], *GOOD[number:]])
    said = called("update", tmp_path / "m.fbt", path, status=1)
    assert said.count("\n") == 1
    assert said.startswith(f"fbtwsvm: error: Row {number + 1}")
    assert BAD[number][1] in said
    assert "--on-error skip" in said


def test_a_number_that_is_too_large_in_the_first_rows(tmp_path):
    path = write(tmp_path / "rows.csv", [*GOOD[:100], "1e308,red,1", *GOOD[100:]])
    for chunk in ((), ("--chunk", 100)):
        said = called("train", path, "-t", "y", "-o", tmp_path / "m.fbt", *QUICK, *chunk, status=1)
        assert "Row 101, column 'size': the number is too large ('1e308')" in said
        assert said.count("\n") == 1


def test_a_number_that_is_too_large_for_the_scale(good, tmp_path):
    called("train", good, "-t", "y", "-o", tmp_path / "m.fbt", *QUICK, "--chunk", 100)
    path = write(tmp_path / "more.csv", [*GOOD[:2], "1e60,red,1"])
    said = called("update", tmp_path / "m.fbt", path, status=1)
    assert "Row 3, column 'size': the number is too large (5e+59 when scaled)" in said
    assert fbtwsvm_json("update", tmp_path / "m.fbt", path, *SKIP)["set_aside"] == 1


def test_labels_can_be_texts_from_the_start(good, tmp_path):
    """With the target named as categorical, a text may come after integers."""
    path = write(tmp_path / "rows.csv", [*GOOD, "9,red,maybe"])
    model = tmp_path / "m.fbt"
    called("stream", path, "-t", "y", "--model", model, *QUICK, "--categorical", "y")
    assert package.load(model).estimator.classes_.tolist() == ["0", "1", "maybe"]


def test_first_rows_that_are_all_bad(tmp_path):
    path = write(tmp_path / "rows.csv", ["1,red,"] * 300)
    assert "Row 1 has no value in the target" in called("stream", path, "-t", "y", *QUICK, *SKIP, status=1)


def test_decimal_commas_and_another_encoding(tmp_path):
    """German spreadsheets: semicolons, decimal commas, points between thousands, latin-1."""
    lines = [line.replace("red", "rot").replace("blue", "grün").replace(",", ";") for line in GOOD]
    plain, german = tmp_path / "plain.csv", tmp_path / "german.csv"
    plain.write_text("größe;farbe;y\n" + "\n".join(lines) + "\n1234.5;rot;1\n1234;rot;1\n-0.5;rot;0\n")
    text = "größe;farbe;y\n" + "\n".join(lines).replace(".", ",") + "\n1.234,5;rot;1\n1.234;rot;1\n-,5;rot;0\n"
    german.write_bytes(text.encode("latin-1"))
    options = ("-t", "y", *QUICK)
    called("train", plain, "-o", tmp_path / "plain.fbt", *options)
    reading = ("--decimal", ",", "--encoding", "latin-1")
    called("train", german, "-o", tmp_path / "german.fbt", *options, *reading)
    assert_equal(package.load(tmp_path / "plain.fbt"), package.load(tmp_path / "german.fbt"))
    for number in ("0.123", "12.34"):
        (tmp_path / "point.csv").write_bytes(f"größe;farbe;y\n{number};rot;1\n".encode("latin-1"))
        said = called("update", tmp_path / "german.fbt", tmp_path / "point.csv", *reading, status=1)
        assert f"column 'größe': '{number}' (with --decimal , a point is only read between thousands) is not" in said
    assert "name its encoding, as in --encoding latin-1" in called(
        "train", german, "-o", tmp_path / "m.fbt", *options, status=1
    )
    german.write_bytes(text.encode("utf-16"))
    reading = ("--decimal", ",", "--encoding", "utf-16")
    called("stream", german, "--model", tmp_path / "s.fbt", *options, *reading)
    assert fbtwsvm_json("stream", german, "--model", tmp_path / "s.fbt", *reading)["new_rows"] == 0
    assert "is not text in utf-16" in called("train", plain, "-o", tmp_path / "m.fbt", *options, *reading, status=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--decimal x", "--decimal is a point or a comma"),
        ("--encoding klingon", "no such encoding"),
        ("--encoding rot13", "no such encoding"),
        ("--on-error ignore", "--on-error is stop or skip"),
        ("--rejected bad.csv", "add --on-error skip"),
    ],
)
def test_wrong_options(options, message, good, tmp_path):
    assert message in called("train", good, "-t", "y", "-o", tmp_path / "m.fbt", *options.split(), status=2)


def test_dates_are_numbers(tmp_path):
    """Dates and times as text, and typed ones, are days since 1970; a text in their column is a bad value."""
    days = np.datetime64("2024-01-01") + np.arange(900)
    labels = (np.arange(900) > 500).astype(int)
    path = tmp_path / "rows.csv"
    path.write_text("day,y\n" + "".join(f"{day},{label}\n" for day, label in zip(days, labels, strict=True)))
    papq.write_table(pa.table({"day": days, "y": labels}), tmp_path / "rows.parquet")
    for source in (path, tmp_path / "rows.parquet"):
        called("train", source, "-t", "y", "-o", tmp_path / f"{source.suffix}.fbt", *QUICK, "--scale", "none")
    one, other = package.load(tmp_path / ".csv.fbt"), package.load(tmp_path / ".parquet.fbt")
    assert one.columns.columns[0].dates
    assert one.columns.rows(pa.table({"day": ["1970-01-02", "1970-01-01T12:00:00Z"]}), 0).tolist() == [[1.0], [0.5]]
    assert_equal(one, other)
    path.write_text("day,y\n2024-01-01,0\nyesterday,1\n")
    said = called("update", tmp_path / ".csv.fbt", path, status=1)
    assert "Row 2, column 'day': 'yesterday' is not a date" in said
    assert json.loads(called("predict", tmp_path / ".csv.fbt", path, "--json", *SKIP).splitlines()[0])


def test_long_labels_take_little_memory(good, tmp_path):
    """A very long label is refused, and a model that has one, from Python, predicts few rows at a time."""
    long = "x" * 200_000
    path = write(tmp_path / "long.csv", [*GOOD, f"1,red,{long}"])
    said = called("train", path, "-t", "y", "-o", tmp_path / "m.fbt", *QUICK, status=1)
    assert "Row 901, target 'y': the label has 200,000 letters; at most 256 are read" in said
    X = np.arange(40.0).reshape(20, 2)
    package.save(FBTWSVM().fit(X, np.where(X[:, 0] > 20, long, "short")), tmp_path / "python.fbt")
    (tmp_path / "rows.csv").write_text("x0,x1\n" + "1,2\n" * 900)
    tracemalloc.start()
    answers = called("predict", tmp_path / "python.fbt", tmp_path / "rows.csv")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answers.splitlines()[1:] == ['"short"'] * 900
    assert peak < 300 * 2**20


def test_a_text_of_any_length_is_not_a_category(tmp_path):
    path = write(tmp_path / "rows.csv", [*GOOD, f"1,{'x' * 1000},1"])
    said = called("train", path, "-t", "y", "-o", tmp_path / "m.fbt", *QUICK, status=1)
    assert "Column 'colour' holds a text of 1,000 letters" in said
    assert "--drop colour" in said


def test_predict_answers_all_rows_before_a_bad_one(good, tmp_path):
    called("train", good, "-t", "y", "-o", tmp_path / "m.fbt", *QUICK)
    path = write(tmp_path / "more.csv", [*GOOD, "1,red", *GOOD])
    command = [COMMAND, "predict", tmp_path / "m.fbt", path]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stdout.splitlines())) == (1, 901)
    assert "Row 901: 3 fields expected, 2 found" in done.stderr


@pytest.mark.parametrize("name", ["none.csv", "none.parquet"])
def test_predict_checks_the_columns_of_a_file_without_rows(name, good, tmp_path):
    called("train", good, "-t", "y", "-o", tmp_path / "m.fbt", *QUICK)
    path = tmp_path / name
    if name.endswith("csv"):
        path.write_text("size,other\n")
    else:
        papq.write_table(pa.table({"size": pa.array([], pa.float64()), "other": pa.array([], pa.string())}), path)
    assert "has no column 'colour'" in called("predict", tmp_path / "m.fbt", path, status=1)
    path = write(tmp_path / "right.csv", [])
    assert called("predict", tmp_path / "m.fbt", path) == '"prediction"\n'


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_full_disk_is_named(good, tmp_path):
    called("train", good, "-t", "y", "-o", tmp_path / "m.fbt", *QUICK)
    bad = write(tmp_path / "bad.csv", ["x,red,1", *GOOD])
    message = "error: /dev/full could not be written: No space left on device.\n"
    assert called("predict", tmp_path / "m.fbt", good, "-o", "/dev/full", status=1).endswith(message)
    rejected = ("-o", tmp_path / "a.csv", *SKIP, "--rejected", "/dev/full")
    assert called("predict", tmp_path / "m.fbt", bad, *rejected, status=1).endswith(message)
    for verb in (("predict", tmp_path / "m.fbt", good), ("info", tmp_path / "m.fbt")):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                list(map(str, [COMMAND, *verb])), stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.returncode == 1
        assert done.stderr == "fbtwsvm: error: Standard output could not be written: No space left on device.\n"


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGPIPE")
def test_a_reader_that_has_gone_is_no_error(good, tmp_path):
    """As in `fbtwsvm predict ... | head -1`."""
    called("train", good, "-t", "y", "-o", tmp_path / "m.fbt", *QUICK)
    command = [COMMAND, "predict", tmp_path / "m.fbt", "-"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(list(map(str, command)), **pipes) as process:
        process.stdout.close()
        process.stdin.write(good.read_bytes())
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


def test_an_odd_label_is_said(tmp_path):
    path = write(tmp_path / "rows.csv", [*GOOD[:500], "1,red,1.5", *GOOD[500:]])
    command = [COMMAND, "train", path, "-t", "y", "-o", tmp_path / "m.fbt", *QUICK]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    assert "warning: All labels are texts, since 1 of the first 901 are not integers" in done.stderr
