"""A run that is killed at any instant goes on from its last checkpoint, and ends with the model of one that was not.

`make test` kills one run of each kind; `make test-full` kills runs of 200,000 rows twenty times.
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
from command import COMMAND, assert_equal, fbtwsvm
from fbtwsvm.classifier import model_of
from fbtwsvm.data.generators import make

FULL = bool(os.environ.get("FBTWSVM_FULL"))
ROWS, KILLS, CHECKPOINT = (200_000, 20, 2000) if FULL else (8_000, 1, 500)
OPTIONS = ("-t", "y", "--n-components", "30", "--warm-up", "200", "--chunk", "20", "--every", "200")
OPTIONS += ("--half-life", "5000", "--checkpoint", str(CHECKPOINT))


def killed_run(source, model):
    """Start again and again, kill at random, and let the last one finish; returns how often it was killed."""
    chance, kills = random.Random(0), 0
    for _ in range(20 * KILLS):
        process = subprocess.Popen([COMMAND, "stream", source, *OPTIONS, "--model", model], stderr=subprocess.PIPE)
        if kills < KILLS:
            if kills % 3 == 2:  # perhaps before it has come to a checkpoint of its own
                time.sleep(chance.uniform(0.1, 2.5))
            else:
                wait_for_checkpoint(process, model)
                time.sleep(chance.uniform(0.0, 0.4))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
        said = process.communicate(timeout=600)[1].decode()
        if process.returncode == 0:
            return kills
        assert process.returncode == -signal.SIGKILL, said
    pytest.fail("the run did not come to its end")


def wait_for_checkpoint(process, model):
    """Wait until a process has written its first checkpoint, or ended."""
    before = model.stat().st_mtime_ns if model.exists() else 0
    while process.poll() is None and (model.stat().st_mtime_ns if model.exists() else 0) == before:
        time.sleep(0.005)


def compare(killed, whole):
    """Every row was learned once, and the models are equal in every number."""
    one, other = package.load(killed), package.load(whole)
    assert one.rows == one.run.rows == ROWS
    leader = model_of(one.estimator).leader
    assert leader.clock == ROWS
    assert int(leader.seen.sum() + leader.since_solve.sum()) == ROWS
    assert one.run.record.score.tested == ROWS - 200
    assert_equal(one, other)
    assert not [item for item in killed.parent.iterdir() if item.suffix == ".fbt" and item not in (killed, whole)]


@pytest.mark.slow
def test_killed_while_reading_a_file(tmp_path):
    rows, killed, whole = tmp_path / "rows.csv", tmp_path / "killed.fbt", tmp_path / "whole.fbt"
    fbtwsvm("generate", "sea", "-n", ROWS, "--drift-every", ROWS // 4, "-o", rows)
    fbtwsvm("stream", rows, *OPTIONS, "--model", whole)
    assert killed_run(rows, killed) == KILLS
    compare(killed, whole)


@pytest.mark.slow
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
