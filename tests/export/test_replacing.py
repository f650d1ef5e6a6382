"""Files are replaced in one step, by any number of writers, through no link, and stay as private as they were."""

import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

import fbtwsvm
from fbtwsvm import FBTWSVM, _files
from fbtwsvm._files import replacing


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def temporaries(folder):
    return [path for path in folder.iterdir() if path.name.endswith(".tmp")]


@pytest.fixture
def usual_umask():
    """Set the umask that most systems have."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_many_writers_of_one_path_beside_readers(good, tmp_path):
    """Eight threads of one process save to one path; every save succeeds, every reader finds a whole model."""
    model, path, errors, reads = good[0], tmp_path / "m.fbt", [], []
    fbtwsvm.save(model, path)
    stop = threading.Event()

    def working(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    def write():
        for _ in range(15):
            fbtwsvm.save(model, path)

    def read():
        while not stop.is_set():
            reads.append(fbtwsvm.load(path).n_components_)

    writers = [threading.Thread(target=working, args=(write,)) for _ in range(8)]
    readers = [threading.Thread(target=working, args=(read,)) for _ in range(2)]
    for thread in (*writers, *readers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert not errors
    assert set(reads) == {model.n_components_}
    assert [item.name for item in tmp_path.iterdir()] == ["m.fbt"]


def test_a_planted_link_is_not_followed(tmp_path):
    """The name of older versions, which could be foreseen, is a link to a file of somebody else."""
    victim, link = tmp_path / "victim", tmp_path / f".m.fbt.{os.getpid()}.tmp"
    victim.write_text("precious")
    link.symlink_to(victim)
    fbtwsvm.save(FBTWSVM(), tmp_path / "m.fbt")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "m.fbt").is_symlink()
    fbtwsvm.load(tmp_path / "m.fbt")


def test_a_link_that_the_user_names_stays_a_link(tmp_path):
    (tmp_path / "m.fbt").symlink_to(tmp_path / "real.fbt")
    fbtwsvm.save(FBTWSVM(), tmp_path / "m.fbt")
    assert (tmp_path / "m.fbt").is_symlink()
    fbtwsvm.load(tmp_path / "real.fbt")


def test_only_the_owner_reads_what_is_half_written(tmp_path, usual_umask):
    path = tmp_path / "m.fbt"
    with replacing(path) as file:
        file.write(b"rows of people")
        file.flush()
        assert [mode(temporary) for temporary in temporaries(tmp_path)] == [0o600]
    assert mode(path) == 0o644  # as any new file
    path.chmod(0o600)
    with replacing(path) as file:
        file.write(b"other rows")
    assert mode(path) == 0o600
    assert not temporaries(tmp_path)


def test_what_a_killed_writer_leaves_is_private_and_swept_later(tmp_path, usual_umask):
    code = f"""
import os, signal
from fbtwsvm._files import replacing
with replacing({str(tmp_path / "m.fbt")!r}) as file:
    file.write(b"rows of people")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = temporaries(tmp_path)
    assert mode(left) == 0o600
    fbtwsvm.save(FBTWSVM(), tmp_path / "m.fbt")
    assert left.exists()  # it could be that of a writer which has just begun
    os.utime(left, (0, 0))
    fbtwsvm.save(FBTWSVM(), tmp_path / "m.fbt")
    assert not temporaries(tmp_path)


def test_the_file_of_a_slow_writer_is_not_swept(tmp_path):
    with replacing(tmp_path / "m.fbt") as file:
        file.write(b"slow")
        file.flush()
        (own,) = temporaries(tmp_path)
        os.utime(own, (0, 0))
        fbtwsvm.save(FBTWSVM(), tmp_path / "m.fbt")
        assert own.exists()
    assert (tmp_path / "m.fbt").read_bytes() == b"slow"


def test_sweeping_touches_nothing_but_files(tmp_path):
    os.mkfifo(tmp_path / ".m.fbt.1.tmp")  # opening it would wait for ever
    (tmp_path / ".m.fbt.2.tmp").mkdir()
    (tmp_path / ".m.fbt.3.tmp").symlink_to(tmp_path / "elsewhere")
    for path in temporaries(tmp_path):
        os.utime(path, (0, 0), follow_symlinks=False)
    fbtwsvm.save(FBTWSVM(), tmp_path / "m.fbt")
    assert len(temporaries(tmp_path)) == 3


def test_a_failed_write_leaves_the_old_file(good, tmp_path, monkeypatch):
    path = tmp_path / "m.fbt"
    path.write_bytes(good[1])
    path.chmod(0o640)

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        fbtwsvm.save(FBTWSVM(), path)
    assert path.read_bytes() == good[1]
    assert [item.name for item in tmp_path.iterdir()] == ["m.fbt"]
    monkeypatch.undo()
    fbtwsvm.save(FBTWSVM(), path)
    assert mode(path) == 0o640


def test_file_and_folder_are_synced(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(_files.os, "fsync", lambda handle: synced.append(stat.S_ISDIR(os.fstat(handle).st_mode)))
    fbtwsvm.save(FBTWSVM(), tmp_path / "m.fbt")
    assert synced == [False, True]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"no folder {tmp_path / 'none'} to write m.fbt"):
        fbtwsvm.save(FBTWSVM(), tmp_path / "none" / "m.fbt")
    with pytest.raises(OSError, match="not a file"):
        fbtwsvm.save(FBTWSVM(), tmp_path)
