"""How gamma="auto" should judge: contiguous or random thirds, and how far down the ladder should go.

    FBTWSVM_DATA=... python -m benchmarks.ladder [names ...]

At most 6,000 training rows, in their order. Either the last 30 % are held out, which for sensor data are other people,
or a random 30 %. "Random thirds" is the same fit on shuffled rows; with "four rungs down" gamma may fall to 1/256 of
"scale".
Test parts are never read.
"""

import argparse

import numpy as np

from benchmarks.data import load, progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.batch import choose_gamma as ladder

SETS = ["overlap", "outdoor", "higgs7k", "usps", "letter", "isolet", "chest_accel_win"]
AS_THEY_ARE = ["usps", "isolet"]
MOST_ROWS = 6000
USUAL = ladder._RUNGS
VARIANTS = {
    "as it is": (USUAL, False),
    "random thirds": (USUAL, True),
    "four rungs down": ((*USUAL, -3.0, -4.0), False),
}


def accuracy(variant, X, y, X_held, y_held):
    ladder._RUNGS, shuffle = VARIANTS[variant]
    order = np.random.default_rng(0).permutation(len(X)) if shuffle else np.arange(len(X))
    model = FBTWSVM(random_state=0).fit(X[order], y[order])
    ladder._RUNGS = USUAL
    return 100 * model.score(X_held, y_held)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=SETS)
    rows = []
    for name in parser.parse_args().names:
        X, y, _, _ = load(name, standardise=name not in AS_THEY_ARE)
        random = np.random.default_rng(0)
        kept = np.sort(random.choice(len(X), min(len(X), MOST_ROWS), replace=False))
        X, y = X[kept], y[kept]
        cut = int(0.7 * len(X))
        for kind, order in (("last", np.arange(len(X))), ("random", random.permutation(len(X)))):
            progress(f"{name}, {kind} 30 % held out")
            learned, held = np.sort(order[:cut]), order[cut:]
            scores = [accuracy(v, X[learned], y[learned], X[held], y[held]) for v in VARIANTS]
            rows.append([name, kind, *(f"{score:.2f}" for score in scores)])
    print("Accuracy in % on held-out training rows, by the way gamma was chosen\n")
    table(["data", "held out", *VARIANTS], rows)


if __name__ == "__main__":
    main()
