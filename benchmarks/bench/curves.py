"""Accuracy at equal training time: a ladder of feature counts for ours and three rivals, one thread, the same width.

Width: that of FBTWSVM's own gamma="auto" on the training rows, for all; its time is charged to nobody. What else there
is to choose (C and reg; C; alpha) is chosen once per data set and method, on training rows alone. Seconds are those of
fitting map and classifier together, rows in float32 in memory. Each finished job is a line of curves.csv at once.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.bench import curves_report
from benchmarks.bench.measure import threads
from benchmarks.bench.memory import measured, too_large
from benchmarks.bench.rivals import METHODS, OURS, fit_noting, gap
from benchmarks.data import load, load_stream, progress
from fbtwsvm import FBTWSVM

SETS = ("letter", "usps", "isolet", "mnist", "covtype")
LADDER = (50, 100, 200, 400, 800, 1_600, 3_200)
COVTYPE_TEST = 100_000
CHOICE_ROWS, CHOICE_FEATURES = 5_000, 400
KEY = ("dataset", "method", "n_components", "seed")
COLUMNS = (*KEY, "status", "seconds", "accuracy", "peak_bytes", "gap", "unconverged", "settings")
CHOICE_KEY = ("dataset", "method")
CHOICE_COLUMNS = (*CHOICE_KEY, "gamma", "settings", "validation_accuracy")


@dataclass(frozen=True)
class Race:
    """The rows of a data set."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def data(name, quick):
    """Return a data set; covtype is shuffled, its first 100,000 rows are for testing and scale is learned on the rest.

    The quick one has a few hundred rows.
    """
    if name != "covtype":
        parts = load(name, standardise=name == "letter")
    else:
        X, y = load_stream(name)
        order = np.random.default_rng(0).permutation(len(X))
        held = min(COVTYPE_TEST, len(X) // 4)
        test, train = order[:held], order[held:]
        scaler = StandardScaler().fit(X[train])
        parts = scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]
    if quick:
        parts = [part[: 600 if number < 2 else 400] for number, part in enumerate(parts)]
    return Race(*parts)


def width(race):
    """Return the width that our own rule finds on the training rows; the fit that comes with it is a small one."""
    return FBTWSVM(feature_map="nystroem", n_components=50, random_state=0).fit(race.X, race.y).gamma_


def choose(race, method, gamma, n_features):
    """Return the choice that does best on validation rows: two parts of the training rows, drawn at random."""
    order = np.random.default_rng(0).permutation(len(race.y))
    half = min(CHOICE_ROWS, len(order) // 2)
    train, validation = order[:half], order[half : 2 * half if half == CHOICE_ROWS else None]
    best = (-1.0, None)
    for settings in METHODS[method].choices:
        model = METHODS[method].make(gamma, min(n_features, half), 0, **settings)
        fit_noting(model, race.X[train], race.y[train])
        best = max(best, (100 * model.score(race.X[validation], race.y[validation]), settings), key=lambda b: b[0])
    return best


def settings_of(race, name, plan, record):
    """Return the width and the choice of every method, from the file where they have been made before."""
    chosen, gamma = {}, None
    for method in METHODS:
        row = record.find(dataset=name, method=method)
        if row is None:
            progress(f"{name}: choosing for {method}")
            gamma = gamma or width(race)
            accuracy, settings = choose(race, method, gamma, 60 if plan.quick else CHOICE_FEATURES)
            row = record.add(dataset=name, method=method, gamma=gamma, settings=json.dumps(settings),
                             validation_accuracy=accuracy)  # fmt: skip
        gamma, chosen[method] = row["gamma"], json.loads(row["settings"])
    return gamma, chosen


def do(race, record, key, gamma, settings):
    """Do one job and write it down; what would not fit in memory is written down as such."""
    method, count = METHODS[key["method"]], key["n_components"]
    noted = json.dumps(settings)
    if too_large(len(race.y) * count * method.bytes_per_value):
        return record.add(**key, status="no memory", settings=noted)
    model = method.make(gamma, count, key["seed"], **settings)
    found = measured(lambda: fit_noting(model, race.X, race.y))
    model, unconverged = found.result
    return record.add(
        **key, status="ok", seconds=found.seconds, accuracy=100 * model.score(race.X_test, race.y_test),
        peak_bytes=found.peak, gap=gap(model), unconverged=int(unconverged), settings=noted,
    )  # fmt: skip


def climb(race, name, plan, record, gamma, chosen):
    """Go up the ladder, methods in turns; one whose fit passes the limit, or memory, goes no further."""
    running = list(METHODS)
    for count in (50, 100) if plan.quick else LADDER:
        for seed in range(plan.seeds):
            for method in list(running):
                key = {"dataset": name, "method": method, "n_components": count, "seed": seed}
                row = record.find(**key)
                if row is None:
                    progress(f"{name}: {method}, {count} features, seed {seed}")
                    row = do(race, record, key, gamma, chosen[method])
                if row["status"] != "ok" or row["seconds"] > plan.limit:
                    running.remove(method)


def warm_up(race, gamma, chosen, quick):
    """Compile what fits of many rows with few features need, and of few rows with many; wake what is slow at first."""
    for method, settings in chosen.items():
        fit_noting(METHODS[method].make(gamma, 50 if quick else 400, 0, **settings), race.X[:600], race.y[:600])
    fit_noting(METHODS[OURS].make(gamma, 50, 0, **chosen[OURS]), race.X, race.y)


def run(plan):
    """Race on all sets."""
    record = plan.record("curves", COLUMNS, KEY)
    choices = plan.record("curves_settings", CHOICE_COLUMNS, CHOICE_KEY)
    with threads(1):
        for name in SETS:
            race = data(name, plan.quick)
            gamma, chosen = settings_of(race, name, plan, choices)
            warm_up(race, gamma, chosen, plan.quick)
            climb(race, name, plan, record, gamma, chosen)
    return curves_report.report(plan, record, choices, SETS, OURS)
