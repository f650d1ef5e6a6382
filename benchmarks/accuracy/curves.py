"""Accuracy at equal training time: ours and three rivals with more and more features, one thread, the same gamma.

gamma is that of gamma="auto" on the training rows; its time is charged to nobody. C, reg and alpha are chosen once per
data set and method, on training rows alone.
"""

import json
import time
import warnings
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.data import load, load_stream
from benchmarks.harness.measure import threads, too_large
from benchmarks.harness.plot import COLOURS, grid, legend_below, log_axis, save
from benchmarks.harness.table import number, optional, progress, table
from benchmarks.rivals.methods import METHODS, OURS
from fbtwsvm import FBTWSVM

SETS = ("letter", "usps", "isolet", "mnist", "covtype")
FEATURES = (50, 100, 200, 400, 800, 1_600, 3_200)
CHOICE_ROWS, CHOICE_FEATURES = 5_000, 400
COLUMNS = ("dataset", "method", "n_components", "seed", "status", "seconds", "accuracy")


def data(name, quick):
    """Return the parts of a data set; covtype is shuffled and tested on its first 100,000 rows."""
    if name != "covtype":
        parts = load(name, scaled=True)
    else:
        X, y = load_stream(name)
        order = np.random.default_rng(0).permutation(len(X))
        held = min(100_000, len(X) // 4)
        test, train = order[:held], order[held:]
        scaler = StandardScaler().fit(X[train])
        parts = scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]
    return [part[:600] for part in parts] if quick else parts


