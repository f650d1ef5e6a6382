"""How seconds and memory grow: with rows, features and classes; rows a second of partial_fit against the chunk size."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from river.forest import ARFClassifier
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.bench import chunks
from benchmarks.bench.measure import exponent, mebibytes, number, threads
from benchmarks.bench.memory import measured, too_large
from benchmarks.bench.plan import at_most
from benchmarks.bench.plots import Lines, draw_lines
from benchmarks.bench.rivals import LINEAR, METHODS, ONE_PASS, OURS, fit_noting, gap
from benchmarks.data import load, load_stream, progress, table
from fbtwsvm import FBTWSVM

GAMMA, FEATURES = 0.3, 300
SVC_ROWS = 10_000  # the most that SVC is asked to take
ONE_BY_ONE = 2_000  # rows that chunks of one row and the forest learn
WARM_ROWS = 10_000  # beyond them nothing is run for the first time
KNOWN_FIRST = 1_000  # rows learned before the clock starts, so that a stream's warm-up is over
COLUMNS = ("section", "method", "size", "rows", "repeat", "seconds", "peak_bytes", "gap", "unconverged")


@dataclass(frozen=True)
class Section:
    """One thing that grows.

    `runs(size)` returns by method how many rows it learns at that size, and a function that makes ready what is then
    measured.
    """

    name: str
    across: str
    sizes: tuple[int, ...]
    runs: Callable[[int], dict[str, tuple[int, Callable[[], Any]]]]


def fitting(make, X, y):
    """Return what makes a fit ready; nothing is to be done before it."""
    return lambda: lambda: fit_noting(make(), X, y)


def ours(**settings):
    """Return our model with Fourier features, which owe nothing to the rows."""
    return FBTWSVM(**{"feature_map": "fourier", "n_components": FEATURES, "gamma": GAMMA, "random_state": 0,
                      "n_jobs": 1, **settings})  # fmt: skip


def sea(limit):
    """Return the first rows of SEA, standardised."""
    X, y = load_stream("SEA_1M", limit)
    return StandardScaler().fit_transform(X), y


def by_rows(plan):
    """SEA, 300 features: ours, SVC as far as it goes, SGD in one pass and LinearSVC."""
    sizes = (200, 400, 800) if plan.quick else (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    X, y = sea(sizes[-1])
    n_features = 20 if plan.quick else FEATURES

    def runs(n):
        models = {OURS: lambda: ours(n_components=n_features)}
        if n <= SVC_ROWS:
            models["SVC"] = lambda: SVC(gamma=GAMMA)
        for name in (ONE_PASS, LINEAR):
            if too_large(n * n_features * METHODS[name].bytes_per_value):
                print(f"{name} is left out at {n:,} rows: there is not enough memory free.")
            else:
                models[name] = lambda name=name: METHODS[name].make(GAMMA, n_features, 0)
        return {name: (n, fitting(make, X[:n], y[:n])) for name, make in models.items()}

    return Section("rows", "rows", sizes, runs)


def by_features(plan):
    """10,000 rows of mnist with more and more landmarks: ours, and LinearSVC on the same kind of map."""
    sizes = (20, 40) if plan.quick else (100, 200, 400, 800, 1_600, 4_000)
    X, y, _, _ = load("mnist")
    n = 300 if plan.quick else 10_000
    X, y = X[:n], y[:n]

    def runs(m):
        names = (OURS, LINEAR)
        return {name: (n, fitting(lambda name=name: METHODS[name].make(0.02, m, 0), X, y)) for name in names}

    return Section("features", "features", sizes, runs)


def by_classes(plan):
    """Clouds of 200 rows in 20 columns, one for each class: ours with 200 features, and SVC."""
    sizes = (2, 4) if plan.quick else (2, 5, 10, 20, 50, 100)
    each, n_features = (30, 20) if plan.quick else (200, 200)

    def runs(k):
        X, y = make_blobs(each * k, n_features=20, centers=k, cluster_std=5.0, random_state=0)
        X = StandardScaler().fit_transform(X).astype(np.float32)
        models = {OURS: lambda: ours(n_components=n_features, gamma=1 / 20), "SVC": lambda: SVC(gamma=1 / 20)}
        return {name: (len(X), fitting(make, X, y)) for name, make in models.items()}

    return Section("classes", "classes", sizes, runs)


def by_chunk(plan):
    """partial_fit of SEA in chunks: the smaller they are the fewer rows; river's forest learns row by row."""
    sizes = (1, 20, 200) if plan.quick else (1, 10, 100, 1_000, 10_000, 100_000)
    single, known = (60, 600) if plan.quick else (ONE_BY_ONE, KNOWN_FIRST)
    most = 200 if plan.quick else 100_000
    X, y = sea(known + most)

    def learned_first(size, n):
        model = ours(n_components=20 if plan.quick else FEATURES).partial_fit(X[:known], y[:known])
        parts = [slice(i, min(i + size, known + n)) for i in range(known, known + n, size)]

        def go():
            for part in parts:
                model.partial_fit(X[part], y[part])
            return model, False

        return go

    def forest():
        model = ARFClassifier(seed=0)
        for row, label in zip(X[:single].tolist(), y[:single].tolist(), strict=True):
            model.learn_one(dict(enumerate(row)), label)
        return model, False

    def runs(size):
        n = min(most, single * size)
        found = {OURS: (n, lambda: learned_first(size, n))}
        return found | ({"ARF, row by row": (single, lambda: forest)} if size == 1 else {})

    return Section("chunk size", "rows in a chunk", sizes, runs)


