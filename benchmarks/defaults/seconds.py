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

DEFAULT, CHOSEN, PLAIN, PLAIN_CHOSEN = "FBTWSVM()", "its choices given", 'metric="none"', "its own given"
SCALE, THEIRS, TREES = 'gamma="scale"', "SVC()", "HistGradientBoosting()"
METHODS = (DEFAULT, CHOSEN, PLAIN, PLAIN_CHOSEN, SCALE, THEIRS, TREES)
GIVEN = {CHOSEN: DEFAULT, PLAIN_CHOSEN: PLAIN}  # whose choices they have
CHOICES = ("gamma", "metric", "n_components")
COLUMNS = ("dataset", "method", "repeat", "cpu_seconds", *CHOICES, "rounds")
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
    metric = "none" if (model.metric_ == 1.0).all() else model.metric_.tolist()
    chosen = {"gamma": model.gamma_, "metric": metric}
    return chosen if model.n_components_ >= distinct else {**chosen, "n_components": model.n_components_}


def model_of(method, chosen):
    if method == THEIRS:
        return SVC()
    if method == TREES:
        return HistGradientBoostingClassifier(random_state=0)
    own = {DEFAULT: {}, PLAIN: {"metric": "none"}, SCALE: {"gamma": "scale"}}
    return FBTWSVM(**own.get(method, chosen), random_state=0, n_jobs=1)


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
    for repeat in range(repeats):
        for method in methods:
            known = record.select(dataset=name, method=method)
            if any(row["repeat"] == repeat for row in known):
                continue
            if method in (THEIRS, TREES) and any(row["cpu_seconds"] > LONG for row in known):
                continue
            chosen = known_choices(record, name, GIVEN[method]) if method in GIVEN else None
            progress(f"{name}: {method}, round {repeat + 1}")
            seconds, model = fit_timed(method, chosen, X, y)
            cells = {"dataset": name, "method": method, "repeat": repeat, "cpu_seconds": seconds}
            if method in GIVEN.values():
                cells |= {**choices_of(model, X, y), "rounds": model.n_rounds_}
            record.add(**cells)


def known_choices(record, name, method):
    """Return the choices of the last fit of a set without given ones, as parameters."""
    last = record.select(dataset=name, method=method)[-1]
    return {key: last[key] for key in CHOICES if last[key] is not None}


def seconds_of(record, name, method):
    """Return the median of the CPU seconds; None if the method was not measured."""
    found = [row["cpu_seconds"] for row in record.select(dataset=name, method=method)]
    return median(found) if found else None


def yes(condition):
    return "yes" if condition else "no"


def report_ten(record, sets, repeats):
    lines, met = [], np.zeros(3, dtype=int)
    for name in sets:
        seconds = {method: seconds_of(record, name, method) for method in METHODS}
        default, given, plain, own = (seconds[method] for method in (DEFAULT, CHOSEN, PLAIN, PLAIN_CHOSEN))
        within = default <= 3 * given + 0.5, plain <= 2 * own + 0.3, plain <= 1.5 * seconds[TREES]
        met += within
        last = record.select(dataset=name, method=DEFAULT)[-1]
        lines.append([
            name, *(number(value) for value in seconds.values()), *map(yes, within), f"{plain / seconds[TREES]:.2f}",
            last["rounds"], f"{last['gamma']:.4g}", last["n_components"] or "exact kernel",
        ])  # fmt: skip
    title = f"CPU seconds of fit, one thread, median of {repeats} alternating repeats "
    title += f"(SVC above {MOST_FOR_SVC:,} rows: not run; rivals above {LONG:.0f} s: once).\n"
    title += f"{DEFAULT} within 3 times the fit with its choices given plus 0.5 s: {met[0]} of {len(sets)} (wanted: "
    title += (
        f"all);\n{PLAIN} within 2 times that with its own given plus 0.3 s: {met[1]} of {len(sets)} (wanted: all), "
    )
    title += f"within 1.5 times gradient boosting: {met[2]} of {len(sets)} (wanted: 8 of 10)"
    bars = ["<= 3 x given + 0.5", "<= 2 x own + 0.3", "<= 1.5 x boosting", "none / boosting"]
    table(["data", *METHODS, *bars, "rounds", "gamma", "features"], lines, title)


def report_tables(record, sets, repeats):
    methods = (DEFAULT, PLAIN, TREES)
    seconds = {name: [seconds_of(record, name, method) for method in methods] for name in sets}
    sums = [sum(pair) for pair in zip(*seconds.values(), strict=True)]
    lines = [
        [name, *map(number, own), f"{own[0] / own[-1]:.2f}", f"{own[1] / own[-1]:.2f}"]
        for name, own in [*seconds.items(), ("all", sums)]
    ]
    title = f"Open tables: CPU seconds of fit, one thread, median of {repeats} alternating repeats\n"
    title += "(wanted: at most 1.5 times gradient boosting on all together)"
    table(["data", *methods, f"{DEFAULT} / boosting", f"{PLAIN} / boosting"], lines, title)


def run(plan):
    repeats, few = plan.repeats or plan.pick(5, 1), plan.pick(None, QUICK_ROWS)
    record = plan.record("default_time", COLUMNS)
    ten, tables = plan.chosen(TEN, QUICK_TEN), plan.chosen(TABLES, QUICK_TABLES)
    of_tables = {f"table {name}": lambda name=name: split(name, 0)[:2] for name in tables}
    jobs = [(name, TEN[name], METHODS) for name in ten]
    jobs += [(name, load_set, (DEFAULT, PLAIN, TREES)) for name, load_set in of_tables.items()]
    with threads(1):
        for name, load_set, methods in jobs:
            X, y = (part[:few] for part in load_set())
            compile_for(X, y)
            fill(record, name, X, y, [m for m in methods if m != THEIRS or len(y) <= MOST_FOR_SVC], repeats)
    if ten:
        report_ten(record, ten, repeats)
    if tables:
        report_tables(record, of_tables, repeats)
