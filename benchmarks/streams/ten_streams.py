"""Prequential accuracy on ten streams, row by row and in blocks of 100, beside river's forest, SGD and the last label.

One setting for all: FBTWSVM(decay="auto", random_state=0). Columns are brought to [0, 1] by the first 500 rows; no
past label is a feature. `speed` has rows a second on SEA with drift, with 200 features for all.
"""

import numpy as np
from sklearn.metrics import cohen_kappa_score

from benchmarks.harness.data import gamma_scale, load_stream, unit_columns
from benchmarks.harness.measure import run_prequential, threads
from benchmarks.harness.table import progress, table
from benchmarks.rivals.methods import RiverModel, arf, fourier_sgd
from fbtwsvm import FBTWSVM
from fbtwsvm.river import RiverFBTWSVM

# stream: (rows at most, best of eight peers, row by row)
STREAMS = {
    "elec2": (None, 84.1),
    "weather": (None, 79.3),
    "sea50k_drift": (None, 88.4),
    "chessboard_drift": (60_000, 93.3),
    "moving_squares_drift": (60_000, 87.6),
    "interchanging_rbf_drift": (60_000, 97.9),
    "keystroke": (None, 94.3),
    "outdoor_stream": (None, 90.2),
    "spam500": (None, 95.4),
    "covtype": (100_000, 93.0),
}
METHODS = ("FBTWSVM", "ARF", "SGD")
MEASURES = ("accuracy", "kappa", "kappa_temporal")
COLUMNS = ("stream", "method", "block", "rows", *MEASURES, "rows_per_second")


def make(method, size, X):
    if method == "ARF":
        return arf(1)
    if method == "SGD":
        return fourier_sgd(gamma_scale(X[:500]), 300, 0, loss="log_loss")
    model = FBTWSVM(decay="auto", random_state=0)
    return RiverModel(RiverFBTWSVM(model)) if size == 1 else model


def measure(record, name, method, size, limit):
    progress(f"{name}, {method}, blocks of {size}")
    X, y = load_stream(name, limit)
    X = unit_columns(X)
    with threads(1):
        last = run_prequential(make(method, size, X), X, y, size, np.unique(y) if method == "SGD" else None)
    found = {measure: 100 * getattr(last, measure) for measure in MEASURES}
    found["rows_per_second"] = last.rows_per_second
    return record.add(stream=name, method=method, block=size, rows=len(y), **found)


def cell(row):
    return f"{row['accuracy']:.1f} ({row['kappa']:.0f}, {row['kappa_temporal']:.0f})"


def last_label(name, limit):
    """Return accuracy and kappa of the guess that a row has the label of the row before it."""
    _, y = load_stream(name, limit)
    return f"{100 * np.mean(y[1:] == y[:-1]):.1f} ({100 * cohen_kappa_score(y[1:], y[:-1]):.0f}, 0)"


def run(plan):
    record = plan.record("ten_streams", COLUMNS)
    lines = {1: [], 100: []}
    for name in plan.chosen(STREAMS, ["keystroke"]):
        limit = plan.pick(STREAMS[name][0], 1_000)
        for size, own in lines.items():
            found = []
            for method in METHODS:
                key = {"stream": name, "method": method, "block": size}
                found.append((record.select(**key) or [measure(record, name, method, size, limit)])[0])
            speeds = [f"{row['rows_per_second']:.0f}" for row in found]
            own.append([name, STREAMS[name][1], last_label(name, limit), *map(cell, found), *speeds])
    header = ["stream", "to beat (row by row)", "last label", *METHODS, "rows/s: FBTWSVM", "ARF", "SGD"]
    for size, way in ((1, "row by row"), (100, "blocks of 100")):
        table(header, lines[size], f"Prequential accuracy (kappa, temporal kappa) in %, {way}")


# stream: accuracy of version 0.5.0, row by row and in blocks of 100
BEFORE = {
    "elec2": (84.8, 69.1), "weather": (81.1, 81.0), "sea50k_drift": (87.7, 87.7), "chessboard_drift": (95.9, 92.7),
    "moving_squares_drift": (96.0, 84.4), "interchanging_rbf_drift": (98.8, 97.9), "keystroke": (93.4, 94.0),
    "outdoor_stream": (93.0, 57.0), "spam500": (97.9, 94.5), "covtype": (94.0, 89.7),
}  # fmt: skip


def ours(plan):
    """Accuracy of FBTWSVM alone, beside version 0.5.0 and the best peer."""
    record, lines = plan.record("ten_streams_ours", COLUMNS), []
    for name in plan.chosen(STREAMS, ["keystroke"]):
        limit, cells = plan.pick(STREAMS[name][0], 1_000), []
        for size, before in zip((1, 100), BEFORE[name], strict=True):
            key = {"stream": name, "method": "FBTWSVM", "block": size}
            row = (record.select(**key) or [measure(record, name, "FBTWSVM", size, limit)])[0]
            cells += [f"{before:.1f}", f"{row['accuracy']:.2f}"]
        lines.append([name, STREAMS[name][1], *cells])
    header = ["stream", "to beat (row by row)", "0.5.0, row by row", "now", "0.5.0, blocks of 100", "now"]
    table(header, lines, 'Prequential accuracy in %, FBTWSVM(decay="auto", random_state=0)')


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


def speed(plan):
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
