"""One job in a process of its own: reads it as JSON from standard input, writes a line of JSON for each result.

A process of its own gives a true peak of memory, and can be stopped when its time is over.
"""

import itertools
import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

JOBS = {}


def job(function):
    """Register what a kind of job does: a generator of results."""
    JOBS[function.__name__] = function
    return function


def peak():
    """Return the largest memory that this process has had, in MiB.

    Linux tells it in /proc; what getrusage tells there may be that of the process which started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 2**20 if sys.platform == "darwin" else size / 1024


def chunks(n_rows, first):
    """Return slices: `first` rows, then a twentieth of all rows at a time, at least 100, as in the paper."""
    size = max(100, n_rows // 20)
    edges = [0, *range(min(first, n_rows), n_rows, size), n_rows]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def rows_of(name, seed):
    """Return the training rows in the order of this seed, and the test rows."""
    from benchmarks.data import load

    X, y, X_test, y_test = load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], X_test, y_test


def learn_in_chunks(model, X, y, parts, classes, *, settle_each=False):
    """Test then learn chunk after chunk; returns the seconds of learning and the prequential accuracy."""
    seconds, right, tested = 0.0, 0, 0
    for part in parts:
        if part.start:
            right += int((model.predict(X[part]) == y[part]).sum())
            tested += part.stop - part.start
        start = time.perf_counter()
        model.partial_fit(X[part], y[part], classes=classes)
        if settle_each:  # each chunk counts towards the paper's d
            model.settle()
        seconds += time.perf_counter() - start
    start = time.perf_counter()
    for last in ("finish", "settle"):
        getattr(model, last, lambda: None)()
    return seconds + time.perf_counter() - start, 100.0 * right / max(1, tested)


def holdings(model, n_classes):
    """Return the rows kept, the paper's nSV (rows stored, summed over pairs) and the duals above zero, if any."""
    if hasattr(model, "memory_report") and getattr(model, "_learner", None) is not None:
        alpha = model.memory_report().rows["alpha"]
        return {"kept": len(alpha), "nsv": len(alpha) * (n_classes - 1), "duals": int((alpha > 0).sum())}
    if hasattr(model, "stored_size_"):
        kept = round(model.stored_size_ / max(1, n_classes - 1))  # of each class, on average over its opponents
        return {"kept": kept, "nsv": model.stored_size_, "duals": model.support_size_}
    if hasattr(model, "n_prototypes_"):
        return {"kept": model.n_prototypes_, "nsv": None, "duals": None}
    return {"kept": None, "nsv": None, "duals": None}


def holds_landmarks(model):
    """Return whether the model's map consists of training rows."""
    return getattr(model, "feature_map", "") == "nystroem"


def batch_holdings(model, X, y):
    """Return the same for a model that was fitted to all rows; dual variables are those of a stream of one chunk."""
    from sklearn.base import clone

    stream = clone(model).set_params(warm_up=len(y), memory=None, second_look=0).partial_fit(X, y).settle()
    n_classes = len(model.classes_)
    return {**holdings(stream, n_classes), "kept": len(y), "nsv": len(y) * (n_classes - 1)}


@job
def learn(name, method, seeds, chosen=None, d=None, share=0.1, duals=True, **_):
    """Learn a data set for each seed, in one pass or, where the method needs it, in batch."""
    from benchmarks.reproduce.methods import WITHOUT_PASS, make
    from benchmarks.reproduce.published import SETTINGS

    for seed in range(seeds):
        X, y, X_test, y_test = rows_of(name, seed)
        classes = np.unique(y)
        options = {"chosen": chosen, "d": d, "seed": seed, "share": share}
        parts = chunks(len(y), SETTINGS[name].first)
        batch = method in WITHOUT_PASS
        if seed == 0:  # compile before the clock runs
            few = slice(0, min(len(y), 40 * len(classes)))
            small = make(method, name, X=X[few], y=y[few], **options)
            if batch:
                small.fit(X[few], y[few])
            else:
                learn_in_chunks(small, X[few], y[few], chunks(few.stop, few.stop // 2), classes)
            small.predict(X[:10])
        model = make(method, name, X=X, y=y, **options)
        start = time.perf_counter()
        if batch:
            model.fit(X, y)
            train, prequential = time.perf_counter() - start, None
        else:
            each = method in ("FBTWSVM, paper", "FBTWSVM, all rows in the sums")
            train, prequential = learn_in_chunks(model, X, y, parts, classes, settle_each=each)
        start = time.perf_counter()
        right = model.predict(X_test) == y_test
        test = time.perf_counter() - start
        yield {
            "seed": seed,
            "accuracy": 100.0 * float(right.mean()),
            "prequential": prequential,
            "train_s": train,
            "test_s": test,
            "peak_mib": peak(),
            "rows": len(y),
            "right": np.packbits(right).tobytes().hex(),
            "landmarks": (chosen or {}).get("ours", {}).get("n_components") if holds_landmarks(model) else 0,
            **(batch_holdings(model, X, y) if method == "FBTWSVM, batch" and duals else holdings(model, len(classes))),
        }


@job
def choose(name, group, chosen=None, quick=False, **_):
    """Choose the parameters of ours or of a group of rivals, on training rows."""
    from benchmarks.data import load
    from benchmarks.reproduce import settings

    X, y, _, _ = load(name)
    start = time.perf_counter()
    found = settings.choose(group, X, y, chosen=chosen, quick=quick)
    yield {"parameters": found, "train_s": time.perf_counter() - start, "peak_mib": peak()}


def results(task):
    """Yield the results of a job; data that is not to be had is a result as well."""
    from benchmarks.data import Missing
    from benchmarks.reproduce import synthetic, tuning, wesad  # noqa: F401  (they register their jobs)

    try:
        yield from JOBS[task["kind"]](**task["options"])
    except Missing as missing:
        yield {"status": "missing", "why": str(missing)}


def main():
    """Read a job, do it, and print its results."""
    task = json.load(sys.stdin)
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints goes to the error stream
    for result in results(task):
        print(json.dumps(result), file=told, flush=True)


if __name__ == "__main__":
    from benchmarks.reproduce.worker import main as of_the_module  # so that jobs register in one module only

    of_the_module()
