"""The first model of a fresh process: from `import fbtwsvm` to a fitted iris, and imports alone.

Cold, every compiled function is compiled (numba's cache is an empty folder); warm, the same folder is used again.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from sklearn.datasets import load_iris

from benchmarks.bench.measure import Ratio, Times, mebibytes, ratio
from benchmarks.bench.plan import at_most
from benchmarks.bench.plots import OTHER, OURS, Dots, draw_dots
from benchmarks.data import progress, table

BARE = "pass"
IMPORTS = ("import fbtwsvm", "from fbtwsvm import FBTWSVM", "import sklearn.base")
MOST_IMPORT = 1.0
COLUMNS = ("what", "repeat", "seconds", "peak_bytes", "gap")
FIRST_MODEL = """
import json, sys, time
X, y = json.load(sys.stdin)
start = time.perf_counter()
import fbtwsvm
model = fbtwsvm.FBTWSVM().fit(X, y)
seconds = time.perf_counter() - start
with open("/proc/self/status") as lines:
    peak = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
print(json.dumps({"seconds": seconds, "peak_bytes": peak, "gap": float(model.duality_gap_.max())}))
"""


def first_model(cache):
    """Return seconds, peak bytes and gap of the first model of a process with this folder for compiled functions."""
    X, y = load_iris(return_X_y=True)
    done = subprocess.run(
        [sys.executable, "-c", FIRST_MODEL],
        input=json.dumps([X.tolist(), y.tolist()]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
    )
    return json.loads(done.stdout)


def seconds_of(code):
    """Return the seconds of a process that runs a statement."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def import_times(repeats):
    """Return the seconds of each statement, in turns, less those of a process that does nothing in the same round."""
    found = {code: Times() for code in IMPORTS}
    for _ in range(repeats):
        bare = seconds_of(BARE)
        for code, times in found.items():
            times.seconds.append(max(seconds_of(code) - bare, 0.0))
    return found


def run(plan):
    """Measure the first model cold and warm, in turns, and imports."""
    record, found = plan.record("first", COLUMNS), {"cold": Times(), "warm": Times()}
    for repeat in range(1 if plan.quick else plan.repeats):
        with tempfile.TemporaryDirectory() as cache:
            for what, times in found.items():
                progress(f"first model, {what}")
                row = record.add(what=what, repeat=repeat, **first_model(cache))
                times.seconds.append(row["seconds"])
    progress("imports")
    imports = import_times(1 if plan.quick else max(plan.repeats, 5))
    for code, times in imports.items():
        for repeat, seconds in enumerate(times.seconds):
            record.add(what=code, repeat=repeat, seconds=seconds)
    report(plan, record, found, imports)
    worst = imports["from fbtwsvm import FBTWSVM"].least
    return [at_most("first", "from fbtwsvm import FBTWSVM, seconds less the start of Python", worst, MOST_IMPORT)]


def report(plan, record, found, imports):
    """Print both tables and draw them."""
    print("\nFrom `import fbtwsvm` to a fitted iris in a fresh process: seconds, least (and largest)\n")
    rows = {what: record.select(what=what) for what in found}
    largest = {what: max(row["peak_bytes"] for row in own) for what, own in rows.items()}
    gaps = {what: max(row["gap"] for row in own) for what, own in rows.items()}
    times_warm: dict[str, Ratio] = {what: ratio(times, found["warm"]) for what, times in found.items()}
    table(
        ["start", "seconds", "times warm", "gap", "peak of the process: MiB"],
        [[w, found[w], times_warm[w], f"{gaps[w]:.1e}", mebibytes(largest[w])] for w in found],
    )
    print("\nImports, less the start of Python in the same round\n")
    table(["statement", "seconds"], [[code, times] for code, times in imports.items()])
    panel = Dots("seconds in a fresh process", log=True)
    for name, times in (found | imports).items():
        colour = OTHER if name == IMPORTS[-1] else OURS
        low, high = max(times.least, 1e-4), max(times.most, 1e-4)
        panel.add({"cold": "first model, cold", "warm": "first model, warm"}.get(name, name), low, low, high, colour)
    draw_dots(plan.out / "first.png", "The first model of a process", [panel])
