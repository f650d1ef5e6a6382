"""Figure 1, tuning: the search over one C and one reg (2-D) against two of each (4-D), on two classes of overlap.

The paper compares how many evaluations each search needs and which loss it reaches.  Both search the same values on a
grid; the order of evaluations is random, and curves are means over many orders.
"""

import itertools

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold

from benchmarks.data import load
from benchmarks.reproduce import published
from benchmarks.reproduce.runs import Job
from benchmarks.reproduce.tables import Table
from benchmarks.reproduce.worker import job, peak
from fbtwsvm import FBTWSVM
from fbtwsvm.features import FourierFeatures

FULL, QUICK = np.geomspace(2**-3, 2**5, 7).tolist(), [0.25, 1.0, 4.0, 16.0]
ORDERS = 200


@job
def search(name, dimensions, grid, most=None, **_):
    """Evaluate every point of a grid by 3-fold cross-validation, on the two classes with the nearest means."""
    X, y, _, _ = load(name)
    rows = np.flatnonzero(np.isin(y, nearest_classes(X, y)))[:most]
    X, y = X[rows], y[rows]
    setting = published.SETTINGS[name]
    features = FourierFeatures(gamma=setting.gamma, n_components=setting.features, random_state=0).fit(X)
    splits = list(StratifiedKFold(3).split(X, y))
    points = list(itertools.product(grid, repeat=dimensions))
    for number, point in enumerate(points):
        C, reg = (point[0], point[1]) if dimensions == 2 else (point[:2], point[2:])
        reg = np.divide(reg, setting.features).tolist()
        right = 0
        for train, test in splits:
            model = FBTWSVM(
                feature_map=FrozenEstimator(features), C=C, reg=reg, mu=0.1, decision="distance", random_state=0
            )
            right += int((model.fit(X[train], y[train]).predict(X[test]) == y[test]).sum())
        yield {"seed": number, "accuracy": 100.0 * right / len(y), "point": point, "peak_mib": peak(), "rows": len(y)}


def nearest_classes(X, y):
    """Return the two labels whose means are nearest."""
    labels = np.unique(y)
    means = np.array([X[y == label].mean(axis=0) for label in labels])
    distances = ((means[:, None] - means) ** 2).sum(axis=2) + np.diag(np.full(len(labels), np.inf))
    return labels[list(np.unravel_index(distances.argmin(), distances.shape))].tolist()


def convergence(losses, seed=0):
    """Return the least loss after each evaluation, for many random orders: an array (orders, evaluations)."""
    random = np.random.default_rng(seed)
    losses = np.asarray(losses)
    return np.array([np.minimum.accumulate(losses[random.permutation(len(losses))]) for _ in range(ORDERS)])


def run(runner, plan):
    """Measure, and return the table."""
    jobs = [
        Job("tuning", "overlap", f"{dimensions}-D", kind="search", setting="grid", limited=False,
            options={"dimensions": dimensions, "grid": plan.grid, "most": plan.tuning_rows})
        for dimensions in (2, 4)
    ]  # fmt: skip
    rows, target = [], None
    for task, results in zip(jobs, runner.do(jobs, at_once=plan.at_once), strict=True):
        losses = [1.0 - row["accuracy"] / 100.0 for row in results if row["status"] == "ok"]
        printed = published.TUNING[task.method]
        if not losses:
            rows.append([task.method, results[0]["status"], "-", "-", "-", str(printed[0]), f"{printed[1]:.4f}"])
            continue
        curves = convergence(losses)
        target = curves.min() if target is None else target
        needed, for_target = (np.median((curves > goal + 1e-12).sum(axis=1) + 1) for goal in (curves.min(), target))
        rows.append([
            task.method, f"{len(losses):,}", f"{min(losses):.4f}", f"{needed:,.0f}", f"{for_target:,.0f}",
            f"{printed[0]:,}", f"{printed[1]:.4f}",
        ])  # fmt: skip
    return [
        Table(
            "Tuning: one C and one reg (2-D) against two of each (4-D), two classes of overlap",
            ["search", "points of the grid", "least loss", "evaluations until then (median)",
             "evaluations until the loss of 2-D", "paper: evaluations", "paper: loss"],
            rows,
            [
                "Loss: one minus the accuracy of 3-fold cross-validation. C, and reg times the "
                f"{published.SETTINGS['overlap'].features}"
                f" features, take the values {', '.join(f'{value:.3g}' for value in plan.grid)}; points are "
                "evaluated in random order"
                f" ({ORDERS} orders). The paper does not say for which classes or grid its figures are: compare the "
                "shape.",
            ],
            ["tuning.png"],
        )
    ]  # fmt: skip
