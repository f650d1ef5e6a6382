"""Rows in Dask collections, for the tests of `fbtwsvm.cluster`."""

from contextlib import contextmanager
from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from fbtwsvm import FBTWSVM

FOURIER = {"feature_map": "fourier", "n_components": 40, "gamma": 0.2, "random_state": 0}


@contextmanager
def large(rows):
    """Let data with more than so many rows count as large, so that it is fitted in passes."""
    with pytest.MonkeyPatch.context() as patch:
        for place in ("classifier", "batch.prepare", "cluster.fit"):
            patch.setattr(f"fbtwsvm.{place}.LARGE", rows)
        yield


def sizes(n, count, seed=0):
    """Return the sizes of partitions of n rows: unequal, and empty ones among them if there are several."""
    random = np.random.default_rng(seed)
    cuts = np.sort(random.integers(0, n + 1, size=count - 1))
    if count > 2:
        cuts[1] = cuts[0]  # an empty one
    return tuple(np.diff(np.concatenate([[0], cuts, [n]])).tolist())


def arrays(count, *parts, seed=0, known=True):
    """Return arrays as Dask arrays with so many partitions, of known lengths or not."""
    chunks = sizes(len(parts[0]), count, seed)
    found = [da.from_array(part, chunks=(chunks, *((-1,) * (part.ndim - 1)))) for part in parts]
    if not known:
        for one in found:
            one._chunks = ((np.nan,) * count, *one.chunks[1:])
    return found


def frame(count, X, y, weights=None, seed=0, names=None):
    """Return a Dask frame with columns x0, x1, ..., y and w."""
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else names
    columns = {name: X[:, j] for j, name in enumerate(names)} | {"y": y}
    if weights is not None:
        columns["w"] = weights
    whole = pd.DataFrame(columns)
    chunks = sizes(len(y), count, seed)
    ends = np.cumsum([0, *chunks])
    parts = [whole.iloc[first:last] for first, last in pairwise(ends)]
    return dd.from_map(lambda part: part, parts, meta=whole.iloc[:0])


def model(**changes):
    return FBTWSVM(**FOURIER | changes)
