"""Speed of test-then-train on SEA with drift, one thread: ours, river's forest, SGD on random features."""

import numpy as np

from benchmarks.harness.data import gamma_scale, load_stream, unit_columns
from benchmarks.harness.measure import run_prequential, threads
from benchmarks.harness.table import progress, table
from benchmarks.rivals.methods import RiverModel, arf, fourier_sgd
from fbtwsvm import FBTWSVM
from fbtwsvm.river import RiverFBTWSVM

OPTIONS = {"feature_map": "fourier", "n_components": 200, "gamma": "scale", "memory": 200, "random_state": 0}
SPEEDS = {"FBTWSVM, half_life=660": {"half_life": 660.0}, 'FBTWSVM, decay="auto"': {"decay": "auto"}}


def runs(X):
    """Return (way, model): block size, maker."""
    found = {}
    for name, options in SPEEDS.items():
        found["blocks of 100", name] = 100, lambda o=options: FBTWSVM(**OPTIONS, **o)
    found["blocks of 100", "SGD"] = 100, lambda: fourier_sgd(gamma_scale(X[:500]), 200, 0, loss="log_loss")
    for name, options in SPEEDS.items():
        found["row by row", name] = 1, lambda o=options: RiverModel(RiverFBTWSVM(FBTWSVM(**OPTIONS, **o)))
    found["row by row", "ARF"] = 1, lambda: arf(1)
    return found


def run(plan):
    X, y = load_stream("sea50k_drift", plan.pick(50_000, 1_500))
    X, classes = unit_columns(X), np.unique(y)
    speeds, accuracy = {key: [] for key in runs(X)}, {}
    repeats = plan.repeats or plan.pick(3, 1)
    with threads(1):
        for size, make in runs(X).values():
            run_prequential(make(), X[:1_500], y[:1_500], size, classes)  # compiles
        for repeat in range(repeats):
            for key, (size, make) in runs(X).items():
                progress(f"repeat {repeat}, {', '.join(key)}")
                last = run_prequential(make(), X, y, size, classes)
                speeds[key].append(last.rows_per_second)
                accuracy[key] = f"{100 * last.accuracy:.1f}"
    forest = np.median(speeds["row by row", "ARF"])
    lines = []
    for key, own in speeds.items():
        cells = [f"{np.median(own):,.0f}", f"{min(own):,.0f} to {max(own):,.0f}", f"{np.median(own) / forest:.1f}"]
        lines.append([*key, *cells, accuracy[key]])
    title = f"sea50k_drift, {len(y):,} rows, 200 features, test then train, one thread, {repeats} repeats\n"
    title += "(wanted with half_life=660: blocks >= 35 times the forest, row by row >= 3 times)"
    table(["", "model", "rows/s", "range", "times ARF", "accuracy"], lines, title)
