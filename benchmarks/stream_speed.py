"""Prequential speed, one thread, side by side: FBTWSVM, river's adaptive random forest, SGD on random features.

FBTWSVM_DATA=... python -m benchmarks.stream_speed [--rows 50000] [--repeats 3]
"""

import argparse
import time

import numpy as np
from river import forest
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from benchmarks.data import load_stream, progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.evaluate import chunked
from fbtwsvm.river import RiverFBTWSVM

OPTIONS = {"feature_map": "fourier", "n_components": 200, "gamma": "scale", "memory": 200, "random_state": 0}
MODELS = {
    "FBTWSVM, half_life=660": {"half_life": 660.0},
    'FBTWSVM, decay="auto"': {"decay": "auto"},
}


class SGDOnFeatures:
    """Stochastic gradient descent on 200 random Fourier features."""

    def __init__(self, X, classes):
        self.features = RBFSampler(gamma=1.0 / (X.shape[1] * X.var()), n_components=200, random_state=0).fit(X[:1])
        self.model, self.classes = SGDClassifier(loss="log_loss", random_state=0), classes

    def predict(self, X):
        """Labels of rows."""
        return self.model.predict(self.features.transform(X))

    def partial_fit(self, X, y):
        """Learn a block."""
        self.model.partial_fit(self.features.transform(X), y, classes=self.classes)


def blocks(model, X, y):
    right, start = 0, time.perf_counter()
    for number, (rows, labels) in enumerate(chunked(X, y, 100)):
        if number:
            right += int((model.predict(rows) == labels).sum())
        model.partial_fit(rows, labels)
    return len(y) / (time.perf_counter() - start), 100 * right / (len(y) - 100)


def one_by_one(model, X, y):
    rows, labels = X.tolist(), y.tolist()
    right, start = 0, time.perf_counter()
    for row, label in zip(rows, labels, strict=True):
        x = dict(enumerate(row))
        right += model.predict_one(x) == label
        model.learn_one(x, label)
    return len(y) / (time.perf_counter() - start), 100 * right / len(y)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    X, y = load_stream("sea50k_drift", options.rows)
    X = MinMaxScaler().fit(X[:500]).transform(X).astype(np.float32)
    runs = {name: lambda o=o: blocks(FBTWSVM(**OPTIONS, **o), X, y) for name, o in MODELS.items()}
    runs["SGD"] = lambda: blocks(SGDOnFeatures(X[:500], np.unique(y)), X, y)
    singles = {name: lambda o=o: one_by_one(RiverFBTWSVM(FBTWSVM(**OPTIONS, **o)), X, y) for name, o in MODELS.items()}
    singles["ARF"] = lambda: one_by_one(forest.ARFClassifier(seed=1), X, y)
    with threadpool_limits(limits=1, user_api="blas"):
        for run in [*runs.values(), *list(singles.values())[:-1]]:
            run()  # compile and warm up
        measured = {
            (kind, name): [] for kind, part in (("blocks of 100", runs), ("row by row", singles)) for name in part
        }
        for repeat in range(options.repeats):
            for kind, part in (("blocks of 100", runs), ("row by row", singles)):
                for name, run in part.items():
                    progress(f"repeat {repeat}, {kind}, {name}")
                    measured[kind, name].append(run())
    forest_speed = np.median([speed for speed, _ in measured["row by row", "ARF"]])
    rows = []
    for (kind, name), found in measured.items():
        speeds = [speed for speed, _ in found]
        spread = f"{min(speeds):,.0f} to {max(speeds):,.0f}"
        ratio = f"{np.median(speeds) / forest_speed:.1f}"
        rows.append([kind, name, f"{np.median(speeds):,.0f}", spread, ratio, f"{found[0][1]:.1f}"])
    print(f"sea50k_drift, {options.rows:,} rows, 200 features, test then train, one thread, {options.repeats} repeats")
    print("wanted with half_life=660: blocks >= 35 times the forest, row by row >= 3 times\n")
    table(["", "model", "rows/s", "range", "times ARF", "accuracy"], rows)


if __name__ == "__main__":
    main()