def sweep(section, plan, record):
    """Measure a section: at each size the methods in turns, so many rounds."""
    for size in section.sizes:
        progress(f"growth with {section.name}: {size:,}")
        runs = section.runs(size)
        for rows, ready in runs.values():
            if rows <= WARM_ROWS:
                ready()()  # compile, and wake what is slow the first time
        for repeat in range(plan.repeats):
            for method, (rows, ready) in runs.items():
                found = measured(ready())
                model, unconverged = found.result
                record.add(section=section.name, method=method, size=size, rows=rows, repeat=repeat,
                           seconds=found.seconds, peak_bytes=found.peak, gap=gap(model),
                           unconverged=int(unconverged))  # fmt: skip
                del found, model


def points(record, section, method):
    """Return sizes with least and largest seconds, peak bytes and rows, in the order of the sizes."""
    rows = record.select(section=section, method=method)
    found = []
    for size in sorted({row["size"] for row in rows}):
        own = [row for row in rows if row["size"] == size]
        seconds = [row["seconds"] for row in own]
        gaps = [row["gap"] for row in own if row["gap"] is not None]
        found.append((size, min(seconds), max(seconds), max(row["peak_bytes"] for row in own), own[0]["rows"],
                      max(gaps, default=None)))  # fmt: skip
    return found


def report(record, section):
    """Print a section's table and return its panels: seconds (or rows a second) and memory."""
    speeds = section.name == "chunk size"
    methods = list(dict.fromkeys(row["method"] for row in record.select(section=section.name)))
    up = Lines(f"against {section.name}", section.across, "rows a second" if speeds else "seconds of fit")
    memory = Lines(f"memory against {section.name}", section.across, "peak memory, MiB")
    lines = []
    for method in methods:
        for size, least, most, peak, rows, largest in points(record, section.name, method):
            values = (rows / least, rows / most, rows / least) if speeds else (least, least, most)
            up.series.setdefault(method, []).append((size, *values))
            memory.series.setdefault(method, []).append((size, *[max(peak, 2**10) / 2**20] * 3))
            shown = f"{rows / least:,.0f} ({rows / most:,.0f})" if speeds else f"{number(least)} ({number(most)})"
            lines.append([f"{size:,}", method, f"{rows:,}", shown, mebibytes(peak),
                          "-" if largest is None else f"{largest:.1e}"])  # fmt: skip
    print(f"\nGrowth with {section.name}, one thread: best (and worst) of the rounds\n")
    table([section.across, "method", "rows", up.up, "peak: MiB", "gap"], lines)
    return [up, memory]


def exponents(record, sections, low):
    """Print how seconds and bytes grow; for rows from `low` on, where a method has more than one such size.

    Returns that of our seconds in rows, with the sizes it was found from.
    """
    lines, found = [], (float("nan"), "-")
    for section in sections:
        for method in dict.fromkeys(row["method"] for row in record.select(section=section.name)):
            every = points(record, section.name, method)
            used = [point for point in every if section.name != "rows" or point[0] >= low]
            used = used if len(used) > 1 else every
            sizes, seconds, peaks = [p[0] for p in used], [p[1] for p in used], [max(p[3], 1) for p in used]
            slope, extent = exponent(sizes, seconds), f"{sizes[0]:,} to {sizes[-1]:,}"
            found = (slope, extent) if (section.name, method) == ("rows", OURS) else found
            lines.append([section.name, method, extent, f"{slope:.2f}", f"{exponent(sizes, peaks):.2f}"])
    print("\nExponents: seconds and peak bytes grow as size to the power of ...\n")
    table(["with", "method", "sizes", "seconds", "bytes"], lines)
    return found


def run(plan):
    """Measure all sections, then the fit of chunks."""
    record = plan.record("growth", COLUMNS)
    panels, grown = [], []
    with threads(1):
        for make in (by_rows, by_features, by_classes, by_chunk):
            section = make(plan)
            sweep(section, plan, record)
            panels += report(record, section)
            if make is not by_chunk:
                grown.append(section)
        slope, extent = exponents(record, grown, 0 if plan.quick else 10_000)
    wanted = [at_most("growth", f"exponent of seconds in rows, {extent}", slope, 1.1)]
    draw_lines(plan.out / "growth.png", "Growth, one thread", panels)
    return wanted + chunks.run(plan)
