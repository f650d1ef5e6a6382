"""Which reading of the paper gives its figures: each choice that docs/paper.md speaks of, measured.

All start from the paper's settings (random Fourier features, mu = 0.1, distances) and change one thing. `tuning` is
the search over one C and one reg (2-D) against two of each (4-D), both in a random order over the same grid of values.
"""

import itertools

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsOneClassifier

from benchmarks.harness.data import load, shuffled
from benchmarks.harness.table import mean_sd, progress, table
from benchmarks.paper import figures, published
from benchmarks.paper.jobs import COLUMNS, Job, do, learn_prequential
from benchmarks.paper.published import ACCURACY, SETTINGS
from benchmarks.paper.settings import papers_settings
from fbtwsvm import FBTWSVM
from fbtwsvm.features import FourierFeatures


def batch(name, seeds, *, wrap=lambda model: model, scale=lambda X: X, relabel=None, **changes):
    """Return test accuracies of models fitted to all rows, one for each random map."""
    X, y, X_test, y_test = load(name)
    if relabel is not None:
        y, y_test = relabel[y], relabel[y_test]
    found = []
    for seed in range(seeds):
        model = wrap(FBTWSVM(random_state=seed, **papers_settings(name, X, **changes)))
        found.append(100 * model.fit(scale(X), y).score(scale(X_test), y_test))
    return found


def paper(name):
    return f"{ACCURACY[name][1]:.2f} +- {ACCURACY[name][2]:.2f}"


def readings_of(name):
    ridge, box, n = (SETTINGS[name][key] for key in ("ridge", "box", "features"))
    pairs = {"wrap": OneVsOneClassifier}
    return {
        "as we read it": {},
        "features normalised, ridge as printed": {"reg": float(ridge)},
        "C as in the printed equations": {**pairs, "C": (box, ridge), "reg": (box / n, ridge / n)},
        "the same pairs, C as we read it": {**pairs, "C": (box, box), "reg": (ridge / n, ridge / n)},
        "memberships as printed, not rescaled": {"membership": "printed"},
        "no memberships": {"membership": "none"},
        "mu = 0.01, as in the code's examples": {"mu": 0.01},
        "mu = 0.5": {"mu": 0.5},
        "plain values instead of distances": {"decision": "value"},
        "learned offsets instead of distances": {"decision": "calibrated"},
    }


def settings(plan, seeds):
    names = plan.pick(("border", "overlap", "letter", "dna"), ("border",))
    lines = [["the paper", *map(paper, names)]]
    for reading in readings_of("border"):
        progress(reading)
        cells = [mean_sd(batch(name, seeds, **readings_of(name)[reading])) for name in names]
        lines.append([reading, *cells])
    title = f"Readings of the settings: test accuracy in %, all rows at once, {seeds} random maps"
    table(["reading", *names], lines, title)


def accept(plan, seeds):
    names, lines = plan.pick(("border", "overlap", "dna"), ("border",)), []
    for statistics in ("kept", "all"):
        for rule in ("inside", "outside", "kkt", "all"):
            progress(f"accept={rule}, statistics={statistics}")
            changes = {"statistics": statistics, "accept": rule, "second_look": 0, "memory": None}
            cells = []
            for name in names:
                found, kept, first = [], [], SETTINGS[name]["first"]
                for seed in range(seeds):
                    X, y, X_test, y_test = shuffled(name, seed)
                    model = FBTWSVM(random_state=seed, warm_up=first, **papers_settings(name, X, **changes))
                    learn_prequential(model, X, y, first, solve_each=True)
                    found.append(100 * model.score(X_test, y_test))
                    kept.append(model.inspect().kept)
                cells.append(f"{mean_sd(found)} ({np.mean(kept):.0f})")
            lines.append([rule, statistics, *cells])
    title = f"Which new rows are kept: test accuracy in % (rows kept), one pass, nothing forgotten, {seeds} seeds"
    table(["accept", "statistics", *names], lines, title)


def order(plan, seeds):
    lines = []
    for name in plan.pick(("overlap", "letter", "coil", "isolet"), ("overlap",)):
        progress(f"{name}: orders of classes")
        n_classes = len(np.unique(load(name)[1]))
        orders = [np.random.default_rng(number).permutation(n_classes) for number in range(seeds)]
        others = [batch(name, 1, relabel=relabel)[0] for relabel in orders]
        plain, vote = batch(name, 1)[0], batch(name, 1, multiclass="vote")[0]
        lines.append([name, n_classes, f"{plain:.2f}", mean_sd(others), f"{vote:.2f}"])
    title = f"The order in which classes meet: test accuracy in %, one random map, {seeds} random orders"
    table(["data", "classes", "sorted, winner stays", "other orders", "all pairs vote"], lines, title)


