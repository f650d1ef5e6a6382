"""Which learner when: five learners with their defaults, on fifteen tables at once and on ten streams row by row.

The SVC is tuned on the training part.  A forest of river reads the training rows of a table once, in their order.
"""

import time

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import SGDClassifier

from benchmarks.defaults import rival
from benchmarks.defaults.sets import TABLES, split
from benchmarks.harness.data import unit_columns
from benchmarks.harness.measure import run_prequential, threads
from benchmarks.harness.table import mean_sd, number, progress, table
from benchmarks.rivals.peers import river_forest
from benchmarks.streams.generated import GENERATED
from fbtwsvm import FBTWSVM

OURS, SVC, TREES, FOREST, SGD = "FBTWSVM", "SVC, tuned", "HistGradientBoosting", "river's forest", "SGDClassifier"
LEARNERS = (OURS, SVC, TREES, FOREST, SGD)
ON_STREAMS = (OURS, FOREST, SGD)
ROWS = 10_000  # of a stream
TABLE_COLUMNS = ("dataset", "method", "seed", "accuracy", "cpu_seconds")
STREAM_COLUMNS = ("dataset", "method", "seed", "accuracy", "rows_per_cpu_second")


def measure_table(name, method, seed, quick):
    X, y, X_test, y_test = split(name, seed, quick=quick, again=True)
    start = time.process_time()
    if method == FOREST:
        model = river_forest(X, y).partial_fit(X, y)
    else:
        model = {
            OURS: FBTWSVM(random_state=seed, n_jobs=1),
            TREES: HistGradientBoostingClassifier(random_state=seed),
            SGD: SGDClassifier(random_state=seed),
        }[method].fit(X, y)
    seconds = time.process_time() - start
    return {"accuracy": 100 * np.mean(model.predict(X_test) == y_test), "cpu_seconds": seconds}


def measure_stream(name, method, seed, rows):
    X, y = GENERATED[name](rows, seed)
    X = unit_columns(X)
    model = {
        OURS: lambda: FBTWSVM(decay="auto", random_state=0),
        FOREST: lambda: river_forest(X, y),
        SGD: lambda: SGDClassifier(random_state=0),
    }[method]()
    start = time.process_time()
    last = run_prequential(model, X, y, 1, classes=np.unique(y) if method == SGD else None)
    return {"accuracy": 100 * last.accuracy, "rows_per_cpu_second": rows / (time.process_time() - start)}


def fill(record, jobs, measure, size):
    """Measure what the record lacks."""
    with threads(1):
        for name, method, seed in jobs:
            if not record.select(dataset=name, method=method, seed=seed):
                progress(f"{name}: {method}, seed {seed}")
                record.add(dataset=name, method=method, seed=seed, **measure(name, method, seed, size))


def values(record, what, **cells):
    return [row[what] for row in record.select(**cells)]


def run(plan):
    seeds = range(plan.seeds or plan.pick(3, 1))
    sets = plan.chosen(TABLES, ("german_credit",))
    streams, rows = plan.chosen(GENERATED, ("sea", "stagger")), plan.pick(ROWS, 1_000)
    of_streams = plan.record("choosing_streams", STREAM_COLUMNS)
    fill(of_streams, [(n, m, s) for n in streams for m in ON_STREAMS for s in seeds], measure_stream, rows)
    of_tables = plan.record("choosing_tables", TABLE_COLUMNS)
    fill(of_tables, [(n, m, s) for n in sets for m in LEARNERS if m != SVC for s in seeds], measure_table, plan.quick)
    for row in rival.results(plan, sets, len(seeds), again=True).rows:
        if row["dataset"] in sets and row["seed"] in seeds:
            found = {name: row[name] for name in ("dataset", "seed", "accuracy", "cpu_seconds")}
            of_tables.rows.append({"method": SVC, **found})  # only to read them
    report(of_tables, of_streams, sets, streams, rows, seeds)


def report(of_tables, of_streams, sets, streams, rows, seeds):
    of_set = {(n, m): np.mean(values(of_tables, "accuracy", dataset=n, method=m)) for n in sets for m in LEARNERS}
    ranks = np.mean([rankdata([-of_set[n, m] for m in LEARNERS]) for n in sets], axis=0)
    lines = []
    for method, rank in zip(LEARNERS, ranks, strict=True):
        accuracy = np.mean([of_set[name, method] for name in sets])
        seconds = sum(np.mean(values(of_tables, "cpu_seconds", dataset=n, method=method)) for n in sets)
        stream, speed = "-", "-"
        if method in ON_STREAMS:
            by_seed = [np.mean(values(of_streams, "accuracy", method=method, seed=seed)) for seed in seeds]
            stream = mean_sd(by_seed)
            speed = number(np.median(values(of_streams, "rows_per_cpu_second", method=method)))
        lines.append([method, f"{accuracy:.2f}", f"{rank:.2f}", number(seconds), stream, speed])
    title = f"{len(sets)} tables at once (test accuracy in %, mean of {len(seeds)} stratified splits; mean rank; "
    title += f"CPU seconds of fit, all tables, tuning included)\nand {len(streams)} drifting streams of {rows:,} rows, "
    title += f"row by row (accuracy in %, each row tested before it is learned, {len(seeds)} seeds and their spread)"
    header = ["", "tables: accuracy", "mean rank", "CPU seconds", "streams: accuracy", "rows a CPU second"]
    table(header, lines, title)
    header = ["stream", *ON_STREAMS]
    cells = [[n, *(mean_sd(values(of_streams, "accuracy", dataset=n, method=m)) for m in ON_STREAMS)] for n in streams]
    table(header, cells, "Streams: accuracy in %")
    header = ["table", *LEARNERS]
    table(header, [[n, *(f"{of_set[n, m]:.2f}" for m in LEARNERS)] for n in sets], "Tables: test accuracy in %")
