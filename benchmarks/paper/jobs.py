"""The jobs behind the paper's tables, each in a process of its own, and what is computed from their results."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.harness.data import load, shuffled
from benchmarks.harness.job import run_apart
from benchmarks.harness.measure import peak_memory
from benchmarks.harness.table import mean_sd as sample_mean_sd
from benchmarks.harness.table import progress
from benchmarks.paper import settings
from benchmarks.paper.published import SETTINGS
from fbtwsvm import FBTWSVM
from fbtwsvm.evaluate import prequential

PAPER, EVERY_ROW, BATCH, OURS = "FBTWSVM, paper", "FBTWSVM, all rows in the sums", "FBTWSVM, batch", "FBTWSVM, ours"
KEY = ("dataset", "method", "setting", "d", "options")
RESULT = ("seed", "rows", "accuracy", "prequential", "train_s", "test_s", "kept", "nsv", "duals", "peak_bytes")
COLUMNS = (*KEY, *RESULT, "parameters", "right", "status", "why")


@dataclass(frozen=True)
class Job:
    """Something to do for one cell of a table; `options` are arguments of the function."""

    function: Any
    dataset: str
    method: str
    setting: str | None = None
    d: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    limited: bool = True  # whether the time limit counts


def do(record, job, limit):
    """Return the results of a job, from the file if it is finished there."""
    key = {name: getattr(job, name) for name in KEY}
    rows = record.select(**key)
    if rows and rows[-1]["why"] in (None, f"more than {limit or 0:.0f} s"):
        return rows
    progress(", ".join(f"{value}" for value in (job.dataset, job.method, job.setting, job.d) if value is not None))
    arguments = {"name": job.dataset, "method": job.method, "d": job.d, **job.options}
    results = run_apart(job.function, arguments, limit if job.limited else None)
    return record.add_all([{**key, **result} for result in results])


class Learner:
    """A model with a clock; `solve_each` solves again after each chunk, which counts towards the paper's d."""

    def __init__(self, model, *, solve_each=False):
        self.model, self.solve_each, self.seconds = model, solve_each, 0.0
        self.predict = model.predict

    def partial_fit(self, X, y, **options):
        """Learn a chunk."""
        start = time.perf_counter()
        self.model.partial_fit(X, y, **options)
        if self.solve_each:
            self.model.settle()
        self.seconds += time.perf_counter() - start

    def finish(self):
        """Do what is left after the last chunk; returns the model."""
        start = time.perf_counter()
        for last in ("finish", "settle"):
            getattr(self.model, last, lambda: None)()
        self.seconds += time.perf_counter() - start
        return self.model


def learn_prequential(model, X, y, first, *, solve_each=False):
    """Test then learn the paper's chunks; returns the seconds of learning and the prequential accuracy in %."""
    learner = Learner(model, solve_each=solve_each)
    parts = settings.paper_chunks(len(y), first)
    chunks = [(X[part], y[part]) for part in parts]
    run = prequential(learner, chunks, every=len(y), classes=np.unique(y), progress=False).run()
    learner.finish()
    return learner.seconds, 100.0 * run.snapshots[-1].accuracy


def make(method, name, X, y, seed, chosen, d, share):
    if method in settings.RIVALS:
        return settings.RIVALS[method][1](chosen, len(y), seed)
    if method == OURS:
        return FBTWSVM(random_state=seed, **settings.limits(share, len(y), len(np.unique(y))), **chosen["ours"])
    changes = {"second_look": 0, "memory": None, "forget_after": d, "warm_up": SETTINGS[name]["first"]}
    papers = {"statistics": "kept", "accept": "inside", **changes}
    options = {BATCH: {}, PAPER: papers, EVERY_ROW: changes}[method]
    return FBTWSVM(random_state=seed, **settings.papers_settings(name, X, **options))


def holdings(model, n_classes):
    """Return the rows kept by ours, the paper's nSV (rows stored, summed over pairs) and the duals above zero."""
    alpha = model.memory_report().rows["alpha"]
    return {"kept": len(alpha), "nsv": len(alpha) * (n_classes - 1), "duals": int((alpha > 0).sum())}


