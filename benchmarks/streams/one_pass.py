"""One pass over shuffled rows against `fit` on the same map: accuracy, kept rows, bytes; and chunks of 1 to 1,000.

The map is fitted on the first rows of the shuffled training part and serves both. gamma and C of letter are those that
`nystroem` chose on its training part, gamma of border and overlap is the paper's.
"""

import numpy as np
from sklearn.frozen import FrozenEstimator

from benchmarks.harness.data import shuffled
from benchmarks.harness.internals import inspect
from benchmarks.harness.measure import learn_chunks, seconds_of
from benchmarks.harness.table import progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.features import FourierFeatures, NystroemFeatures

# data: (map, features, gamma, chunk, wanted, parameters)
SETTINGS = {
    "border": (FourierFeatures, 150, 0.4, 100, "", {"memory": 50}),
    "letter": (NystroemFeatures, 350, 0.007394, 1000, ">= 97.0", {"memory": 50, "C": 3.0}),
    "mnist": (NystroemFeatures, 1000, 0.02, 5000, ">= 98.0", {"memory": 300}),
    "overlap": (FourierFeatures, 500, 0.4, 100, "", {"memory": 100, "second_look": 300}),
}


def model_for(name, X, seed):
    """Return an unfitted model whose map knows the first rows only."""
    kind, count, gamma, _, _, options = SETTINGS[name]
    features = kind(gamma=gamma, n_components=count, random_state=seed).fit(X[: max(500, 2 * count)])
    return FBTWSVM(feature_map=FrozenEstimator(features), random_state=seed, **options)


def one_pass(name, seed, rows):
    """Return accuracy of fit and of one pass, kept rows, bytes of state, seconds of fit and of the pass."""
    X, y, X_test, y_test = shuffled(name, seed)
    X, y, size = X[:rows], y[:rows], SETTINGS[name][3]
    batch, stream = model_for(name, X, seed), model_for(name, X, seed)
    fit_s = seconds_of(batch.fit, X, y)
    learn_chunks(model_for(name, X, seed), X[:size], y[:size], size)  # compiles
    pass_s = seconds_of(learn_chunks, stream, X, y, size)
    held = inspect(stream)
    scores = [100 * model.score(X_test, y_test) for model in (batch, stream)]
    return *scores, held.kept, held.bytes / 2**20, fit_s, pass_s, len(y)


def passes(plan):
    seeds, lines = plan.seeds or plan.pick(5, 1), []
    for name in plan.chosen(SETTINGS, ["border"]):
        progress(name)
        found = np.array([one_pass(name, seed, plan.pick(None, 800)) for seed in range(seeds)])
        batch, stream, kept, size, fit_s, pass_s, rows = found.mean(axis=0)
        difference = f"{stream - batch:+.2f} +- {np.std(found[:, 1] - found[:, 0]):.2f}"
        cells = [f"{batch:.2f}", f"{stream:.2f}", difference, SETTINGS[name][4], f"{kept:.0f} of {rows:.0f}"]
        lines.append([name, *cells, f"{size:.1f}", f"{fit_s:.1f}", f"{pass_s:.1f}"])
    header = ["data", "fit", "one pass", "difference", "wanted", "kept rows", "MiB of state", "fit: s", "pass: s"]
    table(header, lines, f"One pass, shuffled, mean of {seeds} seeds (wanted: at most 0.4 below fit)")


def chunk_sizes(plan):
    seeds, lines = min(plan.seeds or 3, plan.pick(3, 1)), []
    rows = plan.pick(4_000, 800)
    for name in plan.chosen(("border", "letter"), ["border"]):
        found = []
        for size in (1, 10, 100, 1_000):
            progress(f"{name}, chunks of {size}")
            scores = []
            for seed in range(seeds):
                X, y, X_test, y_test = shuffled(name, seed)
                model = learn_chunks(model_for(name, X, seed), X[:rows], y[:rows], size)
                scores.append(100 * model.score(X_test, y_test))
            found.append(np.mean(scores))
        lines.append([name, *(f"{score:.2f}" for score in found), f"{max(found) - min(found):.2f}"])
    title = f"Test accuracy after {rows:,} rows in chunks, mean of {seeds} seeds (wanted: range at most 0.5)"
    table(["data", "1", "10", "100", "1,000", "range"], lines, title)


def run(plan):
    passes(plan)
    chunk_sizes(plan)
