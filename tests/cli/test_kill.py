"""A run that is killed at any instant goes on from its last checkpoint, and ends with the model of one that was not.

`make test` kills one run of each kind; `make test-full` kills each kind twenty times, in up to 200,000 rows.
"""

import os
import random
import signal
import subprocess
import threading
import time
import uuid

import numpy as np
import pytest

import fbtwsvm as package
from command import COMMAND, assert_equal, called, fbtwsvm
from fbtwsvm.classifier import model_of
from fbtwsvm.data.generators import make

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
FULL = bool(os.environ.get("FBTWSVM_FULL"))
ROWS, KILLS, CHECKPOINT = (200_000, 20, 2000) if FULL else (8_000, 1, 500)
FEW_ROWS, FEW_KILLS, SOON = (20_000, 20, 250) if FULL else (2_000, 1, 200)  # of the runs with other troubles
RECIPE = ("-t", "y", "--n-components", "30", "--warm-up", "200", "--every", "200", "--half-life", "5000")
OPTIONS = (*RECIPE, "--chunk", "20", "--checkpoint", str(CHECKPOINT))
OTHERS = (*RECIPE, "--chunk", "20", "--checkpoint", str(SOON))


def killed_run(source, model, wanted=KILLS, options=OPTIONS, after_kill=lambda: None, finished=lambda: True):
    """Start again and again, kill at random, and let the last one finish; returns how often it was killed."""
    chance, kills = random.Random(0), 0
    for _ in range(20 * wanted):
        process = subprocess.Popen([COMMAND, "stream", source, *options, "--model", model], stderr=subprocess.PIPE)
        if kills < wanted:
            if kills % 3 == 2:  # perhaps before it has come to a checkpoint of its own
                time.sleep(chance.uniform(0.1, 2.5))
            else:
                wait_for_checkpoint(process, model)
                time.sleep(chance.uniform(0.0, 0.4))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
        said = process.communicate(timeout=600)[1].decode()
        if process.returncode == 0 and finished():
            return kills
        assert process.returncode in (0, -signal.SIGKILL), said
        if process.returncode:
            after_kill()
    pytest.fail("the run did not come to its end")


def wait_for_checkpoint(process, model):
    """Wait until a process has written its first checkpoint, or ended."""
    before = model.stat().st_mtime_ns if model.exists() else 0
    while process.poll() is None and (model.stat().st_mtime_ns if model.exists() else 0) == before:
        time.sleep(0.005)


def compare(killed, whole, rows=ROWS):
    """Every row was learned once, and the models are equal in every number."""
    one, other = package.load(killed), package.load(whole)
    assert one.rows == one.run.rows == rows
    leader = model_of(one.estimator).leader
    assert leader.clock == rows
    assert int(leader.seen.sum() + leader.since_solve.sum()) == rows
    assert one.run.record.score.tested == rows - 200
    other.run.source, other.run.name = one.run.source, one.run.name
    assert_equal(one, other)
    assert not [item for item in killed.parent.iterdir() if item.suffix == ".fbt" and item not in (killed, whole)]


