"""Rows a second and the longest call of a stream, beside version 0.5.0 (or --base) and adaptive random forests.

Test then train: CPU seconds of predict and partial_fit, one thread, after the first 1,000 rows. Every run is a process
of its own; the versions take turns, and the least time of a few rounds counts. This file is also the script that is
timed, with PYTHONPATH=TREE/src of each version, so it starts without other modules of benchmarks/ and uses the public
interface only.
"""

import gc
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

HERE = Path(__file__).resolve().parents[2]
BASE = "576f704^"  # version 0.5.0
FOUR = "82092a0"  # version 0.11.0, whose committee has four half-lives of one map
FIRST = 1_000  # rows that are not timed
# stream: (classes, rows, what it is)
STREAMS = {
    "hyperplane": (2, 8_000, "a rotating hyperplane of 10 columns"),
    "digits": (10, 7_000, "usps, 4 x 4 means of the pixels"),
    "outdoor_stream": (40, 4_000, "21 columns"),
}
SIZES = (1, 10, 100, 1_000)
DECAYS = (1.0, "auto")
# (classes, chunk): how many times as fast as 0.5.0
WANTED = {(2, 1): 5, (10, 1): 5, (40, 1): 10, (2, 100): 5, (10, 100): 5, (40, 100): 25}
OURS = ("now", "base")
FORESTS = ("river", "capymoa")
COLUMNS = ("stream", "decay", "size", "model", "round", "rows", "seconds", "first_seconds", "longest", "accuracy")


def hyperplane(n):
    """Return rows whose classes are divided by a plane that turns."""
    random = np.random.default_rng(0)
    X, weights, signs, y = random.random((n, 10)), random.random(10), np.ones(10), np.empty(n, dtype=np.int64)
    for i in range(n):
        weights += 0.001 * signs
        y[i] = X[i] @ weights >= 0.5 * weights.sum()
        signs *= np.where(random.random(10) < 0.01, -1.0, 1.0)
    return X, y


def load(name):
    folder = Path(os.environ["FBTWSVM_DATA"])
    if name == "hyperplane":
        X, y = hyperplane(STREAMS[name][1])
    elif name == "outdoor_stream":
        with np.load(folder / "streams" / "outdoor_stream.npz") as data:
            X, y = data["X"], data["y"]
    else:
        with np.load(folder / ("usps.npz" if name == "digits" else f"{name}.npz")) as data:
            X, y = data["X_train"], data["y_train"]
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
        if name == "digits":
            X = X.reshape(-1, 4, 4, 4, 4).mean(axis=(2, 4)).reshape(-1, 16)
    return StandardScaler().fit_transform(X).astype(np.float32), y


class River:
    """river's forest, with arrays of one row."""

    def __init__(self):
        from river import forest

        self.model = forest.ARFClassifier(n_models=10, seed=1)

    def predict(self, X):
        """Return the label of each row."""
        found = [self.model.predict_one(dict(enumerate(x))) for x in X.tolist()]
        return np.array([-1 if label is None else label for label in found])

    def partial_fit(self, X, y):
        """Learn each row."""
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(enumerate(x)), label)


class CapyMOA:
    """CapyMOA's forest, with arrays of one row."""

    def __init__(self, X, y):
        from capymoa.classifier import AdaptiveRandomForestClassifier
        from capymoa.stream import NumpyStream

        self.schema = NumpyStream(X, y).get_schema()
        self.model = AdaptiveRandomForestClassifier(schema=self.schema, ensemble_size=10)

    def predict(self, X):
        """Return the label of each row."""
        from capymoa.core import LabeledInstance

        return np.array([self.model.predict(LabeledInstance.from_array(self.schema, x, 0)) for x in X])

    def partial_fit(self, X, y):
        """Learn each row."""
        from capymoa.core import LabeledInstance

        for x, label in zip(X, y, strict=True):
            self.model.train(LabeledInstance.from_array(self.schema, x, int(label)))


