"""Accuracy of FBTWSVM() with the same training rows in four orders; rows of other people; near-copies made by SMOTE."""

import time

import numpy as np

from benchmarks.accuracy.tuned import UNTUNED
from benchmarks.defaults import base, smote
from benchmarks.defaults.sets import PEOPLE, QUICK, TABLES, keeps_its_split, split
from benchmarks.harness.measure import threads
from benchmarks.harness.table import mean_error, mean_sd, progress, standard_error, table
from fbtwsvm import FBTWSVM

SETS = ("letter", "usps", "dna", "isolet", "overlap", *TABLES)
SHUFFLED, GIVEN = "shuffled", "as given"
ORDERS = {
    SHUFFLED: lambda X, y, seed: np.random.default_rng(seed).permutation(len(y)),
    GIVEN: lambda X, y, seed: np.arange(len(y)),
    "by first column": lambda X, y, seed: np.argsort(X[:, 0], kind="stable"),
    "by class": lambda X, y, seed: np.argsort(y, kind="stable"),
}
COLUMNS = ("dataset", "order", "seed", "accuracy", "gamma", "cpu_seconds")
SPLITS, SEEDS = 5, 3  # splits of a small set, seeds of a large one


def measure(name, order, seed, quick):
    X, y, X_test, y_test = split(name, seed, quick=quick, in_order=True)
    rows = ORDERS[order](X, y, seed)
    start = time.process_time()
    model = FBTWSVM(random_state=seed, n_jobs=1).fit(X[rows], y[rows])
    seconds = time.process_time() - start
    return {"accuracy": 100 * model.score(X_test, y_test), "gamma": float(model.gamma_), "cpu_seconds": seconds}


def fill(record, jobs, quick):
    """Measure the jobs (data, order, seed) that the record does not have."""
    with threads(1):
        for name, order, seed in jobs:
            if not record.select(dataset=name, order=order, seed=seed):
                progress(f"{name}: rows {order}, seed {seed}")
                record.add(dataset=name, order=order, seed=seed, **measure(name, order, seed, quick))


def scores(record, name, order):
    rows = sorted(record.select(dataset=name, order=order), key=lambda row: row["seed"])
    return np.array([row["accuracy"] for row in rows])


def report_orders(record, sets):
    lines, far = [], []
    for name in sets:
        shuffled, cells = scores(record, name, SHUFFLED), []
        for order in list(ORDERS)[1:]:
            differences = scores(record, name, order) - shuffled
            too_far = abs(differences.mean()) > max(0.5, 2 * standard_error(differences))
            cells.append(mean_error(differences) + (" !" if too_far else ""))
            far += [f"{name} {order}"] if too_far else []
        lines.append([name, len(shuffled), f"{shuffled.mean():.2f}", *cells])
    title = f"{UNTUNED}, test accuracy in %: rows shuffled, and paired differences of other orders +- standard error\n"
    title += "over splits (of a set with fewer than 2,000 test rows) or seeds (of others)\n"
    title += "(wanted: within 0.5 or two standard errors; ! marks others)"
    table(["data", "splits or seeds", *ORDERS], lines, title)
    print(f"\nToo far from shuffled rows: {', '.join(far) or 'none'} (wanted: none)")


def report_people(record, before, commit):
    own = scores(record, PEOPLE, GIVEN)
    old = [row["accuracy"] for row in before.rows] if before else None
    difference = f"{own.mean() - np.mean(old):+.2f}" if before else "-"
    lines = [[PEOPLE, mean_sd(own), mean_sd(old) if before else "-", difference]]
    title = f"Test rows of other people, training rows as given, seeds: {len(own)} "
    title += "(wanted: not more than 0.5 below 0.5.0, which is --base 576f704^)"
    table(["data", UNTUNED, commit or "no --base", "difference"], lines, title)


def run(plan):
    sets = plan.chosen(SETS, QUICK)
    record = plan.record("default_order", COLUMNS)
    for name in sets:
        seeds = plan.seeds or plan.pick(SEEDS if keeps_its_split(name, plan.quick) else SPLITS, 2)
        fill(record, [(name, order, seed) for seed in range(seeds) for order in ORDERS], plan.quick)
    if sets:
        report_orders(record, sets)
    if not plan.names or PEOPLE in plan.names:
        seeds = plan.seeds or plan.pick(SEEDS, 1)
        fill(record, [(PEOPLE, GIVEN, seed) for seed in range(seeds)], plan.quick)
        before = base.results(plan, "default_order", [(PEOPLE, seed) for seed in range(seeds)])
        report_people(record, before, plan.base)
    if not plan.names or smote.NAME in plan.names:
        smote.run(plan)
