"""Which reading of the paper gives its figures?  Each choice that docs/paper.md speaks of, measured.

    FBTWSVM_DATA=... python -m benchmarks.readings [--seeds 5] [settings|accept|order|gamma]

All start from the paper's settings (random Fourier features, mu = 0.1, distances) and change one thing.
"""

import argparse

import numpy as np
from sklearn.multiclass import OneVsOneClassifier

from benchmarks.data import load, progress, table
from benchmarks.reproduce.methods import papers_settings
from benchmarks.reproduce.published import ACCURACY, SETTINGS
from benchmarks.reproduce.worker import chunks, learn_in_chunks
from fbtwsvm import FBTWSVM

NAMES = ("border", "overlap", "letter", "dna")


def spread(values):
    return f"{np.mean(values):.2f} +- {np.std(values):.2f}"


def batch(name, seeds, *, wrap=lambda model: model, scale=lambda X: X, **changes):
    """Return test accuracies of models fitted to all rows, one for each random map."""
    X, y, X_test, y_test = load(name)
    found = []
    for seed in range(seeds):
        model = wrap(FBTWSVM(random_state=seed, **papers_settings(name, X, **changes)))
        found.append(100 * model.fit(scale(X), y).score(scale(X_test), y_test))
    return found


def printed_row():
    return ["the paper", *(f"{ACCURACY[name][1]:.2f} +- {ACCURACY[name][2]:.2f}" for name in NAMES)]


def settings(seeds):
    def of(name):
        line = SETTINGS[name]
        plain, box, ridge = line.ridge / line.features, line.box, line.ridge
        return {
            "as we read it": {},
            "features normalised, ridge as printed": {"reg": float(ridge)},
            "C as in the printed equations": {
                "wrap": OneVsOneClassifier, "C": (box, ridge), "reg": (box / line.features, ridge / line.features),
            },
            "the same pairs, C as we read it": {"wrap": OneVsOneClassifier, "C": (box, box), "reg": (plain, plain)},
            "memberships as printed, not rescaled": {"membership": "printed"},
            "no memberships": {"membership": "none"},
            "mu = 0.01, as in the code's examples": {"mu": 0.01},
            "mu = 0.5": {"mu": 0.5},
            "plain values instead of distances": {"decision": "value"},
            "learned offsets instead of distances": {"decision": "calibrated"},
        }  # fmt: skip

    rows = [printed_row()]
    for reading in of("border"):
        progress(reading)
        rows.append([reading, *(spread(batch(name, seeds, **of(name)[reading])) for name in NAMES)])
    print(f"Readings of the settings: test accuracy in %, all rows at once, {seeds} random maps\n")
    table(["reading", *NAMES], rows)


def accept(seeds):
    rows = []
    names = ("border", "overlap", "dna")
    for statistics in ("kept", "all"):
        for rule in ("inside", "outside", "kkt", "all"):
            progress(f"accept={rule}, statistics={statistics}")
            cells = []
            for name in names:
                found, kept = [], []
                X, y, X_test, y_test = load(name)
                for seed in range(seeds):
                    order = np.random.default_rng(seed).permutation(len(y))
                    changes = {"statistics": statistics, "accept": rule, "second_look": 0, "memory": None}
                    model = FBTWSVM(
                        random_state=seed, warm_up=SETTINGS[name].first, **papers_settings(name, X, **changes)
                    )
                    parts = chunks(len(y), SETTINGS[name].first)
                    learn_in_chunks(model, X[order], y[order], parts, np.unique(y), settle_each=True)
                    found.append(100 * model.score(X_test, y_test))
                    kept.append(len(model.memory_report().rows["id"]))
                cells.append(f"{spread(found)} ({np.mean(kept):.0f})")
            rows.append([rule, statistics, *cells])
    print(f"\nWhich new rows are kept: test accuracy in % (rows kept), one pass, nothing forgotten, {seeds} seeds\n")
    table(["accept", "statistics", *names], rows)


class Relabelled:
    """A model whose classes stand in another order."""

    def __init__(self, model, order):
        self.model, self.order = model, order

    def fit(self, X, y):
        """Learn all rows."""
        self.model.fit(X, self.order[y])
        return self

    def score(self, X, y):
        """Return the accuracy."""
        return self.model.score(X, self.order[y])


def order(seeds):
    rows = []
    for name in ("overlap", "letter", "coil", "isolet"):
        n_classes = len(np.unique(load(name)[1]))
        orders = [np.random.default_rng(number).permutation(n_classes) for number in range(seeds)]
        progress(f"{name}: orders of classes")
        shuffled = [batch(name, 1, wrap=lambda m, o=o: Relabelled(m, o))[0] for o in orders]
        plain, vote = batch(name, 1)[0], batch(name, 1, multiclass="vote")[0]
        rows.append([name, n_classes, f"{plain:.2f}", spread(shuffled), f"{vote:.2f}"])
    print(f"\nThe order in which classes meet: test accuracy in %, one random map, {seeds} random orders\n")
    table(["data", "classes", "sorted, winner stays", "other orders", "all pairs vote"], rows)


def gamma(seeds):
    def half(X):
        return (X + 1) / 2

    lines = [
        ("outdoor", "gamma 0.001, as printed", {"gamma": 0.001}),
        ("outdoor", "gamma 2.5", {}),
        ("usps", "gamma 0.007 on [-1, 1], as printed", {}),
        ("usps", "gamma 0.007 on [0, 1]", {"scale": half}),
        ("usps", "gamma 0.007 on [0, 1], ridge 20 instead of 2", {"scale": half, "reg": 20 / 1000}),
        ("usps", "gamma 0.007 on [-1, 1], 2,000 features", {"n_components": 2000, "reg": 2 / 2000}),
        ("usps", "gamma 0.007 on [0, 1], 2,000 features", {"scale": half, "n_components": 2000, "reg": 2 / 2000}),
    ]
    rows = []
    for name, words, changes in lines:
        progress(f"{name}: {words}")
        rows.append([name, words, spread(batch(name, seeds, **changes)), f"{ACCURACY[name][1]} +- {ACCURACY[name][2]}"])
    print(f"\nSettings that do not give the printed figures: test accuracy in %, all rows, {seeds} random maps\n")
    table(["data", "reading", "here", "paper"], rows)


PARTS = {"settings": settings, "accept": accept, "order": order, "gamma": gamma}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"{', '.join(sorted(unknown))} is not among {', '.join(PARTS)}")
    for part in options.parts:
        PARTS[part](options.seeds)


if __name__ == "__main__":
    main()
