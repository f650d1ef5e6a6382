"""Where the time of fit goes: functions of the package wrapped with a clock, one thread.

A function's own seconds are those not spent in another function of the list, so the shares add up to one. A name that
does not exist is an error; a function that was never called has a line with zero calls.
"""

import functools
import sys
import time
from contextlib import ExitStack, contextmanager
from importlib import import_module
from unittest.mock import patch

from benchmarks.harness.internals import FUNCTIONS
from benchmarks.harness.measure import measured, threads
from benchmarks.harness.table import number, progress, table
from benchmarks.speed import fit


class Clock:
    """Calls, seconds and own seconds by label; `inner` has, for the running functions, the seconds of those they call."""

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
