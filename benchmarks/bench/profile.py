"""Where the time of fit goes: named functions wrapped with a clock for the duration, one thread.

A function's own seconds are those that it did not spend in another of the list, so shares add up. A name that does not
exist is an error; one that was never called is a line with zero calls.
"""

import functools
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from matplotlib import colormaps

from benchmarks.bench import cases, classes
from benchmarks.bench.measure import number, threads
from benchmarks.bench.memory import measured
from benchmarks.bench.plots import grid, save
from benchmarks.data import progress, table

# Where a function is defined, and what it is called here; it is wrapped wherever the package has imported it.
FUNCTIONS = (
    ("fbtwsvm.model.rows.arrange", "sort and check rows"),
    ("fbtwsvm.model.mapping.Mapping.fit", "map"),
    ("fbtwsvm.batch.machine.learn_path", "learn, the rest of it"),
    ("fbtwsvm.solver.factors.class_means", "class means"),
    ("fbtwsvm.model.membership.distances_to_means", "distances to means"),
    ("fbtwsvm.solver.dual.solve_path", "planes in the dual, the rest"),
    ("fbtwsvm.solver.newton.solve_newton", "planes by Newton's method"),
    ("fbtwsvm.solver.kernel.solve_kernel_path", "planes on the kernel, the rest"),
    ("fbtwsvm.solver._loops.solve_kernel_blocks", "coordinate descent on the kernel, with left-out values"),
    ("fbtwsvm.solver.factors.gram_matrix", "Gram matrices"),
    ("fbtwsvm.solver.factors.Whitener.rows", "whitening"),
    ("fbtwsvm.solver.factors.LowRankWhitener.rows", "whitening, few rows a class"),
    ("fbtwsvm.solver.dual._plane_values", "plane values of all rows"),
    ("fbtwsvm.solver._loops.solve_row_blocks", "coordinate descent"),
    ("fbtwsvm.solver._loops.select_violators", "certificates"),
    ("fbtwsvm.solver.dual._NearPlanes._leave_out", "left-out values"),
)
COLUMNS = ("case", "label", "calls", "seconds", "own_s", "share", "gap", "peak_bytes")


@dataclass
class Clock:
    """Seconds and calls of the wrapped functions; `open` holds what the running ones have spent in others so far."""

    seconds: dict[str, float] = field(default_factory=dict)
    own: dict[str, float] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    open: list[float] = field(default_factory=list)

    def wrap(self, function, label):
        """Return the function with a clock around it."""
        self.seconds[label], self.own[label], self.calls[label] = 0.0, 0.0, 0

        @functools.wraps(function)
        def timed(*arguments, **options):
            self.open.append(0.0)
            start = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                spent = time.perf_counter() - start
                inner = self.open.pop()
                if self.open:
                    self.open[-1] += spent
                self.seconds[label] += spent
                self.own[label] += spent - inner
                self.calls[label] += 1

        return timed


def find(path):
    """Return the object that has the last name of a dotted path; a part that does not exist is an error."""
    parts = path.split(".")
    owner: Any = import_module(parts[0])
    for name in parts[1:-1]:
        if not hasattr(owner, name):
            import_module(f"{owner.__name__}.{name}")
        owner = getattr(owner, name)
    if parts[-1] not in vars(owner):
        raise AttributeError(
            f"profile: {path} does not exist; FUNCTIONS in benchmarks/bench/profile.py must be adjusted."
        )
    return owner, parts[-1]


@contextmanager
def replaced(owner, name, value):
    """Put something else in the place of an attribute for a while."""
    before = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def places(owner, name):
    """Return every place in the package that holds this very function: a method only its class."""
    if isinstance(owner, type):
        return [(owner, name)]
    function, package = vars(owner)[name], owner.__name__.split(".")[0]
    modules = [m for key, m in list(sys.modules.items()) if m is not None and key.split(".")[0] == package]
    return [(module, key) for module in modules for key, value in list(vars(module).items()) if value is function]


@contextmanager
def clocked(functions):
    """Wrap the functions for a while; yields the clock."""
    clock = Clock()
    with ExitStack() as stack:
        for path, label in functions:
            owner, name = find(path)
            held = vars(owner)[name]
            kind = type(held) if isinstance(held, (classmethod, staticmethod)) else None
            timed = clock.wrap(held.__func__ if kind else held, label)
            for place in places(owner, name):
                stack.enter_context(replaced(*place, kind(timed) if kind else timed))
        yield clock


def main_cases(quick):
    """Yield name and fit of the six main cases."""
    for name, case in cases.CASES.items():
        data = case.load(quick=quick)
        yield name, lambda data=data: cases.model(data, 1).fit(data.X, data.y)
    X, y, _, _ = classes.data("coil", quick)
    yield "coil", lambda: classes.model(classes.DISTANCE, classes.SETS["coil"]).fit(X, y)


def profile(name, fit: Callable[[], Any], record):
    """Fit once to compile, then under the clocks; writes and prints a table, returns label: share."""
    fit()
    with clocked(FUNCTIONS) as clock:
        found = measured(fit)
    gap = float(found.result.duality_gap_.max())
    rest = found.seconds - sum(clock.own.values())
    rows = [(label, clock.calls[label], clock.seconds[label], clock.own[label]) for _, label in FUNCTIONS]
    rows.append(("everything else", 1, found.seconds, rest))
    for label, calls, seconds, own in rows:
        record.add(case=name, label=label, calls=calls, seconds=seconds, own_s=own, share=own / found.seconds, gap=gap,
                   peak_bytes=found.peak)  # fmt: skip
    print(f"\n{name}: {found.seconds:.2f} s, largest gap {gap:.1e}, peak {found.peak / 2**20:,.0f} MiB\n")
    table(
        ["what", "calls", "seconds", "own seconds", "share: %"],
        [[label, f"{calls:,}", number(seconds), number(own), f"{100 * own / found.seconds:.1f}"]
         for label, calls, seconds, own in rows],
    )  # fmt: skip
    return {label: own / found.seconds for label, _, _, own in rows}


def draw(path, shares):
    """Draw one bar for each case, in parts."""
    figure, (axes,) = grid(1, width=10, height=0.5 * len(shares) + 2.5)
    labels = list(next(iter(shares.values())))
    colours = {label: colormaps["tab20"](number % 20) for number, label in enumerate(labels)} | {labels[-1]: "0.85"}
    left = dict.fromkeys(shares, 0.0)
    for label in labels:
        widths = [100 * shares[name][label] for name in shares]
        axes.barh(list(shares), widths, left=list(left.values()), color=colours[label], label=label)
        left = {name: left[name] + width for name, width in zip(shares, widths, strict=True)}
    axes.invert_yaxis()
    axes.set(xlabel="share of the seconds of fit, %", title="Where the time goes, one thread", xlim=(0, 100))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=4, frameon=False, fontsize=8)
    save(figure, path)


def run(plan):
    """Profile all cases; nothing is wanted of it but to be true."""
    record, shares = plan.record("profile", COLUMNS), {}
    with threads(1):
        for name, fit in main_cases(plan.quick):
            progress(f"profile: {name}")
            shares[name] = profile(name, fit, record)
    draw(plan.out / "profile.png", shares)
    return []
