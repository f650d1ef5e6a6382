"""Near-copies: the rare class is filled up by SMOTE, so that left-out rows have interpolated neighbours in training."""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.measure import threads
from benchmarks.harness.table import mean_sd, progress, table
from fbtwsvm import FBTWSVM

NAME = "smote"
COLUMNS = ("gamma", "seed", "balanced_accuracy", "gamma_over_scale")
NEIGHBOURS = 5


def fill_up(X, y, random):
    """Return as many rows of class 1 as of class 0: a new one lies between a row of class 1 and one near it."""
    rare = X[y == 1]
    missing = int((y == 0).sum()) - len(rare)
    near = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(rare).kneighbors(return_distance=False)
    first = random.integers(len(rare), size=missing)
    second = near[first, random.integers(NEIGHBOURS, size=missing)]
    made = rare[first] + random.random((missing, 1)) * (rare[second] - rare[first])
    return np.concatenate([X, made]), np.concatenate([y, np.ones(missing, dtype=y.dtype)])


def case(seed, rows):
    """Return the training half, filled up, and the test half as it is; a twentieth of the rows is of class 1."""
    X, y = make_classification(
        rows, 20, n_informative=10, n_redundant=0, n_clusters_per_class=1, class_sep=1.25, weights=[0.95, 0.05],
        flip_y=0.0, random_state=2,
    )  # fmt: skip
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X)
    return *fill_up(scaler.transform(X), y, np.random.default_rng(seed)), scaler.transform(X_test), y_test


def run(plan):
    record = plan.record("default_order_smote", COLUMNS)
    seeds, rows = plan.seeds or plan.pick(5, 1), plan.pick(2_000, 600)
    with threads(1):
        for seed in range(seeds):
            X, y, X_test, y_test = case(seed, rows)
            for gamma in ("auto", "scale"):
                if not record.select(gamma=gamma, seed=seed):
                    progress(f"SMOTE: gamma {gamma}, seed {seed}")
                    model = FBTWSVM(gamma=gamma, random_state=seed, n_jobs=1).fit(X, y)
                    score = balanced_accuracy_score(y_test, model.predict(X_test))
                    over_scale = model.gamma_ * X.shape[1] * X.var()
                    record.add(gamma=gamma, seed=seed, balanced_accuracy=score, gamma_over_scale=over_scale)
    lines = []
    for gamma in ("auto", "scale"):
        own = record.select(gamma=gamma)
        factors = sorted(row["gamma_over_scale"] for row in own)
        scores = mean_sd([row["balanced_accuracy"] for row in own], digits=3)
        lines.append([gamma, scores, f"{factors[0]:.3g} to {factors[-1]:.3g}"])
    title = f"Training half filled up by SMOTE, untouched test half, {seeds} splits of {rows:,} rows "
    title += '(wanted: at least 0.86 with "auto")'
    table(["gamma", "balanced accuracy", "gamma / scale"], lines, title)
