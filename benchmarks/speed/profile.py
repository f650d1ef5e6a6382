"""Where the time of fit goes: functions of the package wrapped with a clock, one thread; and the first model.

A function's own seconds are those not spent in another function of the list, so the shares add up to one. `first` is
the time to a fitted iris in a fresh process; cold: numba's cache is an empty folder, warm: it is used again.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from importlib import import_module
from unittest.mock import patch

from sklearn.datasets import load_iris

from benchmarks.harness.internals import FUNCTIONS
from benchmarks.harness.measure import Times, measured, ratio, threads
from benchmarks.harness.table import mebibytes, number, progress, table
from benchmarks.speed import fit


class Clock:
    """Calls, seconds and own seconds by label; `inner` has the seconds of functions that the running ones call."""

    def __init__(self):
        self.found, self.inner = {}, []

    def wrap(self, function, label):
        """Return the function with a clock around it."""
        found = self.found[label] = [0, 0.0, 0.0]

        @functools.wraps(function)
        def timed(*arguments, **options):
            self.inner.append(0.0)
            start = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                spent = time.perf_counter() - start
                found[:] = found[0] + 1, found[1] + spent, found[2] + spent - self.inner.pop()
                if self.inner:
                    self.inner[-1] += spent

        return timed


def owner_of(path):
    """Return the module or class that holds the last name of a dotted path, and that name."""
    *parents, name = path.split(".")
    owner = import_module(parents[0])
    for parent in parents[1:]:
        owner = getattr(owner, parent, None) or import_module(f"{owner.__name__}.{parent}")
    if name not in vars(owner):
        raise AttributeError(f"profile: {path} does not exist; adjust FUNCTIONS in benchmarks/harness/internals.py.")
    return owner, name


def places(owner, name):
    """Return every place in the package that holds this function; for a method only its class."""
    if isinstance(owner, type):
        return [(owner, name)]
    function = vars(owner)[name]
    modules = [module for key, module in list(sys.modules.items()) if key.startswith("fbtwsvm")]
    return [(module, key) for module in modules for key, value in list(vars(module).items()) if value is function]


@contextmanager
def clocked(functions):
    """Wrap the functions wherever they were imported; yields the clock."""
    clock = Clock()
    with ExitStack() as stack:
        for path, label in functions:
            owner, name = owner_of(path)
            held = vars(owner)[name]
            kind = type(held) if isinstance(held, (classmethod, staticmethod)) else None
            timed = clock.wrap(held.__func__ if kind else held, label)
            for place, key in places(owner, name):
                stack.enter_context(patch.object(place, key, kind(timed) if kind else timed))
        yield clock


def all_fits(plan):
    for name in plan.chosen(fit.CASES, fit.QUICK_CASES):
        data = fit.load_case(name, quick=plan.quick)
        yield name, lambda data=data: fit.case_model(data).fit(data.X, data.y)
    X, y, _, _ = fit.classes_data("coil", plan.quick)
    yield "coil", lambda: fit.classes_model(fit.DISTANCE, fit.GAMMAS["coil"]).fit(X, y)


def run(plan):
    for name, fit_case in all_fits(plan):
        progress(f"profile: {name}")
        with threads(1):
            fit_case()
            with clocked(FUNCTIONS) as clock:
                found = measured(fit_case)
        gap = float(found.result.duality_gap_.max())
        rows = [(label, *line) for label, line in clock.found.items()]
        rows.append(("everything else", 1, found.seconds, found.seconds - sum(own for *_, own in rows)))
        lines = [
            [label, f"{calls:,}", number(seconds), number(own), f"{100 * own / found.seconds:.1f}"]
            for label, calls, seconds, own in rows
        ]
        title = f"{name}: {found.seconds:.2f} s, largest gap {gap:.1e}, peak {found.peak / 2**20:,.0f} MiB"
        table(["what", "calls", "seconds", "own seconds", "share: %"], lines, title)


BARE = "pass"
IMPORTS = ("import fbtwsvm", "from fbtwsvm import FBTWSVM", "import sklearn.base")
HELP = "import sys; sys.argv = ['fbtwsvm', '--help']; from fbtwsvm.cli import main; main()"
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


def process_seconds(code):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def first(plan):
    times = {name: Times() for name in ("cold", "warm", *IMPORTS, HELP)}
    for repeat in range(plan.repeats or plan.pick(3, 1)):
        progress(f"first model, round {repeat + 1}")
        with tempfile.TemporaryDirectory() as cache:
            for start in ("cold", "warm"):
                found = first_model(cache)
                times[start].seconds.append(found["seconds"])
                times[start].result = found
        bare = process_seconds(BARE)
        for code in IMPORTS:
            times[code].seconds.append(max(process_seconds(code) - bare, 0.0))
        times[HELP].seconds.append(process_seconds(HELP))
    lines = []
    for start in ("cold", "warm"):
        row = times[start].result
        times_warm = ratio(times[start], times["warm"])
        lines.append([start, times[start], times_warm, f"{row['gap']:.1e}", mebibytes(row["peak_bytes"])])
    title = "From `import fbtwsvm` to a fitted iris in a fresh process: seconds, least (and largest)\n"
    title += "(wanted: at most 5 s cold, 1.2 s warm)"
    table(["start", "seconds", "times warm", "gap", "peak of the process: MiB"], lines, title)
    title = "Imports, less the start of Python in the same round (wanted: import fbtwsvm below one second)"
    table(["statement", "seconds"], [[code, times[code]] for code in IMPORTS], title)
    print(f"\nfbtwsvm --help, with the start of Python: {times[HELP]} s (wanted: at most 0.7 s)")
