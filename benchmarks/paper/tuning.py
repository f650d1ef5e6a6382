"""Tuning: the search over one C and one reg (2-D) against two of each (4-D), on two classes of overlap.

The paper compares how many evaluations each search needs and which loss it reaches. Both search the same values on a
grid; the order of evaluations is random, and curves are means over many orders.
"""

import itertools

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold

from benchmarks.harness.data import load
from benchmarks.harness.table import table
from benchmarks.paper import figures, published
from benchmarks.paper.jobs import COLUMNS, Job, do
from fbtwsvm import FBTWSVM
from fbtwsvm.features import FourierFeatures

FULL, QUICK = np.geomspace(2**-3, 2**5, 7).tolist(), [0.5, 8.0]
ORDERS = 200


def search(name, method, d, dimensions, grid, most=None):
    X, y, _, _ = load(name)
    rows = np.flatnonzero(np.isin(y, nearest_classes(X, y)))[:most]
    X, y = X[rows], y[rows]
    count, gamma = published.SETTINGS[name]["features"], published.SETTINGS[name]["gamma"]
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


def run(plan):
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
