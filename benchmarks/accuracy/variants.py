"""Why the defaults are what they are: one parameter varied at a time, on splits of training parts alone.

At most 6,000 training rows of each set are split 70 : 30 at random; test parts are never read. gamma is what
gamma="auto" chooses on the 70 %, once per split, except where gamma itself is varied. The table has the mean accuracy
over sets and splits, and the mean difference from the default with its standard error over sets.
"""

import time

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split

from benchmarks.harness.data import gamma_scale, load
from benchmarks.harness.table import mean_sd, progress, table
from fbtwsvm import FBTWSVM

SETS = ("border", "overlap", "coil", "outdoor", "dna", "higgs7k", "usps", "letter", "isolet", "chest_accel_win")
VALUES = {
    "gamma": ("scale",),
    "C": (0.1, 0.3, 3.0, 10.0),
    "reg": (0.001, 0.003, 0.03, 0.1),
    "mu": (0.1, 0.3, 0.7),
    "membership": ("printed", "none"),
    "multiclass": ("vote",),
    "decision": ("value", "distance"),
    "tol": (1e-2, 1e-4),
    "feature_map": ("fourier", "orthogonal", "nystroem"),
}
VARIANTS = {f"{name}={value!r}": {name: value} for name, values in VALUES.items() for value in values}
VARIANTS = {"default": {}, **VARIANTS, "n_components: half": {"feature_map": "nystroem", "n_components": "half"}}
NOISY = ("default", "C=0.3", "C=3.0", "mu=0.1", "mu=0.3", "membership='none'")


def evaluate(variant, X, y, X_held, y_held, gamma):
    options = {
        "gamma": gamma,
        "random_state": 0,
        "max_iter": 10_000 if variant == "tol=0.0001" else 1_000,
        **VARIANTS[variant],
    }
    if options.get("n_components") == "half":
        options["n_components"] = int(5 * np.sqrt(len(X)))
    start = time.perf_counter()
    model = FBTWSVM(**options).fit(X, y)
    seconds = time.perf_counter() - start
    loss = log_loss(y_held, model.predict_proba(X_held), labels=model.classes_)
    return 100 * model.score(X_held, y_held), loss, seconds


def splits(name, count, most):
    X, y, _, _ = load(name, scaled=True)
    if len(X) > most:
        X, _, y, _ = train_test_split(X, y, train_size=most, stratify=y, random_state=0)
    for seed in range(count):
        yield train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)


def report(title, results, seeds):
    """Print one line per variant; `results[variant]` holds (accuracy, log loss, seconds) of each set and split."""
    means = {variant: np.reshape(values, (-1, seeds, 3)).mean(axis=1) for variant, values in results.items()}
    lines = []
    for variant, values in means.items():
        gain = (values - means["default"])[:, 0]
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
        accuracy, loss, seconds = np.mean(values, axis=0)
        against, spread = f"{gain.mean():+.2f} +- {error:.2f}", f"{gain.min():+.1f} to {gain.max():+.1f}"
        lines.append([variant, f"{accuracy:.2f}", against, spread, f"{loss:.3f}", f"{seconds:.2f}"])
    table(["variant", "accuracy %", "against the default", "over sets", "log loss", "fit: s"], lines, title)


def run(plan):
    sets, seeds = plan.chosen(SETS, ["border"]), plan.seeds or plan.pick(2, 1)
    clean, noisy = {variant: [] for variant in VARIANTS}, {variant: [] for variant in NOISY}
    for name in sets:
        progress(name)
        for X, X_held, y, y_held in splits(name, seeds, plan.pick(6_000, 300)):
            gamma = FBTWSVM(random_state=0).fit(X, y).gamma_
            random = np.random.default_rng(0)
            wrong = np.where(random.uniform(size=len(y)) < 0.1, random.permutation(y), y)
            for labels, results in ((y, clean), (wrong, noisy)):
                for variant, values in results.items():
                    values.append(evaluate(variant, X, labels, X_held, y_held, gamma))
    title = f"{len(sets)} sets, {seeds} splits of the training part each"
    report(title, clean, seeds)
    report("The same with a tenth of the training labels exchanged at random", noisy, seeds)


# data: features and the accuracy that is wanted
NYSTROEM = {
    "letter": {350: 97.2},
    "dna": {500: 94.5},
    "usps": {1000: 95.0},
    "isolet": {1000: 96.2},
    "mnist": {1000: 98.0, 2400: 98.3},
}
SEARCH_ROWS = 8000  # rows of the search


def search(X, y, n_components):
    """Return gamma and C by contiguous folds: the speakers and writers of one are new to the others."""
    if len(X) > SEARCH_ROWS:
        kept = np.sort(np.random.default_rng(0).choice(len(X), SEARCH_ROWS, replace=False))
        X, y = X[kept], y[kept]
    grid = {"gamma": [gamma_scale(X) * factor for factor in (0.25, 0.5, 1.0, 2.0, 4.0)], "C": [0.3, 1.0, 3.0]}
    model = FBTWSVM(feature_map="nystroem", n_components=n_components, random_state=0)
    return GridSearchCV(model, grid, cv=3, refit=False).fit(X, y).best_params_


def nystroem(plan):
    seeds, lines = plan.seeds or plan.pick(3, 1), []
    for name in plan.chosen(NYSTROEM, ["dna"]):
        X, y, X_test, y_test = load(name)
        X, y = X[: plan.pick(None, 300)], y[: plan.pick(None, 300)]
        for count, wanted in NYSTROEM[name].items():
            count = plan.pick(count, 30)
            progress(f"{name}, {count} features")
            chosen = {"gamma": 0.02} if name == "mnist" else search(X, y, count)
            cells = []
            for rule in ("dag", "vote"):
                shape = {"feature_map": "nystroem", "n_components": count, "multiclass": rule, **chosen}
                models = [FBTWSVM(random_state=seed, **shape).fit(X, y) for seed in range(seeds)]
                cells.append(mean_sd([100 * model.score(X_test, y_test) for model in models]))
            shown = ", ".join(f"{key} {value:.4g}" for key, value in chosen.items())
            lines.append([name, count, shown, f">= {wanted}", *cells])
    header = ["data", "features", "chosen on the training part", "wanted", "multiclass='dag'", "multiclass='vote'"]
    table(header, lines, f"Test accuracy in %, Nystroem features, {seeds} seeds")
