"""Models that are tuned on training rows: FBTWSVMCV, and an SVC by grid search; and what a search costs, in fits."""

import json
import math

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from benchmarks.harness.data import gamma_scale, load
from benchmarks.harness.measure import Times, interleaved, measured, ratio, seconds_of, threads
from benchmarks.harness.table import mebibytes, progress, table
from benchmarks.rivals.methods import largest_gap
from fbtwsvm import FBTWSVM, FBTWSVMCV

UNTUNED, TUNED = "FBTWSVM()", "FBTWSVMCV"
FACTORS = tuple(2.0**power for power in range(-4, 5))  # of gamma "scale"
PRICES = (1.0, 10.0, 100.0, 1000.0)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def tuned_svc(X, y, rows, factors=FACTORS, prices=PRICES):
    """Return an SVC with the best gamma and C of 3 folds of `rows`, fitted on all rows, and its parameters."""
    grid = {"gamma": [gamma_scale(X) * factor for factor in factors], "C": prices}
    search = GridSearchCV(SVC(cache_size=1000), grid, cv=FOLDS, refit=False).fit(X[rows], y[rows])
    return SVC(cache_size=1000, **search.best_params_).fit(X, y), search.best_params_


def ours(method, X, y, seed):
    model = FBTWSVM(random_state=seed, n_jobs=1)
    if method == UNTUNED:
        model.fit(X, y)
        return model, {"gamma": float(model.gamma_)}
    search = FBTWSVMCV(model, random_state=seed).fit(X, y)
    return search.best_estimator_, search.best_params_


GAMMAS = (0.5, 1.0, 2.0, 4.0, 8.0)  # times "scale"
C = (0.25, 1.0, 4.0, 16.0, 64.0)
REG = (0.001, 0.003, 0.01, 0.03, 0.1)


def runs_of(X, y, quick):
    every = slice(1, None, 2) if quick else slice(None)
    grid = {"gamma": [f * gamma_scale(X) for f in GAMMAS[every]], "C": list(C[every]), "reg": list(REG[every])}
    count = 40 if quick else 400
    model = FBTWSVM(feature_map="fourier", n_components=count, decision="value", random_state=0, n_jobs=1)
    middle = clone(model).set_params(**{name: values[len(values) // 2] for name, values in grid.items()})
    train, test = next(iter(FOLDS.split(X, y)))

    def search(early_stop):
        options = {"membership": None, "sample": None, "early_stop": early_stop}
        return measured(lambda: FBTWSVMCV(model, **grid, **options, cv=FOLDS).fit(X, y))

    runs = {
        "one fit": lambda: clone(middle).fit(X, y),
        "fold": lambda: clone(middle).fit(X[train], y[train]).score(X[test], y[test]),
        "FBTWSVMCV": lambda: search(False),
        "FBTWSVMCV, early_stop": lambda: search(True),
    }
    return runs, 3 * math.prod(map(len, grid.values()))


def run(plan):
    X, y, X_test, y_test = load("letter", scaled=True)
    X, y = X[: plan.pick(None, 600)], y[: plan.pick(None, 600)]
    lines = []
    with threads(1):
        progress("letter: compiling")
        interleaved(1, runs_of(X[:500], y[:500], True)[0])
        progress("letter: searching")
        runs, fits = runs_of(X, y, plan.quick)
        times = interleaved(plan.repeats or plan.pick(3, 1), runs)
    one, fold = times.pop("one fit"), times.pop("fold")
    for method, own in times.items():
        model, peak = own.result.result, own.result.peak
        refit = own.seconds[-1] - model.search_time_  # the searches are compared without their last fit
        own.seconds = [seconds - refit for seconds in own.seconds]
        best = model.best_estimator_
        with threads(1):
            chosen = Times([seconds_of(clone(best).fit, X, y) for _ in own.seconds])
        cost = [ratio(own, chosen), ratio(own, one)]
        accuracy, settings = 100 * best.score(X_test, y_test), json.dumps(model.best_params_, default=float)
        cells = [f"{100 * model.best_score_:.2f}", f"{accuracy:.2f}", f"{largest_gap(best):.1e}", mebibytes(peak)]
        lines.append([method, own, *cost, *cells, settings])
    guess = Times([fits * seconds for seconds in fold.seconds])
    lines.append([f"GridSearchCV, estimated: {fits} x a fold's fit", guess, "-", ratio(guess, one), *["-"] * 5])
    title = (
        f"letter, {len(X):,} rows: search without its last fit, one thread; one fit with the middle setting: {one} s"
    )
    title += "\n(wanted: at most 25 fits with the chosen parameters with early_stop, 40 without)"
    header = [
        "search",
        "seconds",
        "in fits, chosen",
        "in fits, middle",
        "CV score",
        "test accuracy",
        "gap",
        "peak: MiB",
    ]
    table([*header, "chosen"], lines, title)
