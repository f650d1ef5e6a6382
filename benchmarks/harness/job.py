"""Functions in a process of their own, which gives a true peak of memory and can be stopped at a time limit.

The process reads the job as JSON from standard input and writes one line of JSON for each result.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from benchmarks.harness.data import Missing
from benchmarks.harness.measure import Measured, measured

ROOT = Path(__file__).parents[2]
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def run_apart(function, arguments, limit=None):
    """Return what a generator yields in a process of its own, with a "status": "ok", or why there is no more of it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.harness.job"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **ONE_THREAD}, cwd=ROOT,
    )  # fmt: skip
    errors = []
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
    reader.start()
    over = threading.Event()
    clock = threading.Timer(limit or 0.0, lambda: (over.set(), process.kill()))
    if limit:
        clock.start()
    with suppress(BrokenPipeError):  # its exit status will say why
        json.dump({"function": f"{function.__module__}:{function.__name__}", "arguments": arguments}, process.stdin)
        process.stdin.close()
    found = [json.loads(line) for line in process.stdout if line.endswith("\n")]
    clock.cancel()
    status = process.wait()
    reader.join()
    if over.is_set():
        found.append({"status": "over time", "why": f"more than {limit:.0f} s"})
    elif status:
        lines = errors[0].strip().splitlines() or [f"the process ended with status {status}"]
        memory = "MemoryError" in lines[-1] or status == -signal.SIGKILL  # the system's way to free memory
        found.append({"status": "out of memory" if memory else "failed", "why": lines[-1]})
    return found


def results(function, arguments):
    """Yield the results of a job; missing data is a result as well."""
    try:
        for result in function(**arguments):
            yield {"status": "ok", **result}
    except Missing as missing:
        yield {"status": "missing", "why": str(missing)}


def measure_apart(prepare, **arguments):
    """Measure the function that `prepare(**arguments)` returns in a process of its own."""
    path = f"{prepare.__module__}:{prepare.__name__}"
    (found,) = run_apart(measure_prepared, {"path": path, "arguments": arguments})
    if found["status"] != "ok":
        raise RuntimeError(f"{path}: {found['why']}")
    return Measured(found["seconds"], found["peak"])


def measure_prepared(path, arguments):
    """Prepare (load data, compile), then measure."""
    found = measured(by_path(path)(**arguments))
    yield {"seconds": found.seconds, "peak": found.peak}


def by_path(path):
    module, name = path.split(":")
    return getattr(import_module(module), name)


def main():
    job = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints goes to the error stream
    for result in results(by_path(job["function"]), job["arguments"]):
        print(json.dumps(result), file=answers, flush=True)


if __name__ == "__main__":
    main()