def make(model, decay, X, y):
    if model == "river":
        return River()
    if model == "capymoa":
        return CapyMOA(X, y)
    from fbtwsvm import FBTWSVM

    return FBTWSVM(decay=decay, random_state=0)


def compile_all(model, decay, size):
    """Let everything be compiled, on a stream that is soon learned, and collect what that has left behind."""
    X, y = load("hyperplane")
    first = make(model, decay, X, y)
    for start in range(0, 1_000, 20):
        first.partial_fit(X[start : start + 20], y[start : start + 20])
        first.predict(X[start : start + 1])
    for start in range(1_000, 1_000 + 3 * size, size):
        first.predict(X[start : start + size])
        first.partial_fit(X[start : start + size], y[start : start + size])
    gc.collect()


def run_stream(name, decay, size, model, most, limit):
    """Test and learn a stream chunk by chunk for at most `limit` seconds; return what was measured."""
    X, y = load(name)
    X, y = X[:most], y[:most]
    if model in OURS:
        compile_all(model, decay, size)
    learner, calls, hits, total = make(model, decay, X, y), [], 0, 0.0
    for start in range(0, len(y), size):
        rows, labels = X[start : start + size], y[start : start + size]
        begin = time.process_time()
        if start:
            hits += int((learner.predict(rows) == labels).sum())
        learner.partial_fit(rows, labels)
        calls.append((start, len(labels), time.process_time() - begin))
        total += calls[-1][2]
        if total > limit and start > 1.5 * FIRST:
            break
    timed = [(n, seconds) for start, n, seconds in calls if start >= FIRST]
    last = calls[-1][0] + calls[-1][1]
    return {
        "rows": sum(n for n, _ in timed),
        "seconds": sum(seconds for _, seconds in timed),
        "first_seconds": sum(seconds for start, _, seconds in calls if start < FIRST),
        "longest": max(seconds for _, _, seconds in calls),
        "accuracy": 100 * hits / max(1, last - calls[0][1]),
    }


def measure(tree, *arguments):
    """Run a stream in a process of its own, with the sources of a tree; None if a package is missing."""
    command = [sys.executable, "-P", __file__, *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tree / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, check=False)
    if done.returncode:
        if "No module named 'capymoa'" in done.stderr:
            return None
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def collect(plan, record, runs, rounds, limit, base_rounds=None):
    """Measure all runs, (stream, decay, size, model), in turns; those of the base in the first `base_rounds` rounds."""
    from benchmarks.harness.table import progress
    from benchmarks.speed.before_after import checked_out

    with checked_out(plan.base or BASE) as base:
        trees = {"base": base.resolve()}
        for number in range(rounds):
            for name, decay, size, model in runs:
                key = {"stream": name, "decay": decay, "size": size, "model": model, "round": number}
                if record.select(**key) or (model == "base" and base_rounds and number >= base_rounds):
                    continue
                progress(", ".join(map(str, key.values())))
                most = plan.pick(10**9, 1_600)
                found = measure(trees.get(model, HERE), name, decay, size, model, most, limit)
                if found is not None:
                    record.add(**key, **found)


def run(plan):
    """Rows a second."""
    from benchmarks.harness.table import number, table

    names, rounds = plan.chosen(STREAMS, ["hyperplane"]), plan.repeats or plan.pick(2, 1)
    sizes, record = plan.pick(SIZES, (1, 100)), plan.record("row_speed", COLUMNS)
    runs = [(name, decay, size, model) for name in names for decay in DECAYS for size in sizes for model in OURS]
    runs += [(name, "-", 1, model) for name in names for model in FORESTS]
    collect(plan, record, runs, rounds, plan.limit or 40.0)

    def speed(**key):
        found = [row["rows"] / row["seconds"] for row in record.select(**key) if row["seconds"]]
        return max(found, default=float("nan"))

    lines, forests = [], []
    for name in names:
        for decay in DECAYS:
            for size in sizes:
                key = {"stream": name, "decay": decay, "size": size}
                now, before = speed(**key, model="now"), speed(**key, model="base")
                wanted = WANTED.get((STREAMS[name][0], size))
                cells = [number(before), number(now), f"{now / before:.1f}", "" if wanted is None else f">= {wanted}"]
                lines.append([STREAMS[name][0], decay, size, *cells])
        forests.append([name, *(number(speed(stream=name, model=model)) for model in FORESTS)])
    header = ["classes", "decay", "chunk", "0.5.0: rows/s", "now: rows/s", "times", "wanted"]
    table(header, lines, f"Test then train after the first {FIRST:,} rows, CPU, one thread, best of {rounds} rounds")
    table(["stream", "river", "CapyMOA"], forests, "Adaptive random forests of 10 trees, row by row: rows/s")


