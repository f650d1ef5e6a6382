"""Soak: millions of rows of SEA with decay, and with cycles of learning and unlearning: sums and planes stay sound.

    FBTWSVM_DATA=... python -m benchmarks.soak [--rows 5000000]

At the end: the smallest eigenvalue of G = Gram + reg I of every class, and how far the planes are from a fresh solve
(tol 1e-8) of the same kept rows, frozen pulls and sums.
"""

import argparse
import time
from copy import deepcopy
from dataclasses import replace

import numpy as np

from benchmarks.data import load_stream, progress, table
from fbtwsvm import FBTWSVM

CHUNK = 5000


def soak(X, y, n, name, options, cycles):
    model = FBTWSVM(
        feature_map="fourier", n_components=100, gamma="scale", memory=100, tol=1e-8, max_iter=100_000, **options
    )
    start, smallest = time.perf_counter(), np.inf
    learned = number = 0
    while learned < n:
        first = learned % (len(y) - CHUNK)
        part = slice(first, first + CHUNK)
        model.partial_fit(X[part], y[part])
        learned += CHUNK
        number += 1
        if cycles and number > 1:  # every chunk, some of its rows go again
            out = np.arange(first, first + CHUNK, 50)
            model.unlearn(X[out], y[out])
        if number % 100 == 0:
            smallest = min(smallest, *eigenvalues(model))
            progress(f"{name}: {learned:,} rows, {learned / (time.perf_counter() - start):,.0f} rows/s")
    smallest = min(smallest, *eigenvalues(model))
    return [name, f"{learned:,}", f"{smallest:.2e}", f"{distance(model):.1e}", f"{time.perf_counter() - start:.0f}"]


def eigenvalues(model):
    """Smallest eigenvalue of G of each class, in units of the ridge."""
    member = model._learner.members[0]
    ridge = member.ridge[0]
    return [float(np.linalg.eigvalsh(gram + ridge * np.eye(len(gram))).min() / ridge) for gram in member.moments.grams]


def distance(model):
    """Relative distance of the planes to those of a solve from nothing but sums, kept rows and frozen pulls."""
    learner = deepcopy(model.settle()._learner)
    member = learner.members[0]
    known = member.planes.copy()
    member.kept = replace(member.kept, alpha=np.zeros_like(member.kept.alpha))
    member.policy = replace(member.policy, decay=1.0, memory=None)
    for k in range(member.n_classes):
        member.refresh(k)
    member.moved[:], member.pushed[:] = True, True
    member.settle()
    return float(np.linalg.norm(member.planes - known) / np.linalg.norm(known))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    options = parser.parse_args()
    X, y = load_stream("SEA_1M")
    X = (X / 10.0).astype(np.float64)
    rows = [
        soak(X, y, options.rows, "half_life=20,000", {"half_life": 20_000.0}, cycles=False),
        soak(X, y, options.rows, "learn and unlearn", {}, cycles=True),
    ]
    print(
        "SEA: smallest eigenvalue of G over the ridge (wanted: positive; exact sums give at least 1), and the relative"
    )
    print("distance of the planes to a fresh solve from the same sums (wanted: at most 1e-4)\n")
    table(["run", "rows", "smallest eigenvalue", "distance", "s"], rows)


if __name__ == "__main__":
    main()
