"""The paper's decremental table both ways: accuracy and kept points for d = 1, 2, 4, 10 and never.

    FBTWSVM_DATA=... python -m benchmarks.forgetting [--names border,letter] [--seeds 3]

statistics="kept" is the paper's procedure (accept="inside", distances, Fourier features, its gamma, C, reg and mu),
with forgotten rows out of the Gram matrices; "all" keeps every row in them and accepts by the KKT conditions.
"""

import argparse

import numpy as np

from benchmarks.data import load, progress, table
from benchmarks.paper import SETTINGS
from fbtwsvm import FBTWSVM

NAMES = ("border", "overlap", "letter", "coil", "dna", "usps")
CHUNKS = {"letter": 1000, "coil": 600, "usps": 1500}  # 100 for the others
WAYS = {
    "kept": {"statistics": "kept", "accept": "inside", "second_look": 0},
    "all": {"statistics": "all", "accept": "kkt", "second_look": 0},
}


def run(name, way, d, seed):
    n_components, gamma, box, ridge = SETTINGS[name][:4]
    X, y, X_test, y_test = load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    model = FBTWSVM(
        feature_map="fourier", n_components=n_components, gamma=gamma, C=box, reg=ridge / n_components, mu=0.1,
        decision="distance", memory=None, forget_after=d, random_state=seed, warm_up=len(y) // 10, **WAYS[way],
    )  # fmt: skip
    size = CHUNKS.get(name, 100)
    for first in range(0, len(y), size):
        model.partial_fit(X[first : first + size], y[first : first + size]).settle()  # each chunk counts towards d
    report = model.memory_report()
    return 100 * model.score(X_test, y_test), len(report.rows["id"]), int((report.rows["alpha"] > 0).any(axis=1).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", default=",".join(NAMES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", default="1,2,4,10,never", help="values of d")
    options = parser.parse_args()
    steps = [None if step == "never" else int(step) for step in options.steps.split(",")]
    rows = []
    for name in options.names.split(","):
        for way in WAYS:
            cells = []
            for d in steps:
                progress(f"{name}, statistics={way}, d={d}")
                found = np.array([run(name, way, d, seed) for seed in range(options.seeds)])
                accuracy, kept, used = found.mean(axis=0)
                cells.append(f"{accuracy:.1f} +- {found[:, 0].std():.1f} ({kept:.0f}, {used:.0f})")
            rows.append([name, way, *cells])
    print(f"Test accuracy (rows kept, of them with a dual above zero), {options.seeds} seeds, chunks of 100 (coil 600,")
    print("letter 1,000, usps 1,500), settled after each")
    print('wanted: with "all", d = 1 at most 1 point below never on border and letter\n')
    table(["data", "statistics", *(f"d = {d}" if d else "never" for d in steps)], rows)


if __name__ == "__main__":
    main()