def test_killed_while_reading_a_file(tmp_path):
    rows, killed, whole = tmp_path / "rows.csv", tmp_path / "killed.fbt", tmp_path / "whole.fbt"
    fbtwsvm("generate", "sea", "-n", ROWS, "--drift-every", ROWS // 4, "-o", rows)
    fbtwsvm("stream", rows, *OPTIONS, "--model", whole)
    assert killed_run(rows, killed) == KILLS
    compare(killed, whole)


def test_killed_while_reading_a_live_stream(redis_server, tmp_path):
    """Half of the rows are there first, the rest comes while runs are killed; places are in the checkpoint."""
    redis = pytest.importorskip("redis")
    X, y = make("sea", drift_every=ROWS // 4).rows(ROWS)
    name = f"test-{uuid.uuid4().hex}"
    killed, whole = tmp_path / "killed.fbt", tmp_path / "whole.fbt"
    source = f"{redis_server}?stream={name}&idle=3"
    with redis.Redis.from_url(redis_server) as server:

        def feed(first, last, pause):
            for start in range(first, last, 500):
                pipe = server.pipeline(transaction=False)
                for i in range(start, min(start + 500, last)):
                    pipe.xadd(name, {**{f"x{j}": repr(float(X[i, j])) for j in range(3)}, "y": int(y[i])})
                pipe.execute()
                time.sleep(pause)

        try:
            feed(0, ROWS // 2, 0.0)
            feeder = threading.Thread(target=feed, args=(ROWS // 2, ROWS, 0.02))
            feeder.start()
            assert killed_run(source, killed) == KILLS
            feeder.join()
            fbtwsvm("stream", source, *OPTIONS, "--model", whole)
            compare(killed, whole)
            assert np.unique(package.load(killed).estimator.classes_).tolist() == [-1, 1]
        finally:
            server.delete(name)


def test_killed_while_a_file_grows(tmp_path):
    """A writer appends pieces that end anywhere, in the middle of a number too.

    Runs come to the end of what is there at any row, so they learn row by row: chunks would be cut elsewhere.
    """
    options = (*RECIPE, "--chunk", "1", "--checkpoint", str(SOON))
    rows, killed, whole = tmp_path / "rows.csv", tmp_path / "killed.fbt", tmp_path / "whole.fbt"
    called("generate", "sea", "-n", FEW_ROWS, "--drift-every", FEW_ROWS // 4, "-o", tmp_path / "all.csv")
    called("stream", tmp_path / "all.csv", *options, "--model", whole)
    text = (tmp_path / "all.csv").read_bytes()
    start = text.index(b"\n", len(text) // 8)
    rows.write_bytes(text[:start])
    chance = random.Random(1)
    step = (len(text) - start) // (FEW_KILLS + 1) + 1
    limits = [start + step]  # the writer waits there until a run has ended: it writes during all of them

    def write():
        place = start
        with open(rows, "ab", buffering=0) as file:
            while place < len(text):
                place += file.write(text[place : min(limits[-1], place + chance.randrange(1, step // 10))])
                time.sleep(0.01)

    def write_more():
        limits.append(limits[-1] + step)
        return package.load(killed).run.rows == FEW_ROWS if killed.exists() else False

    writer = threading.Thread(target=write)
    writer.start()
    kills = killed_run(rows, killed, FEW_KILLS, options, write_more, write_more)
    writer.join()
    assert kills == FEW_KILLS
    compare(killed, whole, FEW_ROWS)


def test_killed_before_a_file_is_rotated(tmp_path):
    """After each kill another file takes the name: it is refused, until the right one is back."""
    rows, other = tmp_path / "rows.csv", tmp_path / "other.csv"
    killed, whole = tmp_path / "killed.fbt", tmp_path / "whole.fbt"
    called("generate", "sea", "-n", FEW_ROWS, "--drift-every", FEW_ROWS // 4, "-o", rows)
    called("generate", "sea", "-n", FEW_ROWS + 100, "--seed", 5, "-o", other)
    called("stream", rows, *OTHERS, "--model", whole)

    def rotate():
        if not killed.exists():  # killed before its first checkpoint
            return
        before = killed.read_bytes()
        rows.rename(tmp_path / "kept.csv")
        other.rename(rows)
        said = called("stream", rows, "--model", killed, status=1)
        assert "does not begin any more with the" in said
        assert killed.read_bytes() == before
        rows.rename(other)
        (tmp_path / "kept.csv").rename(rows)

    assert killed_run(rows, killed, FEW_KILLS, OTHERS, rotate) == FEW_KILLS
    compare(killed, whole, FEW_ROWS)


def test_killed_while_a_live_stream_is_trimmed(redis_server, tmp_path):
    """What a checkpoint has may be trimmed; one entry more is an error, and the model stays as it was."""
    redis = pytest.importorskip("redis")
    X, y = make("sea", drift_every=FEW_ROWS // 4).rows(FEW_ROWS)
    name = f"test-{uuid.uuid4().hex}"
    killed, whole = tmp_path / "killed.fbt", tmp_path / "whole.fbt"
    source = f"{redis_server}?stream={name}&idle=0.5"
    with redis.Redis.from_url(redis_server) as server:

        def add(key, first, last):
            pipe = server.pipeline(transaction=False)
            for i in range(first, last):
                fields = {**{f"x{j}": repr(float(X[i, j])) for j in range(3)}, "y": int(y[i])}
                pipe.xadd(key, fields, id=f"{i + 1}-0")
            pipe.execute()

        def trim():
            if killed.exists():
                server.xtrim(name, minid=f"{package.load(killed).run.rows + 1}-0", approximate=False)

        try:
            add(name, 0, FEW_ROWS)
            called("stream", source, *OTHERS, "--model", whole)
            assert killed_run(source, killed, FEW_KILLS, OTHERS, trim) == FEW_KILLS
            compare(killed, whole, FEW_ROWS)
            before = killed.read_bytes()
            pipe = server.pipeline()
            for i in range(30):
                pipe.xadd(name, {"x0": 1, "x1": 1, "x2": 1, "y": 1}, id=f"{FEW_ROWS + i + 1}-0")
            pipe.execute()
            server.xtrim(name, maxlen=29, approximate=False)
            said = called("stream", source, *OTHERS, "--model", killed, status=1)
            assert "1 entry was removed" in said
            assert killed.read_bytes() == before
        finally:
            server.delete(name)
