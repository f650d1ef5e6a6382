"""What goes wrong is said in one line, with the right status, and nothing is changed."""

import os
import resource
import subprocess
import sys

import pytest

from command import called, fbtwsvm
from fbtwsvm.cli import app
from fbtwsvm.data.sources import DataError


@pytest.fixture
def here(capsys, monkeypatch, tmp_path):
    """Return a function that runs the command in this process: (status, its error line)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("warnings.showwarning", lambda *args, **kwargs: None)

    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            app.run(list(map(str, arguments)))
        return ended.value.code, capsys.readouterr().err

    return call


USAGE = [
    ("train DATA/train.csv -o m.fbt", "--target"),
    ("train DATA/train.csv -t kind", "--output"),
    ("train DATA/train.csv -t kind -o m.fbt --gamma wide", "--gamma cannot be 'wide'"),
    ("train DATA/train.csv -t kind -o m.fbt --decay 0.9 --half-life 5", "not both"),
    ("train DATA/train.csv -t kind -o m.fbt --drift-detector x", "hoeffding"),
    ("train DATA/train.csv -t kind -o m.fbt --scale log", "--scale is one of"),
    ("train DATA/train.csv -t kind -o m.fbt --config none.toml", "none.toml"),
    ("train DATA/train.csv -t kind -o m.fbt --format xls", "--format is one of"),
    ("train DATA/train.csv --like MODEL -C 3 -o m.fbt", "No such option"),
    ("train DATA/train.csv --like MODEL --C 3 -o m.fbt", "--like takes columns and parameters"),
    ("train DATA/train.csv --like MODEL -t kind --id id --warm-up 9 -o m.fbt", "leave out --target, --id, --warm-up"),
    ("stream DATA/train.csv -t kind --checkpoint 10", "--model"),
    ("stream DATA/train.csv -t kind --report r.pdf", ".html or .png"),
    ("stream DATA/train.csv --model MODEL --C 7", "keeps what it was made with"),
    ("stream DATA/train.csv --model MODEL --target size", "keeps what it was made with"),
    ("tune DATA/train.csv -t kind --plot search.bmp", "--plot ends in .png, .svg, .pdf, not .bmp"),
    ("generate moons", "there are the generators"),
    ("generate sea --json", "--output"),
    ("predict MODEL DATA/test.csv -o MODEL", "MODEL and --output are the same file"),
    ("predict MODEL DATA/test.csv -o DATA/test.csv", "SOURCE and --output are the same file"),
    ("predict MODEL DATA/test.csv --on-error skip --rejected MODEL", "MODEL and --rejected are the same file"),
    ("evaluate MODEL DATA/test.csv --on-error skip --rejected DATA/test.csv", "SOURCE and --rejected are the same"),
    ("train DATA/test.csv -t kind -o DATA/test.csv", "SOURCE and --output are the same file"),
    ("train DATA/test.csv -t kind -o DATA/test.csv --chunk 50", "SOURCE and --output are the same file"),
    ("train DATA/test.csv --like MODEL -o m.fbt --on-error skip --rejected MODEL", "--like and --rejected are"),
    ("train DATA/test.csv -t kind -o new --on-error skip --rejected new", "--output and --rejected are the same file"),
    ("tune DATA/test.csv -t kind -o DATA/test.csv", "SOURCE and --output are the same file"),
    ("tune DATA/test.csv -t kind -o k.png --plot ./k.png", "--output and --plot are the same file"),
    ("update MODEL DATA/test.csv -o DATA/test.csv", "SOURCE and --output are the same file"),
    ("update MODEL DATA/test.csv --on-error skip --rejected MODEL", "--rejected and MODEL are the same file"),
    ("unlearn MODEL DATA/test.csv -o DATA/test.csv", "SOURCE and --output are the same file"),
    ("stream DATA/test.csv -t kind --model DATA/test.csv", "SOURCE and --model are the same file"),
    ("stream DATA/test.csv -t kind --model k.html --report k.html", "--model and --report are the same file"),
    ("stream DATA/test.csv --model MODEL --on-error skip --rejected MODEL", "--model and --rejected are the same file"),
    ("stream DATA/test.csv --model MODEL --on-error skip --rejected DATA/test.csv", "SOURCE and --rejected are"),
    ("export MODEL MODEL", "MODEL and OUTPUT are the same file"),
    ("train DATA/train.csv --config wrong.toml -o m.fbt", "drop names columns"),
    ("train DATA/train.csv -t kind --config three.toml -o m.fbt", "C="),
    ("dance", "No such command"),
]
WRONG_DATA = [
    ("update MODEL nowhere.csv", "There is no file nowhere.csv"),
    ("update MODEL short.csv", "Row 100: 5 fields expected, 2 found"),
    ("update MODEL word.csv", "Row 100, column 'size'"),
    ("update MODEL gap.csv", "Row 100 has no value in column 'size'"),
    ("update MODEL other.csv", "no column"),
    ("update MODEL none.csv", "no rows"),
    ("update MODEL DATA/more.csv -o no/folder/m.fbt", "no folder"),
    ("update MODEL DATA/train.csv", "has been learned already"),
    ("predict MODEL other.csv", "which the model was trained with"),
    ("predict broken.fbt DATA/more.csv", "checksum"),
    ("predict DATA/more.csv DATA/test.csv", "does not begin like a model file"),
    ("predict MODEL other.csv -o old.csv", "which the model was trained with"),
    ("evaluate MODEL none.csv", "no rows"),
    ("info nowhere.fbt", "There is no file nowhere.fbt"),
    ("train DATA/train.csv -t zzz -o m.fbt", "no column 'zzz'"),
    ("train DATA/train.csv -t weight -o m.fbt", "'weight' holds 1,000 different numbers in 1,000 rows"),
    ("predict MODEL DATA/test.csv -o old.csv --keep colur", "--keep: the source has no column 'colur'"),
    ("merge MODEL MODEL -o m.fbt", "twice"),
    ("stream none.csv -t kind --model m.fbt", "no rows"),
]


@pytest.fixture
def call(here, data, model, tmp_path):
    """Return a function that runs a line, in which DATA and MODEL stand for their paths; no file may change."""
    (tmp_path / "wrong.toml").write_text('[columns]\ntarget = "kind"\ndrop = 5\n')
    (tmp_path / "three.toml").write_text("[model]\nC = [1, 2, 3]\n")
    text = (data / "more.csv").read_text().splitlines(keepends=True)
    files = {
        "short.csv": [*text[:100], "1,2\n", *text[100:]],
        "word.csv": [*text[:100], text[100].replace(",", ",x", 1), *text[101:]],
        "gap.csv": [*text[:100], ",".join(["5000", "", *text[100].split(",")[2:]]), *text[101:]],
        "other.csv": ["a,b,c\n", "1,2,3\n"],
        "none.csv": text[:1],
        "old.csv": ["older answers"],
    }
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(lines))
    (tmp_path / "broken.fbt").write_bytes(model.read_bytes()[:-1])
    before, seen = (model.read_bytes(), (data / "test.csv").read_bytes()), sorted(tmp_path.iterdir())
    yield lambda line: here(*line.replace("DATA", str(data)).replace("MODEL", str(model)).split(" "))
    assert (model.read_bytes(), (data / "test.csv").read_bytes()) == before
    assert (tmp_path / "old.csv").read_text() == "older answers"
    assert sorted(tmp_path.iterdir()) == seen


@pytest.mark.parametrize(("line", "message"), USAGE, ids=[line for line, _ in USAGE])
def test_wrong_usage_is_status_2(call, line, message):
    status, said = call(line)
    assert (status, said.count("\n")) == (2, 1), said
    assert message in said


@pytest.mark.parametrize(("line", "message"), WRONG_DATA, ids=[line for line, _ in WRONG_DATA])
def test_wrong_data_is_status_1(call, line, message):
    status, said = call(line)
    assert (status, said.count("\n")) == (1, 1), said
    assert message in said
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["a link", "a second name", "standard input", "a database"])
def test_a_source_is_not_overwritten_under_another_name(name, data, tmp_path):
    file, other = tmp_path / "rows.csv", tmp_path / "other.csv"
    file.write_bytes((data / "test.csv").read_bytes())
    source = file
    if name == "a link":
        other.symlink_to(file)
    elif name == "a second name":
        other.hardlink_to(file)
    else:
        source, other = ("-" if name == "standard input" else f"sqlite:///{file}?table=rows"), file
    with open(file) as rows:
        said = fbtwsvm("train", source, "-t", "kind", "-o", other, status=2, stdin=rows)
    assert f"SOURCE and --output are the same file, {other}" in said
    assert file.read_bytes() == (data / "test.csv").read_bytes()


def test_devices_may_be_named_twice(data, model):
    called("predict", model, data / "test.csv", "-o", os.devnull, "--on-error", "skip", "--rejected", os.devnull)
    assert not os.path.isfile(os.devnull)  # it was not replaced by a file of answers


def test_debug_shows_the_traceback_without_passwords(model, monkeypatch):
    """The errors of other packages, in the traceback, may repeat an address."""
    address = "postgresql://ann:geheim@host/db?password=geheim&query=SELECT 1"

    def fail(*_, **__):
        raise DataError("The database failed.") from RuntimeError(f"no answer from {address}")

    monkeypatch.setattr("fbtwsvm.cli.options.open_source", fail)
    said = called("update", model, address, "--debug", status=1)
    assert "Traceback" in said
    assert "no answer from postgresql://host/db?password=***" in said
    assert "geheim" not in said


def test_the_command_is_a_module():
    said = subprocess.check_output([sys.executable, "-m", "fbtwsvm.cli", "--version"], text=True)
    assert said.startswith("fbtwsvm ")


def test_a_full_disk_leaves_the_model(data, model, tmp_path):
    path = tmp_path / "m.fbt"
    path.write_bytes(model.read_bytes())

    def small_disk():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    said = fbtwsvm("update", path, data / "more.csv", status=1, preexec_fn=small_disk)
    assert "could not be written" in said
    assert said.count("\n") == 1
    assert path.read_bytes() == model.read_bytes()
    assert [item.name for item in tmp_path.iterdir()] == ["m.fbt"]
    if os.path.exists("/dev/full"):
        assert "No space left" in called("predict", model, data / "test.csv", "-o", "/dev/full", status=1)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_model_is_not_written_to_a_device(data):
    said = called("train", data / "test.csv", "-t", "kind", "-o", "/dev/full", status=1)
    assert said == "fbtwsvm: error: /dev/full is a pipe or a device, and a model can only be written to a file.\n"
