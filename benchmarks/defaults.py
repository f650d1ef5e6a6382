"""Why the defaults are what they are: one parameter varied at a time, on splits of training parts alone.

    FBTWSVM_DATA=... python -m benchmarks.defaults [--splits 2] [names ...]

At most 6,000 training rows of each set are split 70 : 30 at random; test parts are never read. gamma is what the ladder
chooses on the 70 %, once per split, except where gamma itself is varied. The table gives the mean accuracy over sets
and splits and, beside it, the mean difference from the default with its standard error over sets.
"""

import argparse
import time

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from benchmarks.data import load, progress, table
from fbtwsvm import FBTWSVM

SETS = ["border", "overlap", "coil", "outdoor", "dna", "higgs7k", "usps", "letter", "isolet", "chest_accel_win"]
AS_THEY_ARE = ["dna", "usps", "isolet"]
MOST_ROWS = 6000
VARIANTS = {
    "default": {},
    "gamma='scale'": {"gamma": "scale"},
    "C=0.1": {"C": 0.1},
    "C=0.3": {"C": 0.3},
    "C=3": {"C": 3.0},
    "C=10": {"C": 10.0},
    "reg=0.001": {"reg": 0.001},
    "reg=0.003": {"reg": 0.003},
    "reg=0.03": {"reg": 0.03},
    "reg=0.1": {"reg": 0.1},
    "mu=0.1": {"mu": 0.1},
    "mu=0.3": {"mu": 0.3},
    "mu=0.7": {"mu": 0.7},
    "membership='printed'": {"membership": "printed"},
    "membership='none'": {"membership": "none"},
    "multiclass='vote'": {"multiclass": "vote"},
    "decision='value'": {"decision": "value"},
    "decision='distance'": {"decision": "distance"},
    "tol=1e-2": {"tol": 1e-2},
    "tol=1e-4": {"tol": 1e-4, "max_iter": 10_000},
    "feature_map='fourier'": {"feature_map": "fourier"},
    "feature_map='orthogonal'": {"feature_map": "orthogonal"},
    "feature_map='nystroem'": {"feature_map": "nystroem"},
    "n_components: half": {"feature_map": "nystroem", "half": True},
}
NOISY = ["default", "C=0.3", "C=3", "mu=0.1", "mu=0.3", "membership='none'"]


def evaluate(variant, X, y, X_held, y_held, gamma):
    options = {"gamma": gamma, "random_state": 0, **VARIANTS[variant]}
    if options.pop("half", False):
        options["n_components"] = int(5 * np.sqrt(len(X)))
    start = time.perf_counter()
    model = FBTWSVM(**options).fit(X, y)
    seconds = time.perf_counter() - start
    loss = log_loss(y_held, model.predict_proba(X_held), labels=model.classes_)
    return 100 * model.score(X_held, y_held), loss, seconds


def splits(name, count):
    X, y, _, _ = load(name, standardise=name not in AS_THEY_ARE)
    if len(X) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, stratify=y, random_state=0)
    for seed in range(count):
        yield train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)


def summary(title, results):
    """Print one row per variant; `results[variant]` is (sets, 3)."""
    base = np.array(results["default"])
    rows = []
    for variant, values in results.items():
        values = np.array(values)
        gain = values[:, 0] - base[:, 0]
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
        spread = f"{gain.min():+.1f} to {gain.max():+.1f}"
        accuracy, loss, seconds = values.mean(axis=0)
        rows.append(
            [variant, f"{accuracy:.2f}", f"{gain.mean():+.2f} +- {error:.2f}", spread, f"{loss:.3f}", f"{seconds:.2f}"]
        )
    print(f"\n{title}\n")
    table(["variant", "accuracy %", "against the default", "over sets", "log loss", "fit: s"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=SETS)
    parser.add_argument("--splits", type=int, default=2)
    options = parser.parse_args()
    clean = {variant: [] for variant in VARIANTS}
    noisy = {variant: [] for variant in NOISY}
    for name in options.names:
        progress(name)
        found, found_noisy = {v: [] for v in VARIANTS}, {v: [] for v in NOISY}
        for X, X_held, y, y_held in splits(name, options.splits):
            gamma = FBTWSVM(random_state=0).fit(X, y).gamma_
            for variant in VARIANTS:
                found[variant].append(evaluate(variant, X, y, X_held, y_held, gamma))
            random = np.random.default_rng(0)
            wrong = np.where(random.uniform(size=len(y)) < 0.1, random.permutation(y), y)
            for variant in NOISY:
                found_noisy[variant].append(evaluate(variant, X, wrong, X_held, y_held, gamma))
        for variant in VARIANTS:
            clean[variant].append(np.mean(found[variant], axis=0))
        for variant in NOISY:
            noisy[variant].append(np.mean(found_noisy[variant], axis=0))
    summary(f"{len(options.names)} sets, {options.splits} splits of the training part each", clean)
    summary("The same with a tenth of the training labels exchanged at random", noisy)


if __name__ == "__main__":
    main()
