"""How metric="auto" decides, beside other ways: splits 70 : 30 of training parts; test parts are not touched."""

import time
from unittest import mock

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.accuracy.metric import digits, made
from benchmarks.defaults.sets import NINE, TABLES, split
from benchmarks.harness.measure import threads
from benchmarks.harness.table import mean_error, number, progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.batch import choose_metric

SETS = ("made", "digits", *NINE, *TABLES)
QUICK = ("made", "digits")
# way: (metric, changed constants)
WAYS = {
    'metric="none"': ("none", {}),
    "as it is: ridge 0.1, 2,000 rows": ("auto", {}),
    "ridge 0.01": ("auto", {"_RIDGE": 0.01}),
    "1,000 rows": ("auto", {"_SAMPLE": 1000}),
    "eight rounds": ("auto", {"_ROUNDS": 8}),
    "two standard errors are enough": ("auto", {"_FIRST": 2.0}),
    'always: metric="columns"': ("columns", {}),
}
COLUMNS = ("dataset", "way", "seed", "accuracy", "log_loss", "cpu_seconds", "rounds")


def parts(name, seed, quick):
    """Return a split of the training part."""
    rows = made(100 + seed, quick) if name == "made" else digits(seed) if name == "digits" else split(name, seed)
    X, y = np.asarray(rows.X, dtype=np.float32), rows.y
    stratify = y if np.unique(y, return_counts=True)[1].min() > 1 else None
    return train_test_split(X, y, test_size=0.3, random_state=50 + seed, stratify=stratify)


def measure(name, way, seed, quick):
    X, X_test, y, y_test = parts(name, seed, quick)
    metric, changes = WAYS[way]
    with mock.patch.dict(vars(choose_metric), changes):
        start = time.process_time()
        model = FBTWSVM(random_state=seed, n_jobs=1, metric=metric).fit(X, y)
        seconds = time.process_time() - start
    chances = model.predict_proba(X_test)
    places = np.minimum(np.searchsorted(model.classes_, y_test), len(model.classes_) - 1)
    right = np.where(model.classes_[places] == y_test, chances[np.arange(len(y_test)), places], 0.0)
    return {"accuracy": 100 * model.score(X_test, y_test), "log_loss": -np.log(np.maximum(right, 1e-6)).mean(),
            "cpu_seconds": seconds, "rounds": model.n_rounds_}  # fmt: skip


def run(plan):
    seeds, sets = plan.seeds or plan.pick(3, 1), plan.chosen(SETS, QUICK)
    record = plan.record("metric_rule", COLUMNS)
    with threads(1):
        for name in sets:
            for seed in range(seeds):
                for way in WAYS:
                    if not record.select(dataset=name, way=way, seed=seed):
                        progress(f"{name}: {way}, seed {seed}")
                        record.add(dataset=name, way=way, seed=seed, **measure(name, way, seed, plan.quick))

    def mean(name, way, what):
        return np.mean([row[what] for row in record.select(dataset=name, way=way)])

    none, lines = next(iter(WAYS)), []
    for way in WAYS:
        gains = np.array([mean(name, way, "accuracy") - mean(name, none, "accuracy") for name in sets])
        losses = np.array([mean(name, way, "log_loss") - mean(name, none, "log_loss") for name in sets])
        worst = int(gains.argmin())
        taken = np.mean([row["rounds"] > 0 for row in record.select(way=way)])
        lines.append([
            way, mean_error(gains), f"{np.median(gains):+.2f}", f"{gains[worst]:+.2f} ({sets[worst]})",
            mean_error(losses, 3), f"{100 * taken:.0f} %", number(sum(mean(name, way, "cpu_seconds") for name in sets)),
        ])  # fmt: skip
    title = (
        f"{len(sets)} sets, {seeds} splits of their training parts: gain in accuracy over {none}, in points, and in "
    )
    title += "log loss; standard errors over the sets"
    table(["way", "gain", "median", "worst set", "log loss", "taken", "CPU seconds, all sets"], lines, title)
