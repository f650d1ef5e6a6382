"""FBTWSVM() and FBTWSVMCV beside a tuned SVC on nine sets and fifteen open tables, and beside an earlier version."""

import time
from dataclasses import replace

import numpy as np

from benchmarks.accuracy.tuned import TUNED, UNTUNED, ours
from benchmarks.defaults import base, rival
from benchmarks.defaults.sets import NINE, QUICK, TABLES, split
from benchmarks.harness.measure import threads
from benchmarks.harness.table import mean_error, number, progress, standard_error, table

COLUMNS = ("dataset", "method", "seed", "accuracy", "cpu_seconds", "settings")
SETS = (*NINE, *TABLES)


def own_results(plan, method, sets, seeds):
    """Return the record with FBTWSVM() or FBTWSVMCV on all these sets."""
    record = plan.record("default_svc" if method == UNTUNED else "default_cv", COLUMNS)
    with threads(1):
        for name in sets:
            for seed in range(seeds):
                if not record.select(dataset=name, method=method, seed=seed):
                    progress(f"{name}: {method}, seed {seed}")
                    record.add(dataset=name, method=method, seed=seed, **measure(name, method, seed, plan.quick))
    return record


def measure(name, method, seed, quick):
    X, y, X_test, y_test = split(name, seed, quick=quick)
    start = time.process_time()
    model, settings = ours(method, X, y, seed)
    seconds = time.process_time() - start
    settings = {key: value.item() if isinstance(value, np.generic) else value for key, value in settings.items()}
    return {"accuracy": 100 * model.score(X_test, y_test), "cpu_seconds": seconds, "settings": settings}


def scores(record, seeds, **cells):
    """Return the accuracies of the seeds in their order; a single one stands for all."""
    found = {row["seed"]: row["accuracy"] for row in record.select(**cells)}
    return np.array([found[seed] if len(found) > 1 else found[0] for seed in range(seeds)])


def report_svc(own, method, svc, sets, seeds):
    """Print a method beside the SVC, and return the differences of the seeds by data set."""
    lines, differences = [], {}
    for name in sets:
        theirs, mine = scores(svc, seeds, dataset=name), scores(own, seeds, dataset=name, method=method)
        differences[name] = mine - theirs
        rows = svc.select(dataset=name)
        seconds = number(np.median([row["cpu_seconds"] for row in own.select(dataset=name, method=method)]))
        cells = [f"{theirs.mean():.2f}", f"{mine.mean():.2f}", mean_error(mine - theirs), seconds]
        lines.append([name, min(len(rows), seeds), f"{rows[0]['tuning_rows']:,}", *cells])
    title = f"Test accuracy in %, mean over {seeds} stratified splits of train and test together (splits: {seeds}), or "
    title += f"over {seeds} seeds of ours where the set's own split is used (splits: 1);\nless SVC's: mean of the "
    title += f"paired differences +- standard error. SVC is tuned on at most {rival.MOST_ROWS:,} training rows\n"
    title += '(stratified; "tuned on"), by 3 shuffled folds, 9 gammas x 4 C, and fitted on all of them. CPU seconds: '
    title += "median of the seeds, one thread"
    table(["data", "splits", "tuned on", "SVC, tuned", method, "less SVC's", "CPU seconds"], lines, title)
    return differences


def report_base(own, before, sets, seeds, commit):
    lines, differences = [], []
    for name in sets:
        old, new = scores(before, seeds, dataset=name), scores(own, seeds, dataset=name, method=UNTUNED)
        differences.append((new - old).mean())
        lines.append([name, f"{old.mean():.2f}", f"{new.mean():.2f}", mean_error(new - old)])
    title = f"{UNTUNED} beside {commit}: test accuracy in %, mean of {seeds} seeds or splits; on average "
    title += f"{np.mean(differences):+.2f} (wanted: at least -0.1)"
    table(["data", commit, "now", "difference"], lines, title)


def conclude_untuned(differences):
    mean = np.mean([values.mean() for values in differences.values()])
    low = [name for name, values in differences.items() if values.mean() + 2 * standard_error(values) < -1.0]
    print(f"\n{UNTUNED} less the tuned SVC: {mean:+.2f} on average (wanted: at least 0.0); below -1.0 by more than two "
          f"standard errors: {', '.join(low) or 'none'} (wanted: none)")  # fmt: skip


def conclude_tuned(differences):
    reached = sum(values.mean() >= 0 for values in differences.values())
    worst = min(differences, key=lambda name: differences[name].mean())
    deficit = max(0.0, -differences[worst].mean())
    print(f"\n{TUNED} is at or above the tuned SVC on {reached} of {len(differences)} sets (wanted: two thirds); its "
          f"largest deficit is {deficit:.2f} points, on {worst} (wanted: 0.5)")  # fmt: skip


def run(plan):
    """Compare FBTWSVM() with the SVC and with an earlier version."""
    sets, seeds = plan.chosen(SETS, QUICK), plan.seeds or plan.pick(5, 2)
    svc = rival.results(plan, sets, seeds)
    nine = [name for name in sets if name in NINE]
    before = base.results(plan, "default_svc", [(name, seed) for name in nine for seed in range(seeds)])
    own = own_results(plan, UNTUNED, sets, seeds)
    conclude_untuned(report_svc(own, UNTUNED, svc, sets, seeds))
    if before and nine:
        report_base(own, before, nine, seeds, plan.base)
    else:
        print("\nNot compared with an earlier version: give --base COMMIT.")


def tuned(plan):
    """Compare FBTWSVMCV with the SVC, whose results are those of `default_svc` if it has run before."""
    sets, seeds = plan.chosen(SETS, QUICK), plan.seeds or plan.pick(5, 2)
    svc = rival.results(replace(plan, resume=True), sets, seeds)
    conclude_tuned(report_svc(own_results(plan, TUNED, sets, seeds), TUNED, svc, sets, seeds))
