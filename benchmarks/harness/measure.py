"""Seconds of functions that run in turns, and peak memory.

A time is the least of the rounds, because other work can only add to it, with the largest in brackets. A ratio is least
over least, with the range of the ratios of single rounds.
"""

import ctypes
import gc
import os
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numba
import psutil
from threadpoolctl import threadpool_limits

from benchmarks.harness.table import number
from fbtwsvm.evaluate import chunked, prequential

CORES = len(os.sched_getaffinity(0))


@contextmanager
def threads(count):
    """Limit BLAS, OpenMP and numba to `count` threads; n_jobs is set by the caller."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    try:
        with threadpool_limits(count):
            yield
    finally:
        numba.set_num_threads(before)


@dataclass
class Times:
    """Seconds of each round, and the result of the last one."""

    seconds: list[float] = field(default_factory=list)
    result: Any = None
    least = property(lambda self: min(self.seconds))
    most = property(lambda self: max(self.seconds))

    def __str__(self):
        return f"{number(self.least)} ({number(self.most)})"


def interleaved(repeats, functions, counts=None):
    """Time the named functions in turns, with one thread or those of `counts`; returns their times by name."""
    found = {name: Times() for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            found[name].result = None  # the result of the last round must not occupy memory now
            gc.collect()
            with threads(counts[name] if counts else 1):
                start = time.perf_counter()
                found[name].result = function()
                found[name].seconds.append(time.perf_counter() - start)
    return found


def ratio(top, bottom):
    """Return the ratio of two times as text."""
    rounds = [a / b for a, b in zip(top.seconds, bottom.seconds, strict=True)]
    return f"{top.least / bottom.least:.2f} ({min(rounds):.2f} to {max(rounds):.2f})"


def seconds_of(call, *arguments):
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def peak_memory(name="VmHWM"):
    """Return the peak memory of this process in bytes (Linux); with "VmRSS" the memory now."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


class Measured(NamedTuple):
    """Seconds of one run, its peak memory above the memory before it, and its result."""

    seconds: float
    peak: int
    result: Any = None


def measured(function):
    """Run a function once and measure seconds and peak memory."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda pad: None)
    trim(0)  # freed memory that the process still holds would hide what is used again
    before = peak_memory("VmRSS")
    with open("/proc/self/clear_refs", "w") as mark:
        mark.write("5")  # the peak starts again from now
    start = time.perf_counter()
    result = function()
    seconds = time.perf_counter() - start
    return Measured(seconds, max(0, peak_memory() - before), result)


def too_large(needed):
    """Return whether so many bytes are more than four fifths of the free memory."""
    return needed > 0.8 * psutil.virtual_memory().available


def run_prequential(model, X, y, size, classes=None):
    """Predict each block of `size` rows, then learn it; returns the last snapshot of `fbtwsvm.stream.prequential`."""
    run = prequential(model, chunked(X, y, size), every=len(y), classes=classes, progress=False)
    return run.run().snapshots[-1]


def learn_chunks(model, X, y, size):
    """Learn rows in chunks; returns the model."""
    for rows, labels in chunked(X, y, size):
        model.partial_fit(rows, labels)
    return model
