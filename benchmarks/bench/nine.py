"""Untuned, tuned by FBTWSVMCV, and a tuned SVC on nine sets: test accuracy and seconds.

Nothing but training rows is used to tune anything. Each finished job is a line of table.csv at once.
"""

import json

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

import fbtwsvm
from benchmarks.bench.measure import mebibytes, number, threads
from benchmarks.bench.memory import measured
from benchmarks.bench.plan import at_least, at_most
from benchmarks.bench.plots import OTHER, OURS, RIVAL, Dots, draw_dots
from benchmarks.data import load, progress, table
from fbtwsvm.features.kernels import gamma_scale

STANDARDISED = ("border", "overlap", "letter", "outdoor", "coil")
AS_THEY_ARE = ("dna", "usps", "isolet", "mnist")
SETS = (*STANDARDISED, *AS_THEY_ARE)
UNTUNED, TUNED, THEIRS = "FBTWSVM()", "FBTWSVMCV", "SVC, tuned"
FACTORS = tuple(2.0**power for power in range(-4, 5))  # of the plain width
PRICES = (1.0, 10.0, 100.0, 1000.0)
MOST_TUNING_ROWS = {"mnist": 10_000}
KEY = ("dataset", "method", "seed")
COLUMNS = (*KEY, "accuracy", "seconds", "peak_bytes", "gap", "settings")


def data(name, quick):
    """Return a data set, the first rows of it where it is quick."""
    parts = load(name, standardise=name in STANDARDISED)
    return [part[:300] for part in parts] if quick else parts


def tuned_svc(name, X, y, quick):
    """Return an SVC with the best width and price of 3 folds, fitted on all rows; mnist is tuned on 10,000 of them."""
    most = min(MOST_TUNING_ROWS.get(name, len(X)), len(X))
    some = np.random.default_rng(0).permutation(len(X))[:most] if most < len(X) else np.arange(len(X))
    every = slice(3, 6, 2) if quick else slice(None)
    grid = {"gamma": [gamma_scale(X) * factor for factor in FACTORS[every]], "C": PRICES[:2] if quick else PRICES}
    search = GridSearchCV(
        SVC(cache_size=1000), grid, cv=StratifiedKFold(3, shuffle=True, random_state=0), refit=most == len(X)
    ).fit(X[some], y[some])
    fitted = search.best_estimator_ if search.refit else SVC(cache_size=1000, **search.best_params_).fit(X, y)
    return fitted, search.best_params_


def ours(method, X, y, seed):
    """Return our model, untuned or tuned, and what was chosen."""
    model = fbtwsvm.FBTWSVM(random_state=seed, n_jobs=1)
    if method == UNTUNED:
        model.fit(X, y)
        return model, {"gamma": model.gamma_}
    search = fbtwsvm.FBTWSVMCV(model).fit(X, y)
    return search.best_estimator_, search.best_params_


def compile_first(quick):
    """Fit clouds, few and many rows and classes, so that nothing is compiled under the clock."""
    for n, k in [(300, 3)] if quick else [(300, 3), (3_000, 3), (3_000, 30)]:
        X, y = make_blobs(n, n_features=10, centers=k, cluster_std=5.0, random_state=0)
        for method in (UNTUNED, TUNED):
            ours(method, X.astype(np.float32), y, 0)


def do(record, key, parts, quick):
    """Do one job and write it down."""
    X, y, X_test, y_test = parts
    if key["method"] == THEIRS:
        found = measured(lambda: tuned_svc(key["dataset"], X, y, quick))
    else:
        found = measured(lambda: ours(key["method"], X, y, key["seed"]))
    model, chosen = found.result
    gaps = getattr(model, "duality_gap_", None)
    return record.add(
        **key, accuracy=100 * model.score(X_test, y_test), seconds=found.seconds, peak_bytes=found.peak,
        gap=None if gaps is None else float(gaps.max()), settings=json.dumps(chosen, default=float),
    )  # fmt: skip


def spread(rows):
    """Return mean, smallest and largest accuracy."""
    scores = [row["accuracy"] for row in rows]
    return float(np.mean(scores)), min(scores), max(scores)


def report(plan, record, sets):
    """Print the table, draw it, and return what was wanted of the tuned one."""
    lines, behind = [], []
    panel = Dots("test accuracy, %: mean, smallest and largest of the seeds", from_zero=False)
    for name in sets:
        base = record.select(dataset=name, method=THEIRS)[0]["accuracy"]
        for method, colour in ((THEIRS, OTHER), (UNTUNED, RIVAL), (TUNED, OURS)):
            own = record.select(dataset=name, method=method)
            mean, low, high = spread(own)
            seconds, gaps = [row["seconds"] for row in own], [row["gap"] for row in own if row["gap"] is not None]
            lines.append([name, method, f"{mean:.2f} ({low:.2f} to {high:.2f})", f"{mean - base:+.2f}",
                          f"{number(min(seconds))} ({number(max(seconds))})", f"{max(gaps):.1e}" if gaps else "-",
                          mebibytes(max(row["peak_bytes"] for row in own))])  # fmt: skip
            panel.add(f"{name}: {method}", mean, low, high, colour)
            if method == TUNED:
                behind.append(base - mean)
    print(f"\nNine sets, one thread: test accuracy in %, mean of {plan.seeds} seeds; SVC is the same for every seed\n")
    table(["data", "method", "accuracy", "less SVC's", "seconds", "gap", "peak: MiB"], lines)
    draw_dots(plan.out / "table.png", "Untuned and tuned, beside a tuned SVC", [panel])
    count = sum(deficit <= 0 for deficit in behind)
    return [
        at_least("table", f"{TUNED} at or above the tuned SVC, of {len(behind)} sets", count, 6),
        at_most("table", f"{TUNED}: largest deficit to the tuned SVC, points", max(behind), 0.5),
    ]


def run(plan):
    """Do all jobs that are not done."""
    record = plan.record("table", COLUMNS, KEY)
    sets = SETS[:2] if plan.quick else SETS
    with threads(1):
        compile_first(plan.quick)
        for name in sets:
            parts = data(name, plan.quick)
            jobs = [(THEIRS, 0)] + [(method, seed) for seed in range(plan.seeds) for method in (UNTUNED, TUNED)]
            for method, seed in jobs:
                key = {"dataset": name, "method": method, "seed": seed}
                if record.find(**key) is None:
                    progress(f"{name}: {method}, seed {seed}")
                    do(record, key, parts, plan.quick)
    return report(plan, record, sets)
