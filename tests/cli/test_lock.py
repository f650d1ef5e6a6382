"""Two commands that would change one model file: the second is refused, and nothing is lost."""

import os
import signal
import socket
import subprocess
import threading
import time

import pytest

import fbtwsvm as package
from command import COMMAND, QUICK, called
from fbtwsvm.cli.lock import locked
from fbtwsvm.data.sources import DataError


@pytest.fixture
def held(model, tmp_path):
    """Return a model file, its lock file, and a process that learns a pipe into it."""
    path = tmp_path / "m.fbt"
    path.write_bytes(model.read_bytes())
    lock = tmp_path / ".m.fbt.lock"
    command = [COMMAND, "stream", "-", "--model", str(path), "--chunk", "50"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while not (lock.exists() and lock.read_text()):
            assert process.poll() is None
            time.sleep(0.02)
        yield path, lock, process
        process.kill()


def test_the_second_command_is_refused(held, data, model):
    path, lock, process = held
    before = path.read_bytes()
    for line in (
        ("update", path, data / "more.csv"),
        ("unlearn", path, data / "more.csv"),
        ("merge", path, model, "-o", path),
        ("train", data / "train.csv", "-t", "kind", "-o", path),
        ("tune", data / "train.csv", "-t", "kind", "-o", path),
        ("stream", data / "more.csv", "--model", path),
    ):
        said = called(*line, status=1)
        assert f"{path} is in use by another command (fbtwsvm stream, process {process.pid} on" in said
        assert f"on {socket.gethostname()}, since 20" in said
        assert said.count("\n") == 1
    assert path.read_bytes() == before
    assert lock.stat().st_mode & 0o777 == 0o600
    called("predict", path, data / "test.csv", "-o", os.devnull)  # readers need no lock
    process.communicate((data / "more.csv").read_bytes(), timeout=60)
    assert process.returncode == 0
    assert package.load(path).rows == 1250
    assert not lock.exists()


def test_a_killed_command_does_not_lock(held, data):
    path, lock, process = held
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    assert lock.exists()
    called("update", path, data / "more.csv")
    assert package.load(path).rows == 1250
    assert not lock.exists()


def test_a_planted_lock_file_is_not_followed(model, data, tmp_path):
    path, lock, victim = tmp_path / "m.fbt", tmp_path / ".m.fbt.lock", tmp_path / "victim"
    path.write_bytes(model.read_bytes())
    victim.write_text("dear")
    for plant in (os.symlink, os.link, lambda _, place: os.mkfifo(place)):
        plant(victim, lock)
        assert "remove it" in called("update", path, data / "more.csv", status=1)
        lock.unlink()
    assert victim.read_text() == "dear"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc")
def test_a_folder_that_takes_no_files_is_named(data):
    said = called("train", data / "test.csv", "-t", "kind", "-o", "/proc/m.fbt", status=1)
    assert said.startswith("fbtwsvm: error: /proc takes no new files (")
    assert "Name another folder" in said
    assert "remove" not in said


def test_all_names_of_a_file_have_one_lock(tmp_path):
    path, link = tmp_path / "m.fbt", tmp_path / "link.fbt"
    path.touch()
    link.symlink_to(path)
    with locked(path, "one"), pytest.raises(DataError, match=r"\(one, process"), locked(link, "two"):
        pass
    with locked(link, "two"):
        pass
    assert sorted(tmp_path.iterdir()) == [link, path]


def test_many_who_want_a_lock_get_it_one_by_one(tmp_path):
    """The lock file comes and goes all the time, and yet there are never two who hold the lock."""
    inside, most, done = [], [], []

    def work(number):
        while len(done) < 400:
            try:
                with locked(tmp_path / "m.fbt", "work"):
                    inside.append(number)
                    most.append(len(inside))
                    inside.remove(number)
                    done.append(number)
            except DataError:
                continue

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_without_locks_is_said(model, data, tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / "m.fbt"
    path.write_bytes(model.read_bytes())

    def flock(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", flock)
    assert "m.fbt" in called("update", path, data / "more.csv")
    assert "cannot be locked" in called("update", path, data / "more.csv", status=1)  # refused for its ids


def test_two_runs_over_two_sources(tmp_path):
    """Fault of an older version: both ended with status 0, and the rows of one were gone."""
    model = tmp_path / "m.fbt"
    called("generate", "sea", "-n", 600, "-o", tmp_path / "a.csv")
    called("train", tmp_path / "a.csv", "-t", "y", "-o", model, "--chunk", 100, *QUICK)
    commands = [[COMMAND, "stream", f"generate:sea?rows={rows}", "--model", str(model)] for rows in (3000, 700)]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for command in commands]
    for process in processes:
        process.communicate(timeout=120)
    learned = 600 + sum(rows for rows, process in zip((3000, 700), processes, strict=True) if not process.returncode)
    assert package.load(model).rows == learned
