"""The first model of a fresh process: from `import fbtwsvm` to a fitted iris, and imports alone.

Cold: numba's cache is an empty folder, and everything is compiled. Warm: the same folder is used again.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from sklearn.datasets import load_iris

from benchmarks.harness.measure import Times, ratio
from benchmarks.harness.table import mebibytes, progress, table

BARE = "pass"
IMPORTS = ("import fbtwsvm", "from fbtwsvm import FBTWSVM", "import sklearn.base")
FIRST_MODEL = """
import json, sys, time
X, y = json.load(sys.stdin)
start = time.perf_counter()
import fbtwsvm
model = fbtwsvm.FBTWSVM().fit(X, y)
seconds = time.perf_counter() - start
from benchmarks.harness.measure import peak_memory
print(json.dumps({"seconds": seconds, "peak_bytes": peak_memory(), "gap": float(model.duality_gap_.max())}))
"""


def first_model(cache):
    """Return seconds, peak bytes and gap of the first model of a process with this folder for compiled functions."""
    rows = json.dumps([part.tolist() for part in load_iris(return_X_y=True)])
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", FIRST_MODEL]
    done = subprocess.run(command, input=rows, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def seconds_of(code):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def run(plan):
    times = {name: Times() for name in ("cold", "warm", *IMPORTS)}
    for repeat in range(plan.repeats or plan.pick(3, 1)):
        progress(f"first model, round {repeat + 1}")
        with tempfile.TemporaryDirectory() as cache:
            for start in ("cold", "warm"):
                found = first_model(cache)
                times[start].seconds.append(found["seconds"])
                times[start].result = found
        bare = seconds_of(BARE)
        for code in IMPORTS:
            times[code].seconds.append(max(seconds_of(code) - bare, 0.0))
    lines = []
    for start in ("cold", "warm"):
        row = times[start].result
        times_warm = ratio(times[start], times["warm"])
        lines.append([start, times[start], times_warm, f"{row['gap']:.1e}", mebibytes(row["peak_bytes"])])
    title = "From `import fbtwsvm` to a fitted iris in a fresh process: seconds, least (and largest)"
    table(["start", "seconds", "times warm", "gap", "peak of the process: MiB"], lines, title)
    title = "Imports, less the start of Python in the same round (wanted: import fbtwsvm below one second)"
    table(["statement", "seconds"], [[code, times[code]] for code in IMPORTS], title)
