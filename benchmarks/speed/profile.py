"""Where the time of fit goes: functions of the package wrapped with a clock, one thread; and the first model.

A function's own seconds are those not spent in another function of the list, so the shares add up to one. `first` is
the time to a fitted iris in a fresh process, and that of the stream at the top of README.md; cold: numba's cache is an
empty folder, warm: it is used again. Modules are compiled to bytecode before, as pip does when it installs them.
"""

import functools
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
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


BARE = ["-c", "pass"]
IMPORTS = ("import fbtwsvm", "from fbtwsvm import FBTWSVM", "import sklearn.base")
HELP = "fbtwsvm --help"
README = Path(__file__).parents[2] / "README.md"
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


def fresh_process(arguments, cache=None, rows=None):
    """Run Python with these arguments; return wall seconds, CPU seconds and what it printed."""
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *arguments]
    done = subprocess.run(command, input=rows, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu, done.stdout


def first_model(cache):
    """Return seconds, CPU seconds, peak bytes and gap of the first model of a process with this folder for numba."""
    rows = json.dumps([part.tolist() for part in load_iris(return_X_y=True)])
    _, cpu, printed = fresh_process(["-c", FIRST_MODEL], cache, rows)
    return {**json.loads(printed), "cpu": cpu}


def stream_example():
    """Return the first example of README.md."""
    return re.search(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)[1]


def first(plan):
    models = {start: Times() for start in ("cold", "warm")}
    streams = {start: (Times(), Times()) for start in models}
    others = {name: Times() for name in (HELP, *IMPORTS)}
    statements = {code: ["-c", code] for code in IMPORTS}
    for arguments in (["-m", "fbtwsvm.cli", "train", "--help"], *statements.values()):
        fresh_process(arguments)
    for repeat in range(plan.repeats or plan.pick(3, 1)):
        progress(f"first model, round {repeat + 1}")
        with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as stream_cache:
            for start in models:
                found = models[start].result = first_model(cache)
                models[start].seconds.append(found["seconds"])
                wall, cpu, _ = fresh_process(["-c", stream_example()], stream_cache)
                streams[start][0].seconds.append(wall)
                streams[start][1].seconds.append(cpu)
        bare, _, _ = fresh_process(BARE)
        for code, arguments in statements.items():
            others[code].seconds.append(max(fresh_process(arguments)[0] - bare, 0.0))
        others[HELP].seconds.append(fresh_process(["-m", "fbtwsvm.cli", "--help"])[0])
    lines = []
    for start, times in models.items():
        row = times.result
        times_warm = ratio(times, models["warm"])
        lines.append([start, times, times_warm, number(row["cpu"]), f"{row['gap']:.1e}", mebibytes(row["peak_bytes"])])
    title = "From `import fbtwsvm` to a fitted iris in a fresh process: seconds, least (and largest)"
    header = ["start", "seconds", "times warm", "CPU seconds of the process", "gap", "peak of the process: MiB"]
    table(header, lines, f"{title} (wanted: cold 5, warm 1.2)")
    lines = [[start, seconds, cpu] for start, (seconds, cpu) in streams.items()]
    table(["start", "seconds", "CPU seconds"], lines, "The stream at the top of README.md, the whole process")
    table(["command", "seconds"], [[HELP, others[HELP]]], "The help of the command, the whole process (wanted: 0.7)")
    title = "Imports, less the start of Python in the same round (wanted: import fbtwsvm below one second)"
    table(["statement", "seconds"], [[code, others[code]] for code in IMPORTS], title)