def half(X):
    return (X + 1) / 2


GAMMAS = (
    ("outdoor", "gamma 0.001, as printed", {"gamma": 0.001}),
    ("outdoor", "gamma 2.5", {}),
    ("usps", "gamma 0.007 on [-1, 1], as printed", {}),
    ("usps", "gamma 0.007 on [0, 1]", {"scale": half}),
    ("usps", "gamma 0.007 on [0, 1], ridge 20 instead of 2", {"scale": half, "reg": 20 / 1000}),
    ("usps", "gamma 0.007 on [-1, 1], 2,000 features", {"n_components": 2000, "reg": 2 / 2000}),
    ("usps", "gamma 0.007 on [0, 1], 2,000 features", {"scale": half, "n_components": 2000, "reg": 2 / 2000}),
)


def gamma(plan, seeds):
    lines = []
    for name, words, changes in plan.pick(GAMMAS, GAMMAS[:2]):
        progress(f"{name}: {words}")
        lines.append([name, words, mean_sd(batch(name, seeds, **changes)), paper(name)])
    title = f"Settings that do not give the printed figures: test accuracy in %, all rows, {seeds} random maps"
    table(["data", "reading", "here", "paper"], lines, title)


def run(plan):
    for part in plan.chosen(("settings", "accept", "order", "gamma")):
        globals()[part](plan, plan.seeds or plan.pick(5, 1))


FULL, QUICK = np.geomspace(2**-3, 2**5, 7).tolist(), [0.5, 8.0]
ORDERS = 200


def search(name, method, d, dimensions, grid, most=None):
    X, y, _, _ = load(name)
    rows = np.flatnonzero(np.isin(y, nearest_classes(X, y)))[:most]
    X, y = X[rows], y[rows]
    count, gamma = SETTINGS[name]["features"], SETTINGS[name]["gamma"]
    features = FourierFeatures(gamma=gamma, n_components=count, random_state=0).fit(X)
    shared = {"feature_map": FrozenEstimator(features), "mu": 0.1, "decision": "distance", "random_state": 0}
    for number, point in enumerate(itertools.product(grid, repeat=dimensions)):
        C, reg = (point[0], point[1]) if dimensions == 2 else (point[:2], point[2:])
        reg = np.divide(reg, count).tolist()
        right = 0
        for train, test in StratifiedKFold(3).split(X, y):
            model = FBTWSVM(C=C, reg=reg, **shared).fit(X[train], y[train])
            right += int((model.predict(X[test]) == y[test]).sum())
        yield {"seed": number, "accuracy": 100.0 * right / len(y), "rows": len(y)}


def nearest_classes(X, y):
    labels = np.unique(y)
    means = np.array([X[y == label].mean(axis=0) for label in labels])
    distances = ((means[:, None] - means) ** 2).sum(axis=2) + np.diag(np.full(len(labels), np.inf))
    return labels[list(np.unravel_index(distances.argmin(), distances.shape))].tolist()


def convergence(losses):
    """Return the least loss after each evaluation, for many random orders: an array (orders, evaluations)."""
    random, losses = np.random.default_rng(0), np.asarray(losses)
    return np.array([np.minimum.accumulate(losses[random.permutation(len(losses))]) for _ in range(ORDERS)])


def tuning(plan):
    record = plan.record("paper_tuning", COLUMNS)
    options = {"grid": plan.pick(FULL, QUICK), "most": plan.pick(None, 200)}
    jobs = [
        Job(search, "overlap", f"{n}-D", "grid", options={"dimensions": n, **options}, limited=False) for n in (2, 4)
    ]
    lines, found, target = [], {}, None
    for job, results in ((job, do(record, job, None)) for job in jobs):
        losses = [1.0 - row["accuracy"] / 100.0 for row in results]
        found[job.method] = curves = convergence(losses)
        target = curves.min() if target is None else target
        needed = [np.median((curves > goal + 1e-12).sum(axis=1) + 1) for goal in (curves.min(), target)]
        evaluations, loss = published.TUNING[job.method]
        lines.append([job.method, f"{len(losses):,}", f"{min(losses):.4f}", *(f"{n:,.0f}" for n in needed),
                      f"{evaluations:,}", f"{loss:.4f}"])  # fmt: skip
    header = ["search", "points of the grid", "least loss", "evaluations until then (median)",
              "evaluations until the loss of 2-D", "paper: evaluations", "paper: loss"]  # fmt: skip
    table(header, lines, "Tuning: one C and one reg (2-D) against two of each (4-D), two classes of overlap")
    figures.tuning(found, plan.out / "paper_tuning.png")
