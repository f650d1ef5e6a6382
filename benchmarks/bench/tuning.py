"""Tuning by FBTWSVMCV: what a search over 125 settings in 3 folds costs, in fits, and whether it chooses as well."""

import json

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import fbtwsvm
from benchmarks.bench.measure import Run, Times, interleaved, mebibytes, number, ratio, threads
from benchmarks.bench.memory import measured
from benchmarks.bench.plan import at_most
from benchmarks.bench.plots import OTHER, OURS, Dots, draw_dots
from benchmarks.data import load, progress, table
from fbtwsvm.features.kernels import gamma_scale

FULL, EARLY, PLAIN, ONE = "FBTWSVMCV", "FBTWSVMCV, early_stop", "GridSearchCV", "one fit"
FACTORS = (0.5, 1.0, 2.0, 4.0, 8.0)  # of the plain width
C = (0.25, 1.0, 4.0, 16.0, 64.0)
REG = (0.001, 0.003, 0.01, 0.03, 0.1)
COLUMNS = (
    "method", "seconds", "most_s", "ratio", "ratio_low", "ratio_high", "estimated", "cv_score", "accuracy", "settings",
    "gap", "peak_bytes",
)  # fmt: skip


def estimator(quick):
    """Return the model whose settings are searched."""
    count = 40 if quick else 400
    return fbtwsvm.FBTWSVM(feature_map="fourier", n_components=count, decision="value", random_state=0, n_jobs=1)


def grid_of(X, quick):
    """Return the values to try."""
    every = slice(1, None, 2) if quick else slice(None)
    return {
        "gamma": [factor * gamma_scale(X) for factor in FACTORS[every]],
        "C": list(C[every]),
        "reg": list(REG[every]),
    }


def folds():
    """Return the folds, the same for all."""
    return StratifiedKFold(3, shuffle=True, random_state=0)


def search(X, y, quick, early_stop):
    """Return a finished search."""
    settings = {**grid_of(X, quick), "membership": None, "sample": None, "early_stop": early_stop}
    return fbtwsvm.FBTWSVMCV(estimator(quick), **settings, cv=folds()).fit(X, y)


def fold_fit(X, y, model):
    """Return one fit of a fold with its scoring: what a plain grid search does for each setting and fold."""
    train, validation = next(iter(folds().split(X, y)))
    return lambda: clone(model).fit(X[train], y[train]).score(X[validation], y[validation])


def measure(X, y, plan):
    """Return times and peaks of one fit, of a fold's fit and of both searches, in turns; searches less the last fit."""
    grid = grid_of(X, plan.quick)
    middle = {name: values[len(values) // 2] for name, values in grid.items()}
    model = estimator(plan.quick).set_params(**middle)
    clone(model).fit(X, y)  # compile
    search(X[:500], y[:500], True, False)
    searching, peaks = {FULL: [], EARLY: []}, {FULL: 0, EARLY: 0}

    def searched(name):
        found = measured(lambda: search(X, y, plan.quick, name == EARLY))
        searching[name].append(found.result.search_time_)
        peaks[name] = max(peaks[name], found.peak)
        return found.result

    runs = {ONE: Run(lambda: clone(model).fit(X, y)), "fold": Run(fold_fit(X, y, model))}
    times = interleaved(plan.repeats, runs | {name: Run(lambda name=name: searched(name)) for name in searching})
    for name, seconds in searching.items():
        times[name] = Times(seconds, times[name].result)
    return times, peaks


def plain_search(X, y, plan):
    """Run the plain grid search; returns its seconds without the last fit, and its peak bytes."""
    progress("GridSearchCV: every setting in every fold")
    search = GridSearchCV(estimator(plan.quick), grid_of(X, plan.quick), cv=folds())
    found = measured(lambda: search.fit(X, y))
    return Times([found.seconds - search.refit_time_], search), found.peak


def run(plan):
    """Measure both searches, and the plain one where it is asked for."""
    X, y, X_test, y_test = load("letter", standardise=True)
    if plan.quick:
        X, y = X[:600], y[:600]
    grid = grid_of(X, plan.quick)
    fits = 3 * len(grid["gamma"]) * len(grid["C"]) * len(grid["reg"])
    progress(f"letter: {fits} fits of folds to be saved")
    times, peaks = measure(X, y, plan)
    if plan.plain:
        with threads(1):
            times[PLAIN], peaks[PLAIN] = plain_search(X, y, plan)
    record = plan.record("tuning", COLUMNS)
    panel = Dots("seconds of the search over seconds of one fit", wanted=60.0, log=True)
    accuracy, lines = {}, []
    for name in [FULL, EARLY, *([PLAIN] if plan.plain else [])]:
        found, cost = times[name].result, _cost(times[name], times[ONE])
        accuracy[name] = 100 * found.best_estimator_.score(X_test, y_test)
        row = record.add(
            method=name, seconds=times[name].least, most_s=times[name].most, ratio=cost[0], ratio_low=cost[1],
            ratio_high=cost[2], estimated=0, cv_score=found.best_score_, accuracy=accuracy[name],
            settings=json.dumps(found.best_params_, default=float), gap=float(found.best_estimator_.duality_gap_.max()),
            peak_bytes=peaks[name],
        )  # fmt: skip
        panel.add(name, *cost, OTHER if name == PLAIN else OURS)
        lines.append([name, times[name], _shown(cost), f"{100 * row['cv_score']:.2f}", f"{accuracy[name]:.2f}",
                      f"{row['gap']:.1e}", mebibytes(row["peak_bytes"]), row["settings"]])  # fmt: skip
    if not plan.plain:
        guess = Times([fits * seconds for seconds in times["fold"].seconds])
        cost = _cost(guess, times[ONE])
        record.add(method=PLAIN, seconds=guess.least, most_s=guess.most, ratio=cost[0], ratio_low=cost[1],
                   ratio_high=cost[2], estimated=1)  # fmt: skip
        panel.add(f"{PLAIN}, estimated", *cost, OTHER)
        lines.append([f"{PLAIN}, estimated: {fits} x a fold's fit", guess, _shown(cost), *["-"] * 5])
    print(f"\nletter, {len(X):,} rows: search without its last fit, one thread; one fit with the middle setting: "
          f"{times[ONE]} s\n")  # fmt: skip
    table(["search", "seconds", "in fits", "CV score", "test accuracy", "gap", "peak: MiB", "chosen"], lines)
    draw_dots(plan.out / "tuning.png", "What a search costs, in fits", [panel])
    return _wanted(times, accuracy)


def _cost(times, one):
    """Return the ratio to one fit; a search that ran once is held against the range of all the single fits."""
    if len(times.seconds) == len(one.seconds):
        found = ratio(times, one)
        return found.value, found.low, found.high
    return times.least / one.least, times.least / one.most, times.most / one.least


def _shown(cost):
    return f"{number(cost[0])} ({number(cost[1])} to {number(cost[2])})"


def _wanted(times, accuracy):
    wanted = [
        at_most("tuning", f"{name}: search over one fit (aim 25)", _cost(times[name], times[ONE])[0], 60.0)
        for name in (FULL, EARLY)
    ]
    base = PLAIN if PLAIN in accuracy else FULL
    return wanted + [
        at_most(
            "tuning", f"{name}: points of test accuracy from the choice of {base}", abs(value - accuracy[base]), 0.2
        )
        for name, value in accuracy.items()
        if name != base
    ]
