"""Ways to hold out rows when gamma and the number of features are chosen: at random, in contiguous parts, by group."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils._missing import is_pandas_na
from sklearn.utils.validation import check_consistent_length

from .._arrays import Array

FOLDS = 3
ENOUGH = 0.2  # share of the rows that must be in groups which can be held out
_LEAST_OF_CLASS = 5  # rows that a sample has of each class, if the class has them
_SORTED = 0.05  # a column with at most this share of its spread out of order is sorted
_VARIED = 0.05  # a column that sorts rows has other values than its median in at least this share of them
_SORTED_BY_SUM = 0.1  # the same of a sum of columns, whose factors are estimated
_ROWS_OF_COLUMN = 4  # with fewer rows for each column, a sum of columns explains any order


def sample_rows(starts: Array, size: int, random: np.random.Generator) -> Array:
    """Return the numbers, sorted, of about `size` rows: all classes in their proportions, or five rows of a class."""
    n = int(starts[-1])
    if n <= size:
        return np.arange(n)
    chosen = []
    for first, last in pairwise(starts):
        count = min(last - first, max(_LEAST_OF_CLASS, round(size * (last - first) / n)))
        chosen.append(first + np.sort(random.choice(last - first, count, replace=False)))
    return np.concatenate(chosen)


def shuffled_folds(labels: Array, random: np.random.Generator) -> Array:
    """Return a random fold for each row; every class, sorted by which the rows are, is spread over all folds."""
    order = np.lexsort((random.random(len(labels)), labels))
    folds = np.empty(len(labels), dtype=np.int64)
    folds[order] = np.arange(len(labels)) % FOLDS
    return folds


def contiguous_folds(labels: Array) -> Array:
    """Return the third of its class that each row is in, in the order given."""
    counts = np.bincount(labels)
    starts = np.cumsum(counts) - counts
    folds: Array = FOLDS * (np.arange(len(labels)) - starts[labels]) // counts[labels]
    return folds


def group_numbers(groups: Any, X: Any) -> Array:
    """Return the groups of the rows that a user gives, as numbers from 0; refuse what cannot be told apart."""
    names = np.asarray(groups)
    names = names.reshape(-1) if names.ndim == 2 and names.shape[1] == 1 else names
    if names.ndim != 1:
        raise ValueError(f"groups must be a list with the group of each row, got an array of shape {names.shape}.")
    check_consistent_length(X, names)
    missing = np.array([name is None or is_pandas_na(name) or name != name for name in names.tolist()])
    if missing.any():
        raise ValueError(f"Row {int(missing.argmax())} has no group (None or NaN): give every row a group.")
    try:
        found, numbers = np.unique(names, return_inverse=True)
    except TypeError as error:
        raise ValueError("groups must all be of one kind: all numbers, or all strings.") from error
    if len(found) < 2:
        raise ValueError("groups holds one group only: give at least two, or leave groups out.")
    return numbers.reshape(-1)


def group_folds(groups: Array) -> Array:
    """Return a fold for each row, the same for all rows of a group; folds have about equally many rows.

    A group with more than half of the rows is never held out (-1): too little would be left to learn from.
    """
    _, numbers, counts = np.unique(groups, return_inverse=True, return_counts=True)
    fold_of, sizes = np.empty(len(counts), dtype=np.int64), np.zeros(FOLDS)
    for group in np.argsort(-counts, kind="stable"):
        fold_of[group] = sizes.argmin() if 2 * counts[group] <= len(groups) else -1
        if fold_of[group] >= 0:
            sizes[fold_of[group]] += counts[group]
    return fold_of[numbers.reshape(-1)]


def is_sorted_by_columns(X: Array, labels: Array) -> bool:
    """Whether the rows of every class are in the order of a column or of a sum of columns.

    The order of the rows then tells no more than the columns do.
    """
    if (_disorder(X, labels) <= _SORTED).any():
        return True
    n, n_columns = X.shape
    if n < _ROWS_OF_COLUMN * n_columns:
        return False
    # The sum of columns that comes nearest to the places of the rows in their classes.
    counts = np.bincount(labels)
    places = (np.arange(n) - (np.cumsum(counts) - counts)[labels]) / counts[labels]
    sums = np.zeros((len(counts), n_columns))
    np.add.at(sums, labels, X)
    centred = X - (sums / counts[:, None])[labels]
    fitted = centred @ np.linalg.lstsq(centred, places - 0.5, rcond=None)[0]
    return bool(_disorder(fitted[:, None], labels)[0] <= _SORTED_BY_SUM)


def _disorder(X: Array, labels: Array) -> Array:
    """Return how much of the spread of each column is out of order, upwards or downwards, in the classes together.

    A column that is nearly constant orders nothing: infinity.
    """
    out_of_order, spread = np.zeros((2, X.shape[1])), np.zeros(X.shape[1])
    varied = np.zeros(X.shape[1])
    for label in np.unique(labels):
        own = X[labels == label].astype(np.float64)
        upward, middle = np.sort(own, axis=0), np.median(own, axis=0)
        out_of_order += np.abs(own - upward).sum(axis=0), np.abs(own - upward[::-1]).sum(axis=0)
        spread += np.abs(own - own.mean(axis=0)).sum(axis=0)
        varied += (own != middle).sum(axis=0)
    ordered = (varied >= _VARIED * len(X)) & (spread > 0)
    disorder: Array = np.divide(out_of_order.min(axis=0), spread, out=np.full(len(spread), np.inf), where=ordered)
    return disorder
