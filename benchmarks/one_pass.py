"""One pass over shuffled rows against `fit` on the same map: accuracy, kept rows, bytes; and chunks of 1 to 1,000.

    FBTWSVM_DATA=... python -m benchmarks.one_pass [pass|chunks] [--names border,letter] [--seeds 5]

The map is fitted on the first rows of the shuffled training part and serves both.  gamma and C of letter are those that
benchmarks.nystroem chose on its training part, gamma of border and overlap is the paper's.
"""

import argparse
import time

import numpy as np
from sklearn.frozen import FrozenEstimator

from benchmarks.data import load, progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.features import FourierFeatures, NystroemFeatures

# name: (map, features, gamma, chunk, wanted, parameters)
SETTINGS = {
    "border": (FourierFeatures, 150, 0.4, 100, "", {"memory": 50}),
    "letter": (NystroemFeatures, 350, 0.007394, 1000, ">= 97.0", {"memory": 50, "C": 3.0}),
    "mnist": (NystroemFeatures, 1000, 0.02, 5000, ">= 98.0", {"memory": 300}),
    "overlap": (FourierFeatures, 500, 0.4, 100, "", {"memory": 100, "second_look": 300}),
}


def shuffled(name, seed):
    X, y, X_test, y_test = load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], X_test, y_test


def model_for(name, X, seed):
    """Return an unfitted model whose map has seen the first rows only."""
    kind, count, gamma, _, _, options = SETTINGS[name]
    features = kind(gamma=gamma, n_components=count, random_state=seed).fit(X[: max(500, 2 * count)])
    return FBTWSVM(feature_map=FrozenEstimator(features), random_state=seed, **options)


def learn(model, X, y, size):
    for first in range(0, len(y), size):
        model.partial_fit(X[first : first + size], y[first : first + size])
    return model


def one_pass(names, seeds):
    rows = []
    for name in names:
        size, wanted = SETTINGS[name][3:5]
        scores, times, kept, held = [], [], [], []
        for seed in range(seeds):
            progress(f"{name}, seed {seed}")
            X, y, X_test, y_test = shuffled(name, seed)
            model = model_for(name, X, seed)
            start = time.perf_counter()
            batch = 100 * model.fit(X, y).score(X_test, y_test)
            middle = time.perf_counter()
            learn(model_for(name, X, seed), X[:size], y[:size], size)  # compile before the clock runs
            begin = time.perf_counter()
            stream = learn(model_for(name, X, seed), X, y, size)
            times.append((middle - start, time.perf_counter() - begin))
            scores.append((batch, 100 * stream.score(X_test, y_test)))
            report = stream.memory_report()
            kept.append(len(report.rows["id"]))
            held.append(report.total_bytes)
        batch, stream = np.mean(scores, axis=0)
        fit_s, pass_s = np.mean(times, axis=0)
        spread = np.std(np.diff(scores, axis=1))
        rows.append(
            [
                name,
                f"{batch:.2f}",
                f"{stream:.2f}",
                f"{stream - batch:+.2f} +- {spread:.2f}",
                wanted,
                f"{np.mean(kept):.0f} of {len(y)}",
                f"{np.mean(held) / 2**20:.1f}",
                f"{fit_s:.1f}",
                f"{pass_s:.1f}",
            ]
        )
    print(f"One pass, shuffled, mean of {seeds} seeds; wanted: at most 0.4 below fit\n")
    table(["data", "fit", "one pass", "difference", "wanted", "kept rows", "MiB of state", "fit: s", "pass: s"], rows)


def chunks(seeds):
    rows = []
    for name in ("border", "letter"):
        found = []
        for size in (1, 10, 100, 1000):
            progress(f"{name}, chunks of {size}")
            scores = []
            for seed in range(seeds):
                X, y, X_test, y_test = shuffled(name, seed)
                model = learn(model_for(name, X, seed), X[:4000], y[:4000], size)
                scores.append(100 * model.score(X_test, y_test))
            found.append(np.mean(scores))
        rows.append([name, *(f"{score:.2f}" for score in found), f"{max(found) - min(found):.2f}"])
    print(f"\nTest accuracy after 4,000 rows in chunks, mean of {seeds} seeds; wanted: range at most 0.5\n")
    table(["data", "1", "10", "100", "1,000", "range"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=["pass", "chunks", "all"], default="all")
    parser.add_argument("--names", default=",".join(SETTINGS))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    if options.part in ("pass", "all"):
        one_pass(options.names.split(","), options.seeds)
    if options.part in ("chunks", "all"):
        chunks(min(options.seeds, 3))


if __name__ == "__main__":
    main()
