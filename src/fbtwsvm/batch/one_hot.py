"""Find one-hot columns by their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import Array

_MOST_DENSE = 2**26  # numbers of sparse rows that are made dense


def one_hot_blocks(X: Any) -> list[slice]:
    """Return the blocks of neighbouring columns that stand for one category each.

    Such columns have two values each, also after scaling, and exactly one of them has its larger value in every row.
    Constant columns among them stand for values that do not occur.
    """
    if sp.issparse(X):
        if X.shape[0] * X.shape[1] > _MOST_DENSE:
            return []
        X = X.toarray()
    low, high = np.asarray(X.min(axis=0)), np.asarray(X.max(axis=0))
    two_valued = np.asarray(np.isin((X - low) / np.where(low < high, high - low, 1.0), (0.0, 1.0)).all(axis=0))
    blocks, first, count = [], 0, np.zeros(len(X), dtype=np.int64)
    for column in range(X.shape[1]):
        if not two_valued[column]:
            first, count = column + 1, np.zeros_like(count)
            continue
        count = count + _is_marked(X[:, column])
        while count.max() > 1:  # not exclusive: the block begins later
            count = count - _is_marked(X[:, first])
            first += 1
        if count.min() == 1:
            blocks.append(slice(first, column + 1))
            first, count = column + 1, np.zeros_like(count)
    return blocks


def _is_marked(column: Array) -> Array:
    """Mark the rows with the larger of two values."""
    marked: Array = column > column.min()
    return marked
