"""Prequential accuracy on ten streams, row by row and in blocks of 100, beside river's forest, SGD and the last label.

    FBTWSVM_DATA=... python -m benchmarks.streams [--names elec2,weather] [--rows 60000] [--methods ARF,SGD]

One setting for all: FBTWSVM(decay="auto", random_state=0).  Columns are brought to [0, 1] by the first 500 rows; no
past label is a feature.  Results go to a CSV file as they come, and what is there is not run again.
"""

import argparse
import csv
import os
import time
from pathlib import Path

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from benchmarks.data import load_stream, progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.evaluate import Score, chunked

# name: (rows at most, best of eight peers, row by row)
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
BLOCK = 100


def ours(X, y, size):
    return _blocks(FBTWSVM(decay="auto", random_state=0), X, y, size) if size > 1 else _one_by_one(_river_face(), X, y)


def _river_face():
    from fbtwsvm.river import RiverFBTWSVM

    return RiverFBTWSVM(FBTWSVM(decay="auto", random_state=0))


def forest(X, y, size):
    from river import forest

    model = forest.ARFClassifier(seed=1)
    if size == 1:
        return _one_by_one(model, X, y)
    return _blocks(_Many(model), X, y, size)


class _Many:
    """river's forest with blocks: it predicts a whole block before it learns it."""

    def __init__(self, model):
        self.model = model

    def predict(self, X):
        return np.array([self.model.predict_one(dict(enumerate(x))) for x in X.tolist()])

    def partial_fit(self, X, y):
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(enumerate(x)), label)


def sgd(X, y, size):
    """Stochastic gradient descent on the logistic loss of 300 random Fourier features."""
    features = RBFSampler(gamma=1.0 / (X.shape[1] * X[:500].var()), n_components=300, random_state=0).fit(X[:1])
    model = make_pipeline(SGDClassifier(loss="log_loss", random_state=0))[-1]
    return _blocks(model, features.transform(X), y, size, classes=np.unique(y))


def last_label(X, y, size):
    score = Score(1000)
    score.skip(y[:1])
    score.add(y[1:], y[:-1])
    return score, 0.0


def _one_by_one(model, X, y):
    rows, labels = X.tolist(), y.tolist()
    answers, start = [], time.perf_counter()
    for row, label in zip(rows, labels, strict=True):
        x = dict(enumerate(row))
        answers.append(model.predict_one(x))
        model.learn_one(x, label)
    seconds = time.perf_counter() - start
    score = Score(1000)
    score.skip(labels[:1])
    score.add(labels[1:], answers[1:])
    return score, seconds


def _blocks(model, X, y, size, classes=None):
    score, start = Score(1000), time.perf_counter()
    for number, (rows, labels) in enumerate(chunked(X, y, size)):
        if number == 0:
            score.skip(labels)
        else:
            score.add(labels, model.predict(rows))
        model.partial_fit(rows, labels, **({"classes": classes} if classes is not None and number == 0 else {}))
    return score, time.perf_counter() - start


METHODS = {"last label": last_label, "FBTWSVM": ours, "ARF": forest, "SGD": sgd}
FIELDS = ["stream", "method", "block", "rows", "accuracy", "kappa", "kappa_temporal", "balanced", "rows_per_s"]


def run(name, limit, method, size):
    X, y = load_stream(name, limit)
    X = MinMaxScaler().fit(X[:500]).transform(X).astype(np.float32)
    with threadpool_limits(limits=1, user_api="blas"):
        score, seconds = METHODS[method](X, y, size)
    measures = [round(100 * value, 2) for value in score.all()]
    speed = round(len(y) / seconds) if seconds else ""
    return dict(zip(FIELDS, [name, method, size, len(y), *measures, speed], strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", default=",".join(STREAMS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--rows", type=int, default=None, help="at most so many rows of each stream")
    parser.add_argument("--blocks", default=f"1,{BLOCK}")
    parser.add_argument("--out", default="out/streams.csv")
    options = parser.parse_args()
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    done = list(csv.DictReader(out.open())) if out.exists() else []
    for name in options.names.split(","):
        limit = options.rows or STREAMS[name][0]
        for method in options.methods.split(","):
            for size in map(int, options.blocks.split(",")):
                if any((r["stream"], r["method"], int(r["block"])) == (name, method, size) for r in done):
                    continue
                progress(f"{name}, {method}, blocks of {size}")
                done.append(run(name, limit, method, size))
                with out.open("w", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS)
                    writer.writeheader()
                    writer.writerows(done)
    show(done, options.names.split(","))


def show(done, names):
    for size in sorted({int(row["block"]) for row in done}):
        way = "row by row" if size == 1 else f"blocks of {size}"
        print(f"\nPrequential accuracy (kappa, temporal kappa) in %, {way}\n")
        rows = []
        for name in names:
            found = {row["method"]: row for row in done if row["stream"] == name and int(row["block"]) == size}
            speed = [found[m]["rows_per_s"] if m in found else "-" for m in ("FBTWSVM", "ARF", "SGD")]
            rows.append([name, STREAMS[name][1], *(cell(found.get(method)) for method in METHODS), *speed])
        table(["stream", "to beat (row by row)", *METHODS, "rows/s: FBTWSVM", "ARF", "SGD"], rows)


def cell(row):
    """Accuracy with both kappas, from a row of the CSV file."""
    if row is None:
        return "-"
    accuracy, kappa, temporal = (float(row[name]) for name in ("accuracy", "kappa", "kappa_temporal"))
    return f"{accuracy:.1f} ({kappa:.0f}, {temporal:.0f})"


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
