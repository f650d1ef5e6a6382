"""Peak memory: the high-water mark that Linux keeps of a process, above what the process held before.

In a process that has done other things, memory that was freed but not given back would hide what is used again, so it
is given back first. Where the last megabyte counts, a process of its own does the work (`in_child`).
"""

import ctypes
import gc
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Measured:
    """Seconds of one run, the bytes that it needed at its peak above those before it, and what it returned."""

    seconds: float
    peak: int
    before: int
    result: Any = None


def status(name):
    """Return a size from /proc/self/status in bytes."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def give_back():
    """Return freed memory to the system, where the C library can."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def measured(function):
    """Run a function once, under the clock and with the high-water mark set back before it."""
    give_back()
    before = status("VmRSS")
    with open("/proc/self/clear_refs", "w") as mark:
        mark.write("5")
    start = time.perf_counter()
    result = function()
    seconds = time.perf_counter() - start
    return Measured(seconds, max(0, status("VmHWM") - before), before, result)


def in_child(prepare, *, threads=1, **arguments):
    """Measure what `prepare(**arguments)` returns in a process of its own; `prepare` must be a function of a module.

    What `prepare` does (loading, compiling) is neither timed nor counted.
    """
    task = {
        "module": prepare.__module__,
        "function": prepare.__qualname__,
        "threads": threads,
        "arguments": arguments,
    }
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench.child", json.dumps(task)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def too_large(needed):
    """Whether so many bytes would drive the machine to its limit: four fifths of what is free now."""
    return needed > 0.8 * psutil.virtual_memory().available
