"""Times of things run side by side: in turns, so that a slow spell of the machine meets all of them alike.

A time is the least of the repeats, because everything else that a machine does can only add to it; the largest stands
in brackets behind it. A ratio is least over least, with the smallest and the largest ratio of any one round behind it.
"""

import gc
import os
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from threadpoolctl import threadpool_limits

CORES = len(os.sched_getaffinity(0))


@contextmanager
def threads(count):
    """Hold BLAS, OpenMP and numba to so many threads; n_jobs is the business of the caller."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    try:
        with threadpool_limits(count):
            yield
    finally:
        numba.set_num_threads(before)


@dataclass(frozen=True)
class Run:
    """Something to be timed under so many threads; what it returns is kept from the last round alone."""

    function: Callable[[], Any]
    threads: int = 1


@dataclass
class Times:
    """Seconds of each round, and what the last round returned."""

    seconds: list[float] = field(default_factory=list)
    result: Any = None

    @property
    def least(self):
        """The time."""
        return min(self.seconds)

    @property
    def most(self):
        """The largest time of all rounds."""
        return max(self.seconds)

    def __str__(self):
        return f"{number(self.least)} ({number(self.most)})"


@dataclass(frozen=True)
class Ratio:
    """Least time over least time, and the range of the ratios of single rounds, which always holds it."""

    value: float
    low: float
    high: float

    def __str__(self):
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def interleaved(repeats, runs):
    """Time the named runs one after the other, so many rounds of it; returns their times by name."""
    found = {name: Times() for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            found[name].result = None  # what the last round left must not lie in memory now
            gc.collect()
            with threads(run.threads):
                start = time.perf_counter()
                result = run.function()
                seconds = time.perf_counter() - start
            found[name].seconds.append(seconds)
            found[name].result = result
            del result
    return found


def ratio(top, bottom):
    """Return how many times the bottom's time the top takes."""
    rounds = [a / b for a, b in zip(top.seconds, bottom.seconds, strict=True)]
    return Ratio(top.least / bottom.least, min(rounds), max(rounds))


def exponent(sizes, values):
    """Return b of the least-squares line log(value) = a + b log(size); nan where two sizes are not to be had."""
    if len(sizes) < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def number(value):
    """Return a number with three digits that count, without powers of ten."""
    if np.isnan(value):
        return "-"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{2 - int(np.floor(np.log10(abs(value))))}f}"


def mebibytes(count):
    """Return bytes as MiB, for a table."""
    return number(count / 2**20)
