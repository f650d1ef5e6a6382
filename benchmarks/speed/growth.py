"""How seconds and memory of fit grow with rows: SEA, 300 features, beside SVC, SGD in one pass and LinearSVC."""

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.harness.data import load_stream
from benchmarks.harness.measure import Times, measured, threads, too_large
from benchmarks.harness.table import mebibytes, optional, progress, table
from benchmarks.rivals.methods import LINEAR, METHODS, ONE_PASS, OURS, fit_noting, largest_gap
from fbtwsvm import FBTWSVM

GAMMA = 0.3
SVC_ROWS = 10_000  # the most that SVC learns
COLUMNS = ("method", "rows", "seconds", "most_s", "peak_bytes", "gap")


def makers(rows, n_features):
    """Return how each method is made that can learn so many rows; Fourier features do not depend on the rows."""
    shape = {"feature_map": "fourier", "n_components": n_features, "gamma": GAMMA, "random_state": 0, "n_jobs": 1}
    found = {OURS: lambda: FBTWSVM(**shape)}
    if rows <= SVC_ROWS:
        found["SVC"] = lambda: SVC(gamma=GAMMA)
    for name in (ONE_PASS, LINEAR):
        if too_large(rows * n_features * METHODS[name].bytes_per_value):
            print(f"{name} is left out at {rows:,} rows: there is not enough memory free.")
        else:
            found[name] = lambda name=name: METHODS[name].make(GAMMA, n_features, 0)
    return found


def measure(record, X, y, n_features, repeats):
    """Measure all methods in turns."""
    methods = makers(len(y), n_features)
    times, peaks, gaps = {name: Times() for name in methods}, {}, {}
    if len(y) <= SVC_ROWS:
        for make in methods.values():
            fit_noting(make(), X, y)  # compiles
    for _ in range(repeats):
        for name, make in methods.items():
            found = measured(lambda make=make: fit_noting(make(), X, y)[0])
            times[name].seconds.append(found.seconds)
            peaks[name], gaps[name] = max(found.peak, peaks.get(name, 0)), largest_gap(found.result)
            del found
    for name, own in times.items():
        record.add(method=name, rows=len(y), seconds=own.least, most_s=own.most, peak_bytes=peaks[name], gap=gaps[name])


def exponent(sizes, values):
    """Return b of the least-squares line log(value) = a + b log(size); nan for a single size."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0]) if len(sizes) > 1 else float("nan")


def report(record, low):
    """Print all sizes, and how seconds and bytes grow from `low` rows on where a method has two such sizes."""
    lines, slopes = [], []
    for method in dict.fromkeys(row["method"] for row in record.rows):
        own = record.select(method=method)
        for row in own:
            seconds = Times([row["seconds"], row["most_s"]])
            lines.append(
                [f"{row['rows']:,}", method, seconds, mebibytes(row["peak_bytes"]), optional(row["gap"], ".1e")]
            )
        large = [row for row in own if row["rows"] >= low]
        used = large if len(large) > 1 else own
        sizes = [row["rows"] for row in used]
        values = [[row["seconds"] for row in used], [max(row["peak_bytes"], 1) for row in used]]
        extent = f"{sizes[0]:,} to {sizes[-1]:,}"
        slopes.append([method, extent, *(f"{exponent(sizes, part):.2f}" for part in values)])
    title = "Growth with rows, one thread: best (and worst) of the rounds"
    table(["rows", "method", "seconds of fit", "peak: MiB", "gap"], lines, title)
    title = "Exponents: seconds and peak bytes grow as rows to the power of ... (wanted: at most 1.1)"
    table(["method", "rows", "seconds", "bytes"], slopes, title)


def run(plan):
    sizes = plan.pick((1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000), (200, 400, 800))
    X, y = load_stream("SEA_1M", sizes[-1])
    X = StandardScaler().fit_transform(X)
    record = plan.record("growth", COLUMNS)
    with threads(1):
        for n in sizes:
            progress(f"growth: {n:,} rows")
            measure(record, X[:n], y[:n], plan.pick(300, 20), plan.repeats or plan.pick(3, 1))
    report(record, plan.pick(10_000, 0))
