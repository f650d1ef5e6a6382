"""How seconds and memory of fit grow with rows: SEA, 300 Fourier features, rows in memory, one thread."""

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.data import load_stream
from benchmarks.harness.measure import Times, measured, threads
from benchmarks.harness.table import mebibytes, progress, table
from benchmarks.rivals.methods import largest_gap
from fbtwsvm import FBTWSVM


def exponent(sizes, values):
    """Return b of the least-squares line log(value) = a + b log(size)."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def run(plan):
    sizes = plan.pick((1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000), (200, 400, 800))
    options = {"feature_map": "fourier", "n_components": plan.pick(300, 20), "gamma": 0.3, "random_state": 0}
    X, y = load_stream("SEA_1M", sizes[-1])
    X = StandardScaler().fit_transform(X)
    seconds, peaks, lines = [], [], []
    with threads(1):
        for n in sizes:
            progress(f"growth: {n:,} rows")
            FBTWSVM(n_jobs=1, **options).fit(X[:n], y[:n])  # compiles
            repeats = plan.repeats or plan.pick(3, 1)
            runs = [measured(lambda n=n: FBTWSVM(n_jobs=1, **options).fit(X[:n], y[:n])) for _ in range(repeats)]
            times = Times([found.seconds for found in runs])
            seconds.append(times.least)
            peaks.append(max(found.peak for found in runs))
            lines.append([f"{n:,}", times, mebibytes(peaks[-1]), f"{largest_gap(runs[-1].result):.1e}"])
    title = "Growth with rows, one thread: best (and worst) of the rounds"
    table(["rows", "seconds of fit", "peak: MiB", "gap"], lines, title)
    large = slice(plan.pick(2, 0), None)  # from 10,000 rows on
    slopes = [f"{exponent(sizes[large], np.maximum(values[large], 1e-9)):.2f}" for values in (seconds, peaks)]
    title = "Exponents: seconds and peak bytes grow as rows to the power of ... (wanted: at most 1.1)"
    table(["rows", "seconds", "bytes"], [[f"{sizes[large][0]:,} to {sizes[-1]:,}", *slopes]], title)