def committee(plan):
    """Show what the committee of several maps costs, beside that of four half-lives."""
    from benchmarks.harness.table import table

    names, rounds = plan.chosen(STREAMS, ["hyperplane"]), plan.repeats or plan.pick(3, 1)
    record, sizes = plan.record("committee_cost", COLUMNS), plan.pick((1, 100), (1,))
    runs = [(name, "auto", size, model) for name in names for size in sizes for model in OURS]
    collect(replace(plan, base=plan.base or FOUR), record, runs, rounds, plan.limit or 40.0)
    lines = []
    for name in names:
        for size in sizes:
            cells = {}
            for model in OURS:
                found = record.select(stream=name, size=size, model=model)
                cells[model] = min(row["seconds"] / row["rows"] for row in found)
            accuracy = [record.select(stream=name, size=size, model=model)[0]["accuracy"] for model in ("base", "now")]
            micro = [f"{1e6 * cells[model]:,.0f}" for model in ("base", "now")]
            lines.append([STREAMS[name][0], size, *micro, f"{cells['now'] / cells['base']:.2f}", "<= 1.5",
                          *(f"{value:.2f}" for value in accuracy)])  # fmt: skip
    header = ["classes", "chunk", "four half-lives: us/row", "now: us/row", "times", "wanted"]
    title = f'decay="auto", test then train after the first {FIRST:,} rows, CPU, one thread, least of {rounds} rounds'
    table([*header, "accuracy: four half-lives", "now"], lines, title)


def longest(plan):
    """Show the longest call, row by row."""
    from benchmarks.harness.table import table

    names, rounds = plan.chosen(("outdoor_stream", "letter"), ["outdoor_stream"]), plan.repeats or plan.pick(3, 1)
    record = plan.record("longest_call", COLUMNS)
    runs = [(name, decay, 1, model) for name in names for decay in DECAYS for model in OURS]
    collect(plan, record, runs, rounds, plan.limit or 60.0, base_rounds=1)
    lines = []
    for name in names:
        for decay in DECAYS:
            cells = []
            for model in ("base", "now"):
                found = record.select(stream=name, decay=decay, model=model)
                cells.append(f"{1000 * min(row['longest'] for row in found):,.0f}")
                cells.append(f"{min(row['first_seconds'] for row in found):.1f}")
            accuracy = record.select(stream=name, decay=decay, model="now")[0]["accuracy"]
            lines.append([name, decay, *cells, f"{accuracy:.2f}"])
    header = ["stream", "decay", "0.5.0: ms", f"0.5.0: s of {FIRST:,} rows", "now: ms", f"now: s of {FIRST:,} rows"]
    title = f"The longest call of predict and partial_fit, row by row: least of {rounds} runs, of 0.5.0 one run\n"
    title += f"(wanted: at most 50 ms; the first {FIRST:,} rows of outdoor_stream in at most 3 s)"
    table([*header, "accuracy"], lines, title)


if __name__ == "__main__":
    name, decay, size, model, most, limit = sys.argv[1:]
    decay = "auto" if decay == "auto" else decay if decay == "-" else float(decay)
    print(json.dumps(run_stream(name, decay, int(size), model, int(most), float(limit))))
