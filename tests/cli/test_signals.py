"""Ctrl-C (status 130) and SIGTERM (143) at any moment: one line, which says what was written."""

import os
import signal
import subprocess
import sys
import time

import pytest

import fbtwsvm as package
from command import COMMAND, QUICK, called
from fbtwsvm.data.table_model import TableModel
from fbtwsvm.search.cv import FBTWSVMCV

STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}
WHILE_STARTING = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            os.kill(os.getpid(), int(sys.argv[2]))
sys.meta_path.insert(0, Interrupt())
sys.argv[3:] = ["info", "--help"]
from fbtwsvm.cli import main
main()
"""


@pytest.mark.parametrize("module", ["fbtwsvm.cli.app", "numpy", "pyarrow.lib"])
@pytest.mark.parametrize("number", STATUS)
def test_while_the_command_starts(module, number):
    command = [sys.executable, "-c", WHILE_STARTING, module, str(int(number))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == STATUS[number]
    assert done.stderr == "fbtwsvm: interrupted; nothing was written\n"


AFTER_THE_END = """
import atexit, os, signal
atexit.register(lambda: [os.kill(os.getpid(), number) for number in (signal.SIGINT, signal.SIGTERM)])
from fbtwsvm.cli import main
main()
"""


def test_after_all_is_done():
    command = [sys.executable, "-c", AFTER_THE_END, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def waiting(*arguments):
    """Start a command that reads a pipe into m.fbt, and return the process when it has begun."""
    process = subprocess.Popen(
        [COMMAND, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not os.path.exists(".m.fbt.lock"):
        assert process.poll() is None
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("number", STATUS)
def test_a_stream_before_its_first_row(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with waiting("stream", "-", "-t", "y", "--model", "m.fbt") as process:
        time.sleep(0.2)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (STATUS[number], "fbtwsvm: interrupted; nothing was written\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", STATUS)
def test_a_stream_that_waits_for_rows(number, tmp_path, monkeypatch):
    """What was learned is written, with the report."""
    monkeypatch.chdir(tmp_path)
    text = called("generate", "sea", "-n", 450)
    options = ("-t", "y", "--model", "m.fbt", "--checkpoint", 100, "--report", "r.png", *QUICK)
    with waiting("stream", "-", *options) as process:
        process.stdin.write(text)
        process.stdin.flush()
        while not os.path.exists("m.fbt") or package.load("m.fbt").rows < 400:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        told, said = process.communicate(timeout=60)
    assert process.returncode == STATUS[number]
    assert said.splitlines()[-1] == "fbtwsvm: interrupted; m.fbt has learned 400 rows"  # the first may be: compiling
    assert "(interrupted)" in told
    assert sorted(os.listdir()) == ["m.fbt", "r.png"]


@pytest.fixture
def interrupted(monkeypatch):
    """Return a function that makes a method send a signal to this process, and then run for long."""

    def patch(owner, name, number=signal.SIGINT):
        def stopped(*_, **__):
            os.kill(os.getpid(), number)
            time.sleep(60)

        monkeypatch.setattr(owner, name, stopped)

    return patch


@pytest.mark.parametrize("number", STATUS)
def test_verbs_that_learn(number, interrupted, data, model, tmp_path):
    before = model.read_bytes()
    output = tmp_path / "m.fbt"
    interrupted(TableModel, "learn", number)
    interrupted(TableModel, "fit", number)
    interrupted(TableModel, "unlearn", number)
    interrupted(FBTWSVMCV, "fit", number)
    for line in (
        ("train", data / "train.csv", "-t", "kind", "--drop", "id", "-o", output),
        ("train", data / "train.csv", "-t", "kind", "--drop", "id", "-o", output, "--chunk", 100),
        ("tune", data / "train.csv", "-t", "kind", "--drop", "id", "-o", output),
        ("update", model, data / "more.csv"),
        ("unlearn", model, data / "more.csv"),
    ):
        assert called(*line, status=STATUS[number]) == "fbtwsvm: interrupted; nothing was written\n"
    assert model.read_bytes() == before
    assert not list(tmp_path.iterdir())


def test_an_interrupt_that_compiled_code_turned_into_an_error(data, tmp_path, monkeypatch):
    def stopped(*_, **__):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        except KeyboardInterrupt as interrupt:
            raise SystemError("returned a result with an exception set") from interrupt

    monkeypatch.setattr(FBTWSVMCV, "fit", stopped)
    said = called("tune", data / "train.csv", "-t", "kind", "--drop", "id", "-o", tmp_path / "m.fbt", status=130)
    assert said == "fbtwsvm: interrupted; nothing was written\n"


def test_a_second_interrupt_does_not_wait_for_the_chunk(data, tmp_path, monkeypatch):
    """The file is then as at the last checkpoint, and the message says so."""
    learn, calls = TableModel.learn, []

    def stopped(*arguments, **options):
        calls.append(1)
        if len(calls) == 5:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        learn(*arguments, **options)

    monkeypatch.setattr(TableModel, "learn", stopped)
    model = tmp_path / "m.fbt"
    options = ("-t", "kind", "--drop", "id", "--model", model, "--checkpoint", 200, *QUICK)
    said = called("stream", data / "train.csv", *options, status=130)
    assert said == f"fbtwsvm: interrupted; {model} has learned 400 rows\n"
    assert package.load(model).rows == 400
