"""Ctrl-C in the middle of a fit or a search: one line, status 130, and no half-written file."""

import os
import pty
import signal
import subprocess

import pytest

from command import COMMAND, called


def _read(terminal):
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize(("verb", "begun"), [("train", b"mapping 20000"), ("tune", b"0 of ")])
def test_an_interrupted_fit_says_so_and_leaves_the_older_model(verb, begun, tmp_path):
    """The command runs on a terminal, whose progress bar shows when the fit or the search has begun."""
    called("generate", "rbf", "-n", 20_000, "--features", 4, "--classes", 3, "-o", tmp_path / "rows.csv")
    model = tmp_path / "m.fbt"
    model.write_text("older")
    before = sorted(tmp_path.iterdir())
    terminal, other_end = pty.openpty()
    line = [COMMAND, verb, tmp_path / "rows.csv", "-t", "y", "-o", model]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=other_end, env=environment) as process:
        os.close(other_end)
        shown = b""
        while begun not in shown:
            piece = _read(terminal)
            assert piece, shown
            shown += piece
        process.send_signal(signal.SIGINT)
        while piece := _read(terminal):
            shown += piece
        assert process.stdout.read() == b""
    os.close(terminal)
    assert process.returncode == 130, shown
    assert shown.count(b"fbtwsvm: ") == 1
    assert b"fbtwsvm: interrupted" in shown
    assert b"Traceback" not in shown
    assert model.read_text() == "older"
    assert sorted(tmp_path.iterdir()) == before
