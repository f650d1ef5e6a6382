"""The sets that the defaults are judged on, and their splits.

A set with fewer than 2,000 test rows is split again: train and test together, stratified, with as many training rows as
before.  A larger set keeps its own split; seeds then differ in random_state alone.
"""

from typing import NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.data import SCALED, load

NINE = ("border", "overlap", "letter", "outdoor", "coil", "dna", "usps", "isolet", "higgs7k")
TABLES = (
    "soybean", "german_credit", "segment", "leaf_flavia", "bfi_gender", "abalone", "phoneme", "wine_white", "hpc",
    "mlc_churn", "spambase", "caravan", "wa_churn", "marketing", "fars",
)  # fmt: skip
PEOPLE = "chest_accel_win"  # the test rows are of other people than the training rows
QUICK = ("border", "german_credit")
ENOUGH = 2_000  # test rows
QUICK_TRAIN, QUICK_TEST = 240, 120


class Split(NamedTuple):
    """Training and test rows of one seed."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def rows_of(name, quick):
    """Return X, y, X_test, y_test; quick ones are few rows from all over the set, since classes may lie together."""
    parts = load(name)
    sizes = (QUICK_TRAIN, QUICK_TRAIN, QUICK_TEST, QUICK_TEST)
    return [part[:: max(1, len(part) // n)][:n] for part, n in zip(parts, sizes, strict=True)] if quick else parts


def keeps_its_split(name, quick):
    return len(rows_of(name, quick)[3]) >= ENOUGH


def split(name, seed, *, quick=False, in_order=False, again=False):
    """Return the split of a seed; rows of a new split come shuffled, or `in_order`: as they lie in train, then test.

    With `again`, a large set is split again as well.
    """
    X, y, X_test, y_test = rows_of(name, quick)
    if len(y_test) < ENOUGH or again:
        n, X, y = len(y), np.concatenate([X, X_test]), np.concatenate([y, y_test])
        train, test = train_test_split(np.arange(len(y)), train_size=n, stratify=y, random_state=seed)
        train = np.sort(train) if in_order else train
        X, y, X_test, y_test = X[train], y[train], X[test], y[test]
    if name in SCALED or name in TABLES:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return Split(X, y, X_test, y_test)
