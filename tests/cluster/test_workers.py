"""Fits on a cluster of processes: what travels, workers that die, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from uuid import uuid4

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

from collected import arrays, large, model
from fbtwsvm import FBTWSVM, merge
from helpers import noisy_rows

N = 6000
FULL = bool(os.environ.get("FBTWSVM_FULL"))


@pytest.fixture(scope="module")
def rows():
    X, y = noisy_rows(N)
    return X.astype(np.float64), y


@pytest.fixture
def client():
    """Return a client of a cluster with two processes of one thread each."""
    before = dict(os.environ)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as found,
    ):
        yield found
    # Dask changes the environment of this process, too, for its workers; other tests start processes of their own.
    os.environ.clear()
    os.environ.update(before)


def wait_until(condition, seconds=20.0):
    """Wait for a condition, and fail if it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def slowly(block, seconds):
    time.sleep(seconds)
    return block


def counted(block, folder):
    """Leave a file for each time that a partition is computed."""
    (folder / uuid4().hex).touch()
    return block


def test_processes_give_the_planes_of_threads_and_persisted_rows_are_not_computed_again(client, rows, tmp_path):
    dX, dy = arrays(6, *rows)
    with large(400):
        spread = model().fit(dX, dy)
        persisted = client.persist([dX.map_blocks(counted, tmp_path, meta=np.empty((0, 4))), dy])
        again = model().fit(*persisted)
        answers = spread.predict(dX).compute()
        score = spread.score(dX, dy)
        with dask.config.set(scheduler="threads"):  # of this process
            local = model().fit(dX, dy)
    np.testing.assert_allclose(spread.planes_, local.planes_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(again.planes_, local.planes_, rtol=1e-7, atol=1e-9)
    assert spread.n_passes_ == local.n_passes_
    assert len(list(tmp_path.iterdir())) == 6
    assert np.array_equal(answers, local.predict(rows[0]))
    assert score == pytest.approx(local.score(*rows))
    wait_until(lambda: not [key for key in client.who_has() if "fbtwsvm" in str(key)])  # nothing stays behind


@pytest.mark.parametrize("kills", [3 if FULL else 1])
def test_a_worker_that_dies_changes_nothing(client, rows, kills):
    """Its process is killed in the middle of a fit; Dask computes what is lost again."""
    dX, dy = arrays(12, *rows)
    dX = dX.map_blocks(slowly, 0.03, meta=np.empty((0, 4)))
    with large(400):
        undisturbed = model().fit(dX, dy)
        done = threading.Event()
        killed = []

        def kill():
            time.sleep(0.5)
            while len(killed) < kills and not done.is_set():
                pids = list(client.run(os.getpid).values())
                os.kill(pids[len(killed) % len(pids)], signal.SIGKILL)
                killed.append(pids)
                done.wait(1.0)

        killer = threading.Thread(target=kill)
        killer.start()
        found = model().fit(dX, dy)
        done.set()
        killer.join()
    assert len(killed) == kills
    scale = np.abs(undisturbed.planes_).max()
    np.testing.assert_allclose(found.planes_, undisturbed.planes_, rtol=0, atol=1e-10 * scale)


def learned_part(part, n_parts):
    """Learn a part of the rows, on a worker."""
    X, y = noisy_rows(N)
    return FBTWSVM(feature_map="fourier", gamma=0.2, n_components=60, warm_up=200, random_state=0).partial_fit(
        X[part::n_parts], y[part::n_parts]
    )


def test_streams_of_workers_become_one_model(client, rows):
    models = client.gather([client.submit(learned_part, part, 5, pure=False) for part in range(5)])
    together = merge(models)
    assert together.inspect().seen == N
    assert [one.inspect().seen for one in models] == [N // 5] * 5
    X, y = noisy_rows(N + 2000)
    alone = np.mean([one.score(X[N:], y[N:]) for one in models])
    assert together.score(X[N:], y[N:]) > alone - 0.01


def test_merge_of_one_and_of_none():
    one = learned_part(0, 5)
    assert merge([one]) is not one
    assert np.array_equal(merge([one]).planes_, one.planes_)
    with pytest.raises(ValueError, match="no models"):
        merge([])
    with pytest.raises(TypeError, match="got str"):
        merge(["a", one])


SCRIPT = """
    import signal, sys, threading, os, time
    import dask.array as da, numpy as np
    from distributed import Client, LocalCluster
    from fbtwsvm import FBTWSVM

    def slowly(block):
        time.sleep(0.3)
        return block

    if __name__ == "__main__":
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs without it
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
        with cluster, Client(cluster) as client:
            X = da.random.random((60_000, 3), chunks=(3_000, 3)).map_blocks(slowly)
            y = (da.random.random(60_000, chunks=3_000) > 0.5).astype(int)
            threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
            model = FBTWSVM(gamma=1.0, n_components=20)
            try:
                model.fit(X, y)
            except KeyboardInterrupt:
                time.sleep(1.0)
                running = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
                print("interrupted", running, hasattr(model, "planes_"))
"""


def test_ctrl_c_cancels_what_is_left_to_do(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert "interrupted 0 False" in done.stdout, done.stderr
