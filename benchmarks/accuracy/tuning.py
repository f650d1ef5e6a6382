"""What a search with FBTWSVMCV over 125 settings in 3 folds costs, in fits, and whether it chooses as well."""

import json
import math

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import fbtwsvm
from benchmarks.harness.data import gamma_scale, load
from benchmarks.harness.measure import Ratio, Run, Times, interleaved, measured, threads
from benchmarks.harness.table import mebibytes, progress, table
from benchmarks.rivals.methods import largest_gap

FULL, EARLY, PLAIN = "FBTWSVMCV", "FBTWSVMCV, early_stop", "GridSearchCV"
GAMMAS = (0.5, 1.0, 2.0, 4.0, 8.0)  # times "scale"
C = (0.25, 1.0, 4.0, 16.0, 64.0)
REG = (0.001, 0.003, 0.01, 0.03, 0.1)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
COLUMNS = ("method", "seconds", "ratio", "estimated", "cv_score", "accuracy", "settings", "gap", "peak_bytes")


def grid_of(X, quick):
    """Return the values to try."""
    every = slice(1, None, 2) if quick else slice(None)
    return {
        "gamma": [factor * gamma_scale(X) for factor in GAMMAS[every]],
        "C": list(C[every]),
        "reg": list(REG[every]),
    }


def estimator(quick):
    """Return the model whose settings are searched."""
    count = 40 if quick else 400
    return fbtwsvm.FBTWSVM(feature_map="fourier", n_components=count, decision="value", random_state=0, n_jobs=1)


def search(X, y, quick, method):
    """Return a finished search, its peak memory, and its seconds without the last fit."""
    grid = grid_of(X, quick)
    if method == PLAIN:
        model = GridSearchCV(estimator(quick), grid, cv=FOLDS)
    else:
        options = {"membership": None, "sample": None, "early_stop": method == EARLY}
        model = fbtwsvm.FBTWSVMCV(estimator(quick), **grid, **options, cv=FOLDS)
    found = measured(lambda: model.fit(X, y))
    seconds = found.seconds - model.refit_time_ if method == PLAIN else model.search_time_
    return model, found.peak, seconds


def unit_times(X, y, quick, repeats):
    """Return the times of one fit with the middle setting, and of one fit and score of a fold."""
    middle = {name: values[len(values) // 2] for name, values in grid_of(X, quick).items()}
    model = estimator(quick).set_params(**middle)
    train, test = next(iter(FOLDS.split(X, y)))
    clone(model).fit(X, y)  # compiles
    runs = {"one": Run(lambda: clone(model).fit(X, y))}
    runs["fold"] = Run(lambda: clone(model).fit(X[train], y[train]).score(X[test], y[test]))
    times = interleaved(repeats, runs)
    return times["one"], times["fold"]


def cost(times, one):
    """Return the ratio to one fit."""
    return Ratio(times.least / one.least, times.least / one.most, times.most / one.least)


def run(plan):
    """Measure both searches, and the plain one with --full-grid; otherwise its time is estimated."""
    X, y, X_test, y_test = load("letter", scaled=True)
    X, y = X[: plan.pick(None, 600)], y[: plan.pick(None, 600)]
    repeats = plan.repeats or plan.pick(3, 1)
    record, lines = plan.record("tuning", COLUMNS), []
    with threads(1):
        one, fold = unit_times(X, y, plan.quick, repeats)
        search(X[:500], y[:500], True, FULL)  # compiles
        for method in (FULL, EARLY, *([PLAIN] if plan.full_grid else [])):
            progress(f"letter: {method}")
            found = [search(X, y, plan.quick, method) for _ in range(1 if method == PLAIN else repeats)]
            times, model, peak = Times([seconds for _, _, seconds in found]), found[-1][0], found[-1][1]
            accuracy, gap = 100 * model.best_estimator_.score(X_test, y_test), largest_gap(model.best_estimator_)
            settings = json.dumps(model.best_params_, default=float)
            record.add(method=method, seconds=times.least, ratio=cost(times, one).value, estimated=0, gap=gap,
                       cv_score=model.best_score_, accuracy=accuracy, settings=settings, peak_bytes=peak)  # fmt: skip
            cells = [f"{100 * model.best_score_:.2f}", f"{accuracy:.2f}", f"{gap:.1e}", mebibytes(peak), settings]
            lines.append([method, times, cost(times, one), *cells])
    if not plan.full_grid:
        fits = 3 * math.prod(len(values) for values in grid_of(X, plan.quick).values())
        times = Times([fits * seconds for seconds in fold.seconds])
        record.add(method=PLAIN, seconds=times.least, ratio=cost(times, one).value, estimated=1)
        lines.append([f"{PLAIN}, estimated: {fits} x a fold's fit", times, cost(times, one), *["-"] * 5])
    title = (
        f"letter, {len(X):,} rows: search without its last fit, one thread; one fit with the middle setting: {one} s"
    )
    title += "\n(wanted: at most 60 fits)"
    table(["search", "seconds", "in fits", "CV score", "test accuracy", "gap", "peak: MiB", "chosen"], lines, title)
