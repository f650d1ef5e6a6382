"""A cluster of processes, rows in files that its workers read, and what a fit on it took."""

import logging
import re
import time
from contextlib import contextmanager
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

_PASS = re.compile(r"pass \d+ over the rows: (.*) \(([\d.]+) s\)")


@contextmanager
def cluster(n_workers):
    """Yield a client of a cluster of processes, one thread each."""
    options = {"n_workers": n_workers, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**options, memory_limit=None) as found, Client(found) as client:
        yield client


def write_rows(folder, n, columns, part, seed=0):
    """Write rows of two classes that overlap, in float32, as files of one partition each."""
    for number in range(n // part):
        random = np.random.default_rng([seed, number])
        X = random.normal(size=(part, columns)).astype(np.float32)
        y = (X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * X[:, 2] * X[:, 3] > 0).astype(np.int64)
        flipped = random.random(part) < 0.05
        y[flipped] = 1 - y[flipped]
        np.save(Path(folder) / f"X{number}.npy", X)
        np.save(Path(folder) / f"y{number}.npy", y)


class FileChunks:
    """The same files as chunks, for a fit in one process."""

    def __init__(self, folder, n, part):
        self.folder, self.count = Path(folder), n // part

    def __iter__(self):
        return ((np.load(self.folder / f"X{i}.npy"), np.load(self.folder / f"y{i}.npy")) for i in range(self.count))


def file_arrays(folder, n, columns, part):
    """Return the files as Dask arrays; every pass reads them again."""
    load = dask.delayed(np.load)
    folder, count = Path(folder), n // part
    X = [da.from_delayed(load(str(folder / f"X{i}.npy")), (part, columns), np.float32) for i in range(count)]
    y = [da.from_delayed(load(str(folder / f"y{i}.npy")), (part,), np.int64) for i in range(count)]
    return da.concatenate(X), da.concatenate(y)


class Passes(logging.Handler):
    """Notes the seconds of each pass over the rows that a fit logs."""

    def __init__(self):
        super().__init__()
        self.seconds = []

    def emit(self, record):
        """Note a message."""
        found = _PASS.match(record.getMessage())
        if found:
            self.seconds.append((found[1], float(found[2])))


def timed_fit(model, *rows):
    """Fit a model; return it, the seconds, and those of its passes."""
    logger, passes = logging.getLogger("fbtwsvm"), Passes()
    before = logger.level
    logger.addHandler(passes)
    logger.setLevel(logging.INFO)
    try:
        begin = time.perf_counter()
        model.fit(*rows)
        return model, time.perf_counter() - begin, passes.seconds
    finally:
        logger.removeHandler(passes)
        logger.setLevel(before)
