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
COLUMNS = ("way", "model", "repeat", "rows_s", "accuracy")


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
    record = plan.record("stream_speed", COLUMNS)
    repeats = plan.repeats or plan.pick(3, 1)
    with threads(1):
        for size, make in runs(X).values():
            run_prequential(make(), X[:1_500], y[:1_500], size, classes)  # compiles
        for repeat in range(repeats):
            for (way, name), (size, make) in runs(X).items():
                progress(f"repeat {repeat}, {way}, {name}")
                last = run_prequential(make(), X, y, size, classes)
                record.add(way=way, model=name, repeat=repeat, rows_s=last.rows_per_second, accuracy=last.accuracy)
    forest = np.median([row["rows_s"] for row in record.select(model="ARF")])
    lines = []
    for way, name in runs(X):
        own = record.select(way=way, model=name)
        speeds = [row["rows_s"] for row in own]
        spread, faster = f"{min(speeds):,.0f} to {max(speeds):,.0f}", f"{np.median(speeds) / forest:.1f}"
        lines.append([way, name, f"{np.median(speeds):,.0f}", spread, faster, f"{100 * own[0]['accuracy']:.1f}"])
    title = f"sea50k_drift, {len(y):,} rows, 200 features, test then train, one thread, {repeats} repeats\n"
    title += "(wanted with half_life=660: blocks >= 35 times the forest, row by row >= 3 times)"
    table(["", "model", "rows/s", "range", "times ARF", "accuracy"], lines, title)
