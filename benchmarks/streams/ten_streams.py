"""Prequential accuracy on ten streams, row by row and in blocks of 100, beside river's forest, SGD and the last label.

One setting for all: FBTWSVM(decay="auto", random_state=0). Columns are brought to [0, 1] by the first 500 rows; no
past label is a feature. --resume keeps what is finished.
"""

import numpy as np

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
METHODS = ("last label", "FBTWSVM", "ARF", "SGD")
MEASURES = ("accuracy", "kappa", "kappa_temporal", "balanced_accuracy")
COLUMNS = ("stream", "method", "block", "rows", *MEASURES, "rows_per_second")


class LastLabel:
    """The guess that a row has the label of the row before it."""

    def predict(self, X):
        """Return the last label."""
        return np.repeat(self.last, len(X))

    def partial_fit(self, X, y, classes=None):
        """Remember the last label."""
        self.last = y[-1:]


def make(method, size, X):
    if method == "last label":
        return LastLabel()
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
    measures = {measure: 100 * getattr(last, measure) for measure in MEASURES}
    record.add(stream=name, method=method, block=size, rows=len(y), rows_per_second=last.rows_per_second, **measures)


def cell(rows):
    """Return accuracy with both kappas."""
    return f"{rows[0]['accuracy']:.1f} ({rows[0]['kappa']:.0f}, {rows[0]['kappa_temporal']:.0f})"


def report(record, names):
    for size, way in ((1, "row by row"), (100, "blocks of 100")):
        lines = []
        for name in names:
            blocks = {method: 1 if method == "last label" else size for method in METHODS}
            found = {m: record.select(stream=name, method=m, block=block) for m, block in blocks.items()}
            speeds = [f"{found[m][0]['rows_per_second']:.0f}" for m in METHODS[1:]]
            lines.append([name, STREAMS[name][1], *(cell(rows) for rows in found.values()), *speeds])
        header = ["stream", "to beat (row by row)", *METHODS, "rows/s: FBTWSVM", "ARF", "SGD"]
        table(header, lines, f"Prequential accuracy (kappa, temporal kappa) in %, {way}")


def run(plan):
    record = plan.record("ten_streams", COLUMNS)
    names = plan.chosen(STREAMS, ["keystroke"])
    for name in names:
        for method in METHODS:
            for size in (1,) if method == "last label" else (1, 100):
                if not record.select(stream=name, method=method, block=size):
                    measure(record, name, method, size, plan.pick(STREAMS[name][0], 1_000))
    report(record, names)
