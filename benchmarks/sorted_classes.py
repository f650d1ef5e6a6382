"""A stream sorted by class: letter, whose landmarks of the first rows are blind to all that comes later.

FBTWSVM_DATA=... python -m benchmarks.sorted_classes
"""

import numpy as np

from benchmarks.data import load, progress, table
from fbtwsvm import FBTWSVM


def main():
    X, y, X_test, y_test = load("letter")
    shuffled = np.random.default_rng(0).permutation(len(y))
    orders = {"shuffled": shuffled, "sorted by class": shuffled[np.argsort(y[shuffled], kind="stable")]}
    rows = []
    for memory in (50, 200):
        for name, order in orders.items():
            progress(f"{name}, memory {memory}")
            model = FBTWSVM(n_components=350, gamma=0.02, memory=memory, random_state=0)
            chosen = set()
            for first in range(0, len(y), 1000):
                chunk = order[first : first + 1000]
                model.partial_fit(X[chunk], y[chunk])
                chosen.add(model._learner.watch.since)
            rows.append([name, memory, len(chosen) - 1, f"{100 * model.score(X_test, y_test):.2f}"])
    print("letter, 350 landmarks, chunks of 1,000: how often landmarks were chosen anew, and test accuracy\n")
    table(["stream", "memory", "renewals", "accuracy: %"], rows)


if __name__ == "__main__":
    main()
