"""Accuracy with Nystroem features of the paper's sizes; gamma and C by 3-fold search on the training part.

Its rows keep their order and folds are contiguous, so that the speakers and writers of one are new to the others.

    FBTWSVM_DATA=... python -m benchmarks.nystroem [--seeds 3] [names ...]

mnist is fitted with gamma = 0.02 and the default C, in two sizes.
"""

import argparse

import numpy as np
from sklearn.model_selection import GridSearchCV

from benchmarks.data import load, progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.features.kernels import gamma_scale

# name: (features, what we ask of ourselves)
SETTINGS = {"letter": (350, 97.2), "dna": (500, 94.5), "usps": (1000, 95.0), "isolet": (1000, 96.2)}
MNIST = {1000: 98.0, 2400: 98.3}
MOST_ROWS = 8000  # rows that the search sees


def search(X, y, n_components):
    if len(X) > MOST_ROWS:
        kept = np.sort(np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False))
        X, y = X[kept], y[kept]
    scale = gamma_scale(X)
    grid = {"gamma": [scale * factor for factor in (0.25, 0.5, 1.0, 2.0, 4.0)], "C": [0.3, 1.0, 3.0]}
    model = FBTWSVM(feature_map="nystroem", n_components=n_components, random_state=0)
    return GridSearchCV(model, grid, cv=3, refit=False).fit(X, y).best_params_


def score(name, n_components, seeds, **chosen):
    X, y, X_test, y_test = load(name)
    scores = []
    for seed in range(seeds):
        model = FBTWSVM(feature_map="nystroem", n_components=n_components, random_state=seed, **chosen)
        scores.append(100 * model.fit(X, y).score(X_test, y_test))
    return f"{np.mean(scores):.2f} +- {np.std(scores):.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*SETTINGS, "mnist"])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for name in options.names:
        for n_components, wanted in MNIST.items() if name == "mnist" else [SETTINGS[name]]:
            progress(f"{name}, {n_components} features")
            X, y, _, _ = load(name)
            chosen = {"gamma": 0.02} if name == "mnist" else search(X, y, n_components)
            shown = ", ".join(f"{key} {value:.4g}" for key, value in chosen.items())
            dag, vote = (
                score(name, n_components, options.seeds, multiclass=rule, **chosen) for rule in ("dag", "vote")
            )
            rows.append([name, n_components, shown, f">= {wanted}", dag, vote])
    print(f"Test accuracy in %, Nystroem features, {options.seeds} seeds\n")
    table(["data", "features", "chosen on the training part", "wanted", "multiclass='dag'", "multiclass='vote'"], rows)


if __name__ == "__main__":
    main()
