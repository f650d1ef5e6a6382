"""Seconds of FBTWSVMCV on a million rows on a GPU."""

from benchmarks.gpu.accuracy import timed
from benchmarks.gpu.base import GAMMA, header, made_rows
from benchmarks.gpu.speed import model
from benchmarks.harness.table import table
from fbtwsvm import FBTWSVMCV

PUBLISHED = "TorchKM, published, another card: 1.27 million rows, 50 values of C"


def run(plan):
    header()
    n, features = (30_000, 50) if plan.quick else (1_000_000, 1000)
    X, y, _ = made_rows(n)
    X_test, y_test, _ = made_rows(n // 10, seed=1000)
    grid = {"gamma": [GAMMA * 2.0**k for k in range(-2, 3)]}
    grid["membership"] = None
    grid |= {"C": [10.0**k for k in range(-2, 3)], "reg": [10.0**k for k in range(-4, 1)]}
    search = FBTWSVMCV(model(features, metric="none"), **grid, cv=3, sample=None, early_stop=False, random_state=0)
    _, spent = timed(search.fit, X, y)
    hits, best = 100 * search.score(X_test, y_test), search.best_params_
    chosen = ", ".join(f"{name} {value}" for name, value in best.items())
    lines = [
        (
            f"FBTWSVMCV, {n:,} rows, {features:,} features, 5 gammas x 25, 3 folds",
            f"{spent:.1f}",
            f"{hits:.2f}",
            chosen,
        ),
        (PUBLISHED, "64.7", "", ""),
    ]
    table(("search", "s", "accuracy", "chosen"), lines, "Searching on a GPU")
