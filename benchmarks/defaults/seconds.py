"""CPU seconds of a default fit on one thread: beside a fit with its own choices given, SVC() and gradient boosting."""

import gc
import time
from statistics import median

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_moons
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.defaults.sets import TABLES, split
from benchmarks.harness.data import load_stream
from benchmarks.harness.measure import threads
from benchmarks.harness.table import number, progress, table
from fbtwsvm import FBTWSVM

DEFAULT, CHOSEN, SCALE, THEIRS, TREES = "FBTWSVM()", "choices given", 'gamma="scale"', "SVC()", "HistGradientBoosting()"
METHODS = (DEFAULT, CHOSEN, SCALE, THEIRS, TREES)
COLUMNS = ("dataset", "method", "repeat", "cpu_seconds", "gamma", "n_components")
LONG = 30.0  # a rival's fit that takes more CPU seconds is not repeated
MOST_FOR_SVC = 20_000  # rows


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def covtype():
    X, y = load_stream("covtype", 100_000)
    return StandardScaler().fit_transform(X), y


def three_classes(n):
    return make_classification(n, 20, n_informative=10, n_classes=3, random_state=0)


TEN = {
    "breast cancer": breast_cancer,
    "digits": lambda: load_digits(return_X_y=True),
    "moons": lambda: make_moons(2_000, noise=0.3, random_state=0),
    "three classes 5000": lambda: three_classes(5_000),
    "three classes 20000": lambda: three_classes(20_000),
    **{name: lambda name=name: split(name, 0)[:2] for name in ("letter", "usps", "phoneme")},
    "covtype": covtype,
    "mnist": lambda: split("mnist", 0)[:2],
}
QUICK_TEN, QUICK_TABLES, QUICK_ROWS = ("breast cancer", "moons"), ("german_credit",), 300


def choices_of(model, X, y):
    """Return what a default fit has chosen, as parameters; an exact kernel has no size to give."""
    distinct = len(np.unique(np.column_stack([X, y]), axis=0))
    chosen = {"gamma": model.gamma_}
    return chosen if model.n_components_ >= distinct else {**chosen, "n_components": model.n_components_}


def model_of(method, chosen):
    if method == THEIRS:
        return SVC()
    if method == TREES:
        return HistGradientBoostingClassifier(random_state=0)
    parameters = {DEFAULT: {}, CHOSEN: chosen, SCALE: {"gamma": "scale"}}[method]
    return FBTWSVM(**parameters, random_state=0, n_jobs=1)


def fit_timed(method, chosen, X, y):
    """Fit once; returns CPU seconds and the model."""
    gc.collect()
    model = model_of(method, chosen)
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start, model


def compile_for(X, y):
    """Fit a few rows, so that compiling is not measured."""
    rows = slice(None, None, max(1, len(y) // QUICK_ROWS))
    for parameters in ({}, {"n_components": 50}):
        FBTWSVM(**parameters, random_state=0, n_jobs=1).fit(X[rows], y[rows])


def fill(record, name, X, y, methods, repeats):
    """Measure the methods in turns until the record has so many repeats; one that takes long is measured once."""
    chosen = None
    for repeat in range(repeats):
        for method in methods:
            known = record.select(dataset=name, method=method)
            if any(row["repeat"] == repeat for row in known):
                continue
            if method in (THEIRS, TREES) and any(row["cpu_seconds"] > LONG for row in known):
                continue
            if method == CHOSEN and chosen is None:
                chosen = known_choices(record, name)
            progress(f"{name}: {method}, round {repeat + 1}")
            seconds, model = fit_timed(method, chosen, X, y)
            cells = {"dataset": name, "method": method, "repeat": repeat, "cpu_seconds": seconds}
            if method == DEFAULT:
                cells |= choices_of(model, X, y)
            record.add(**cells)


def known_choices(record, name):
    """Return the choices of the last default fit of a set as parameters."""
    last = record.select(dataset=name, method=DEFAULT)[-1]
    return {key: last[key] for key in ("gamma", "n_components") if last[key] is not None}


def seconds_of(record, name, method):
    """Return the median of the CPU seconds; None if the method was not measured."""
    found = [row["cpu_seconds"] for row in record.select(dataset=name, method=method)]
    return median(found) if found else None


def yes(condition):
    return "yes" if condition else "no"


def report_ten(record, sets, repeats):
    lines, near_given, near_trees = [], 0, 0
    for name in sets:
        seconds = {method: seconds_of(record, name, method) for method in METHODS}
        default, given, trees = (seconds[method] for method in (DEFAULT, CHOSEN, TREES))
        within, quick = default <= 2 * given + 0.3, default <= 1.5 * trees
        near_given, near_trees = near_given + within, near_trees + quick
        chosen = known_choices(record, name)
        lines.append([
            name, *(number(value) for value in seconds.values()), f"{default / given:.2f}", yes(within),
            f"{default / trees:.2f}", yes(quick), f"{chosen['gamma']:.4g}", chosen.get("n_components", "exact kernel"),
        ])  # fmt: skip
    title = f"CPU seconds of fit, one thread, median of {repeats} alternating repeats "
    title += f"(SVC above {MOST_FOR_SVC:,} rows: not run; rivals above {LONG:.0f} s: once)\n"
    title += f"within 2 times the fit with its choices given plus 0.3 s: {near_given} of {len(sets)} (wanted: all); "
    title += f"within 1.5 times gradient boosting: {near_trees} of {len(sets)} (wanted: 8 of 10)"
    header = ["data", *METHODS, "/ given", "<= 2 x given + 0.3", "/ boosting", "<= 1.5", "gamma", "features"]
    table(header, lines, title)


def report_tables(record, sets, repeats):
    methods = (DEFAULT, TREES)
    seconds = {name: [seconds_of(record, name, method) for method in methods] for name in sets}
    sums = [sum(pair) for pair in zip(*seconds.values(), strict=True)]
    lines = [[name, *map(number, pair), f"{pair[0] / pair[1]:.2f}"] for name, pair in [*seconds.items(), ("all", sums)]]
    title = f"Open tables: CPU seconds of fit, one thread, median of {repeats} alternating repeats\n"
    title += "(wanted: at most 1.5 times gradient boosting on all together)"
    table(["data", *methods, "ratio"], lines, title)


def run(plan):
    repeats, few = plan.repeats or plan.pick(5, 1), plan.pick(None, QUICK_ROWS)
    record = plan.record("default_time", COLUMNS)
    ten, tables = plan.chosen(TEN, QUICK_TEN), plan.chosen(TABLES, QUICK_TABLES)
    of_tables = {f"table {name}": lambda name=name: split(name, 0)[:2] for name in tables}
    jobs = [(name, TEN[name], METHODS) for name in ten]
    jobs += [(name, load_set, (DEFAULT, TREES)) for name, load_set in of_tables.items()]
    with threads(1):
        for name, load_set, methods in jobs:
            X, y = (part[:few] for part in load_set())
            compile_for(X, y)
            fill(record, name, X, y, [m for m in methods if m != THEIRS or len(y) <= MOST_FOR_SVC], repeats)
    if ten:
        report_ten(record, ten, repeats)
    if tables:
        report_tables(record, of_tables, repeats)