def choose(X, y, method, gamma, n_features):
    """Return validation accuracy and settings of the best choice; both parts are drawn from the training rows."""
    order = np.random.default_rng(0).permutation(len(y))
    half = min(CHOICE_ROWS, len(order) // 2)
    train, validation = order[:half], order[half : 2 * half]
    make, options, _ = METHODS[method]
    scores = []
    for settings in options:
        model = make(gamma, min(n_features, half), 0, **settings).fit(X[train], y[train])
        scores.append(100 * model.score(X[validation], y[validation]))
    best = int(np.argmax(scores))
    return scores[best], options[best]


def at_edge(method, settings):
    """Return the names of the settings at an end of their grid: a wider grid might have done better."""
    values = {name: {choice[name] for choice in METHODS[method][1]} for name in settings}
    return [name for name, own in values.items() if len(own) > 1 and settings[name] in (min(own), max(own))]


def choices_of(name, X, y, quick):
    """Return gamma, and validation accuracy and settings of every method."""
    gamma, chosen = FBTWSVM(feature_map="nystroem", n_components=50, random_state=0).fit(X, y).gamma_, {}
    for method in METHODS:
        progress(f"{name}: choosing for {method}")
        chosen[method] = choose(X, y, method, gamma, 60 if quick else CHOICE_FEATURES)
    return gamma, chosen


def do(parts, record, key, gamma, settings):
    """Fit and test once and write it down; what does not fit in memory is written down as such."""
    X, y, X_test, y_test = parts
    (make, _, bytes_per_value), count = METHODS[key["method"]], key["n_components"]
    if too_large(len(y) * count * bytes_per_value):
        return record.add(**key, status="no memory")
    start = time.perf_counter()
    model = make(gamma, count, key["seed"], **settings).fit(X, y)
    seconds = time.perf_counter() - start
    return record.add(**key, status="ok", seconds=seconds, accuracy=100 * model.score(X_test, y_test))


def fit_all(name, parts, plan, record, gamma, chosen, limit):
    """Fit with more and more features, methods in turns; a method ends where a fit exceeds the limit or memory."""
    running = list(METHODS)
    for count in plan.pick(FEATURES, FEATURES[:2]):
        for seed in range(plan.seeds or plan.pick(5, 1)):
            for method in list(running):
                key = {"dataset": name, "method": method, "n_components": count, "seed": seed}
                rows = record.select(**key)
                if not rows:
                    progress(f"{name}: {method}, {count} features, seed {seed}")
                    rows = [do(parts, record, key, gamma, chosen[method][1])]
                if rows[0]["status"] != "ok" or rows[0]["seconds"] > limit:
                    running.remove(method)


@dataclass(frozen=True)
class Curve:
    """The best accuracy reached within t seconds: a step function, -inf before its first time."""

    seconds: np.ndarray
    best: np.ndarray

    @classmethod
    def of(cls, seconds, accuracy):
        """Make the curve from the seconds and accuracies of all settings."""
        order = np.argsort(seconds, kind="stable")
        return cls(np.asarray(seconds, dtype=float)[order], np.maximum.accumulate(np.asarray(accuracy, float)[order]))

    def at(self, t):
        """Return the best accuracy within t seconds."""
        place = int(np.searchsorted(self.seconds, t, side="right"))
        return float(self.best[place - 1]) if place else -np.inf

    def area(self, low, high):
        """Return the mean of the curve over log t from low to high; None where it begins later, or low >= high."""
        if not low < high or self.seconds[0] > low:
            return None
        inside = self.seconds[(self.seconds > low) & (self.seconds < high)]
        edges = np.concatenate([[low], inside, [high]])
        values = [self.at(t) for t in edges[:-1]]
        return float(np.dot(values, np.diff(np.log(edges))) / np.log(high / low))


def crossings(curves):
    """Return the stretches (from, to, method, largest lead) in which another method is ahead of ours.

    The lead is inf in a stretch before ours has begun.
    """
    edges = np.unique(np.concatenate([curve.seconds for curve in curves.values()]))
    found = []
    for start, end in pairwise(edges):
        values = {name: curve.at(start) for name, curve in curves.items()}
        leader = max(values, key=lambda name: (values[name], name == OURS))
        if leader == OURS:
            continue
        lead = values[leader] - values[OURS]
        goes_on = found and found[-1][1:3] == (start, leader) and np.isinf(found[-1][3]) == np.isinf(lead)
        if goes_on:
            found[-1] = (found[-1][0], float(end), leader, max(found[-1][3], lead))
        else:
            found.append((float(start), float(end), leader, lead))
    return found


def complete(rows, seeds, limit):
    """Return {n_components: rows of all seeds} of one method, without sizes that are incomplete or over the limit."""
    found = {}
    for row in sorted(rows, key=lambda row: (row["n_components"], row["seed"])):
        if row["status"] == "ok" and row["seconds"] <= limit and row["seed"] < seeds:
            found.setdefault(row["n_components"], []).append(row)
    return {count: own for count, own in found.items() if len(own) == seeds}


def curve_of(sizes, seed=None):
    """Return the curve of mean accuracy against mean seconds, or of one seed's accuracy at the same seconds."""
    seconds = [np.mean([row["seconds"] for row in own]) for own in sizes.values()]
    seeds = slice(None) if seed is None else slice(seed, seed + 1)
    return Curve.of(seconds, [np.mean([row["accuracy"] for row in own[seeds]]) for own in sizes.values()])


def area_lines(name, found, seeds):
    """Return the lines of the table of areas.

    From the time at which every method has a result to the end of our largest setting; the other area ends where the
    first method ends.
    """
    curves = {method: curve_of(sizes) for method, sizes in found.items()}
    low = max(curve.seconds[0] for curve in curves.values())
    high, other = curves[OURS].seconds[-1], min(curve.seconds[-1] for curve in curves.values())
    lines = []
    for method, sizes in found.items():
        single = [curve_of(sizes, seed).area(low, high) for seed in range(seeds)]
        area, shorter = (optional(curves[method].area(low, end), ".2f") for end in (high, other))
        spread = "-" if None in single else f"{min(single):.2f} to {max(single):.2f}"
        lines.append([name, method, area, spread, number(low), number(high), shorter, number(other)])
    return lines


def report(plan, record, sets, seeds, limit):
    lines, ahead, pictures = [], [], {}
    for name in sets:
        found = {m: complete(record.select(dataset=name, method=m), seeds, limit) for m in METHODS}
        found = {method: own for method, own in found.items() if own}
        if OURS not in found:
            print(f"{name}: none of our fits ended in time.")
            continue
        pictures[name] = found
        lines += area_lines(name, found, seeds)
        for start, end, who, lead in crossings({method: curve_of(own) for method, own in found.items()}):
            by = "ours has not begun" if np.isinf(lead) else f"{lead:.2f}"
            ahead.append([name, f"{number(start)} to {number(end)}", who, by])
    title = "Area under the best accuracy within t seconds, over log t, as an average accuracy"
    table(["data", "method", "area", "seeds", "from: s", "to: s", "other area", "to: s"], lines, title)
    title = "Where another method is ahead of ours, on the mean of the seeds"
    table(["data", "seconds", "ahead", "by at most"], ahead or [["-", "-", "nobody", "-"]], title)
    if pictures:
        draw(plan.out / "curves.png", pictures)


def draw(path, pictures):
    figure, panels = grid(len(pictures))
    for axes, (name, found) in zip(panels, pictures.items(), strict=True):
        for colour, method in zip(COLOURS, METHODS, strict=True):
            sizes = found.get(method)
            if not sizes:
                continue
            steps = curve_of(sizes)
            axes.step(steps.seconds, steps.best, where="post", color=colour, lw=1.5, label=method)
            for own in sizes.values():
                scores, t = [row["accuracy"] for row in own], np.mean([row["seconds"] for row in own])
                axes.plot([t, t], [min(scores), max(scores)], color=colour, lw=1)
                axes.plot(t, np.mean(scores), "o", color=colour, ms=4)
        axes.set(title=name, xlabel="seconds of fit, one thread", ylabel="test accuracy, %")
        log_axis(axes.xaxis)
    figure.suptitle("Best accuracy within a training time; points: each setting, bars: all seeds", fontsize=11)
    legend_below(figure, panels)
    save(figure, path)


def run(plan):
    record = plan.record("curves", COLUMNS)
    sets, limit, lines = plan.chosen(SETS, ["letter"]), plan.limit or plan.pick(60.0, 2.0), []
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threads(1):
        for name in sets:
            parts = data(name, plan.quick)
            gamma, chosen = choices_of(name, *parts[:2], plan.quick)
            for method, (accuracy, settings) in chosen.items():
                METHODS[method][0](gamma, 50, 0, **settings).fit(parts[0], parts[1])  # compiles
                edges = ", ".join(at_edge(method, settings)) or "-"
                lines.append([name, method, f"{gamma:.4g}", json.dumps(settings), f"{accuracy:.2f}", edges])
            fit_all(name, parts, plan, record, gamma, chosen, limit)
    header = ["data", "method", "gamma", "settings", "validation accuracy", "at an end of its grid"]
    table(header, lines, "What was chosen on training rows")
    report(plan, record, sets, plan.seeds or plan.pick(5, 1), limit)
