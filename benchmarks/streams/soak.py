"""Millions of rows of SEA, with decay and with cycles of learning and unlearning: how exact the model still is."""

import time

import numpy as np

from benchmarks.harness.data import load_stream
from benchmarks.harness.internals import distance_to_fresh_solve, smallest_eigenvalue
from benchmarks.harness.table import progress, table
from fbtwsvm import FBTWSVM

CHUNK = 5000
OPTIONS = {"feature_map": "fourier", "n_components": 100, "gamma": "scale", "memory": 100, "tol": 1e-8}


def soak(X, y, n, name, options, *, unlearn):
    """Learn n rows, again and again the same; returns a line of the table."""
    model = FBTWSVM(**OPTIONS, max_iter=100_000, **options)
    start, smallest = time.perf_counter(), np.inf
    for learned in range(0, n, CHUNK):
        first = learned % (len(y) - CHUNK)
        rows = np.arange(first, first + CHUNK)
        model.partial_fit(X[rows], y[rows])
        if unlearn and learned:
            model.unlearn(X[rows[::50]], y[rows[::50]])
        if learned % (100 * CHUNK) == 0 or learned + CHUNK >= n:
            smallest = min(smallest, smallest_eigenvalue(model))
            progress(f"{name}: {learned:,} rows")
    seconds = time.perf_counter() - start
    return [name, f"{n:,}", f"{smallest:.2e}", f"{distance_to_fresh_solve(model):.1e}", f"{seconds:.0f}"]


def run(plan):
    X, y = load_stream("SEA_1M")
    X, n = (X / 10.0).astype(np.float64), plan.pick(5_000_000, 50_000)
    lines = [
        soak(X, y, n, "half_life=20,000", {"half_life": 20_000.0}, unlearn=False),
        soak(X, y, n, "learn and unlearn", {}, unlearn=True),
    ]
    title = "SEA: smallest eigenvalue of G over the ridge (wanted: positive; exact sums give at least 1), and the\n"
    title += "relative distance of the planes to a fresh solve from the same sums (wanted: at most 1e-4)"
    table(["run", "rows", "smallest eigenvalue", "distance", "s"], lines, title)