def batch_holdings(model, X, y):
    """Return the same for a model fitted to all rows; its dual variables are those of a stream of one chunk."""
    n_classes = len(model.classes_)
    stream = clone(model).set_params(warm_up=len(y), memory=None, second_look=0).partial_fit(X, y).settle()
    return {**holdings(stream, n_classes), "kept": len(y), "nsv": len(y) * (n_classes - 1)}


def learn(name, method, seeds, chosen=None, d=None, share=0.1, duals=True):
    batch, first = method in (*settings.BATCH_RIVALS, BATCH), SETTINGS[name]["first"]
    for seed in range(seeds):
        X, y, X_test, y_test = shuffled(name, seed)
        n_classes = len(np.unique(y))
        options = {"chosen": chosen, "d": d, "seed": seed, "share": share}
        few = min(len(y), 40 * n_classes) if seed == 0 else 0  # a small run before, to compile
        for rows in [few, len(y)] if few else [len(y)]:
            model = make(method, name, X[:rows], y[:rows], **options)
            start, accuracy = time.perf_counter(), None
            if batch:
                model.fit(X[:rows], y[:rows])
                train = time.perf_counter() - start
            else:
                each = method in (PAPER, EVERY_ROW)
                half = min(first, rows // 2)
                train, accuracy = learn_prequential(model, X[:rows], y[:rows], half, solve_each=each)
            start = time.perf_counter()
            right = model.predict(X_test) == y_test
        test, peak = time.perf_counter() - start, peak_memory()
        held = {}
        if method == BATCH and duals:
            held = batch_holdings(model, X, y)
        elif method in (PAPER, EVERY_ROW, OURS):
            held = holdings(model, n_classes)
        yield {
            "seed": seed, "rows": len(y), "accuracy": 100.0 * float(right.mean()), "prequential": accuracy,
            "train_s": train, "test_s": test, "peak_bytes": peak, "right": f"x{np.packbits(right).tobytes().hex()}",
            **held,
        }  # fmt: skip


def choose(name, method, d=None, chosen=None, quick=False):
    X, y, _, _ = load(name)
    start = time.perf_counter()
    parameters = settings.choose(method, X, y, chosen=chosen, quick=quick)
    yield {"parameters": parameters, "train_s": time.perf_counter() - start, "peak_bytes": peak_memory()}


def values(results, key="accuracy"):
    return [row[key] for row in results if row["status"] == "ok" and row.get(key) is not None]


def mean(results, key="accuracy"):
    found = values(results, key)
    return float(np.mean(found)) if found else None


def mean_sd(results, key="accuracy"):
    """Return "mean +- sd" over seeds, with their number if some are missing, or why there is none."""
    found = values(results, key)
    problem = next((row["status"] for row in results if row["status"] != "ok"), "")
    if not found:
        return problem or "-"
    return sample_mean_sd(found) + (f", n = {len(found)}" if problem else "")


def best_mean_sd(results):
    found = values(results)
    return f"{max(found):.2f} / {mean_sd(results)}" if found else mean_sd(results)


def count(value):
    """Return a count in the paper's short form, 1.3k or 455k."""
    if value is None:
        return "-"
    if value >= 999_500:
        return f"{value / 1e6:.1f}M"
    return f"{value:.0f}" if value < 1000 else f"{value / 1000:.1f}k" if value < 10_000 else f"{value / 1000:.0f}k"


def right_answers(results, n_rows):
    """Return for each test row the share of seeds that had it right."""
    packed = [np.frombuffer(bytes.fromhex(text[1:]), np.uint8) for text in values(results, "right")]
    return np.mean([np.unpackbits(bits)[:n_rows] for bits in packed], axis=0)


def difference(ours, theirs, n_rows, *, repeats=4000):
    """Return the difference of two methods' accuracies in points and its 95 % interval: a paired bootstrap.

    Each method is the mean of its seeds. Both have the same test rows, which are drawn again with replacement.
    """
    gaps = 100.0 * (right_answers(ours, n_rows) - right_answers(theirs, n_rows))
    random = np.random.default_rng(0)
    means = [gaps[random.integers(n_rows, size=n_rows)].mean() for _ in range(repeats)]
    return gaps.mean(), *np.quantile(means, [0.025, 0.975])
