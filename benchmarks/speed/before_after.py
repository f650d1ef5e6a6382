"""CPU seconds before and after a change: two commits, fresh processes in turns, one thread.

The median of nine runs each (three with --quick), after one run that fills numba's cache. This file is also the script
that is timed, with PYTHONPATH=TREE/src of each commit, so it starts without other modules of benchmarks/ and uses the
public interface only. A task loads its data, compiles by a small run, and returns what is timed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import numpy as np

import fbtwsvm
from fbtwsvm import FBTWSVM

HERE = Path(__file__).resolve().parents[2]
STREAM = {"feature_map": "fourier", "n_components": 200, "gamma": "scale", "memory": 200, "random_state": 0}


def load(name, *keys):
    with np.load(Path(os.environ["FBTWSVM_DATA"]) / f"{name}.npz") as data:
        return [data[key] for key in keys]


def mnist_model(n_components=1_000):
    return FBTWSVM(feature_map="nystroem", n_components=n_components, gamma=0.02, random_state=0, n_jobs=1)


def fit_mnist(quick):
    X, y = load("mnist", "X_train", "y_train")
    rows = 12_000 if quick else len(y)
    X, y = X[:rows].astype(np.float32) / np.float32(255), y[:rows]
    mnist_model(200).fit(X[:1_000], y[:1_000])
    return lambda: mnist_model().fit(X, y)


def predict_mnist(quick):
    X, y, X_test = load("mnist", "X_train", "y_train", "X_test")
    X, X_test = (part.astype(np.float32) / np.float32(255) for part in (X[:5_000], X_test))
    model = mnist_model().fit(X, y[:5_000])
    model.predict(X_test[:100])
    return lambda: model.predict(X_test)


def fit_coil(quick):
    X, y = load("coil", "X_train", "y_train")
    X, few = X.astype(np.float32), y < 6
    options = {"feature_map": "fourier", "n_components": 400, "gamma": 20.0, "C": 4.0, "mu": 0.1, "random_state": 0}
    FBTWSVM(**options, n_jobs=1).fit(X[few], y[few])
    return lambda: FBTWSVM(**options, n_jobs=1).fit(X, y)


def fit_sea_chunks(quick):
    X, y = load("synthetic/SEA_1M", "X", "y")
    X = (X[:200_000] / 10.0).astype(np.float32)
    chunks = [(X[first : first + 10_000], y[first : first + 10_000]) for first in range(0, len(X), 10_000)]
    options = {"feature_map": "fourier", "n_components": 300, "gamma": 0.3, "random_state": 0, "n_jobs": 1}
    FBTWSVM(**options).fit(chunks[:2])
    return lambda: FBTWSVM(**options).fit(chunks)


def sea(quick):
    X, y = load("streams/sea50k_drift", "X", "y")
    return (X[: 25_000 if quick else 50_000] / 10.0).astype(np.float32), y[: 25_000 if quick else 50_000]


def stream(quick, learn, **options):
    """Return the test-then-train run of a stream; `learn(model, X, y)` knows in which pieces."""
    X, y = sea(quick)
    learn(FBTWSVM(**STREAM, **options), X[:1_500], y[:1_500])
    return lambda: learn(FBTWSVM(**STREAM, **options), X, y)


def blocks_of_100(model, X, y):
    for first in range(0, len(y), 100):
        block = slice(first, first + 100)
        if first:
            model.predict(X[block])
        model.partial_fit(X[block], y[block])


def row_by_row(model, X, y):
    from fbtwsvm.river import RiverFBTWSVM

    model = RiverFBTWSVM(model)
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        model.predict_one(x)
        model.learn_one(x, label)


TASKS = {
    "fit_mnist": fit_mnist,
    "fit_coil": fit_coil,
    "fit_sea_chunks": fit_sea_chunks,
    "predict_mnist": predict_mnist,
    "stream_blocks": lambda quick: stream(quick, blocks_of_100, half_life=660.0),
    "stream_rows": lambda quick: stream(quick, row_by_row, half_life=660.0),
    "stream_auto": lambda quick: stream(quick, blocks_of_100, decay="auto"),
}


@contextmanager
def checked_out(commit):
    """Give the folder of a commit, checked out in a temporary worktree."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base"
        git = ["git", "-C", str(HERE), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def cpu_seconds(tree, task, quick):
    """Run a task with the sources of a tree; returns its CPU seconds."""
    command = [sys.executable, "-P", __file__, task, *(["--quick"] if quick else [])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(command, env=environment, cwd=tree, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    if tree not in Path(found["package"]).resolve().parents:
        raise RuntimeError(f"{found['package']} was imported, which is not below {tree}.")
    return found["seconds"]


def compare(trees, task, repeats, quick):
    from benchmarks.harness.table import progress

    seconds = {name: [] for name in trees}
    for name, tree in trees.items():
        progress(f"{task}, {name}: warm-up")
        cpu_seconds(tree, task, quick)
    for repeat in range(repeats):
        progress(f"{task}, run {repeat + 1} of {repeats}")
        for name, tree in trees.items():
            seconds[name].append(cpu_seconds(tree, task, quick))
    return seconds


def run(plan):
    from benchmarks.harness.table import table

    repeats = plan.repeats or (3 if plan.quick else 9)
    lines = []
    with checked_out(plan.base) as base:
        trees = {"before": base.resolve(), "after": HERE}
        for task in plan.chosen(TASKS):
            seconds = compare(trees, task, repeats, plan.quick)
            before, after = median(seconds["before"]), median(seconds["after"])
            spread = [f"{min(values):.2f} to {max(values):.2f}" for values in seconds.values()]
            lines.append([task, f"{before:.3f}", spread[0], f"{after:.3f}", spread[1], f"{after / before:.3f}"])
    title = f"CPU seconds, one thread, median of {repeats} runs; before: {plan.base}"
    table(["task", "before", "range", "after", "range", "after / before"], lines, title)


if __name__ == "__main__":
    timed = TASKS[sys.argv[1]]("--quick" in sys.argv)
    start = time.process_time()
    timed()
    print(json.dumps({"seconds": time.process_time() - start, "package": fbtwsvm.__file__}))
