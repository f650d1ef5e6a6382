"""Answers for the rows of a collection: lazy, and partitioned as the rows are."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import numpy as np
import scipy.sparse as sp

from .._arrays import Array
from ..model.mapping import Mapping
from .partitions import Partitions, given_weights, is_dask_frame, one_at_a_time, one_block_of_columns


def lazy_answers(
    estimator: Any,
    mapping: Mapping,
    X: Any,
    method: str,
    dtype: np.dtype,
    columns: Array | None = None,
    arguments: tuple[Any, ...] = (),
) -> Any:
    """Return what a method of an estimator with this map answers for each partition of X.

    An array gives an array, a frame gives a series, or a frame if there are `columns`.  The estimator must not change
    any more.
    """
    import dask

    X = one_block_of_columns(X)
    model = dask.delayed((estimator, mapping), name=f"fbtwsvm-model-{uuid4().hex}", traverse=False, pure=False)
    given = (model, method, dtype, columns, arguments)
    empty = _empty(dtype, columns)
    if is_dask_frame(X):
        return X.map_partitions(_of_frame, *given, meta=_framed(empty, X._meta.index, columns))
    chunks = (X.chunks[0],) if columns is None else (X.chunks[0], (len(columns),))
    dropped = [1] if columns is None else None
    return X.map_blocks(_of_block, *given, dtype=dtype, drop_axis=dropped, chunks=chunks, meta=empty)


def _empty(dtype: np.dtype, columns: Array | None) -> Array:
    """Return the answers for no rows."""
    return np.empty(0 if columns is None else (0, len(columns)), dtype=dtype)


def _of_block(
    X: Any,
    model: tuple[Any, Mapping],
    method: str,
    dtype: np.dtype,
    columns: Array | None,
    arguments: tuple[Any, ...],
) -> Array:
    """Return the answers for one partition."""
    if not X.shape[0]:
        return _empty(dtype, columns)
    rows = X.tocsr() if sp.issparse(X) else X
    estimator, mapping = model
    with one_at_a_time(mapping):
        return np.asarray(getattr(estimator, method)(rows, *arguments)).astype(dtype, copy=False)


def _of_frame(X: Any, *given: Any) -> Any:
    """Return the answers for one partition of a frame, with its index."""
    return _framed(_of_block(X, *given), X.index, given[3])


def _framed(values: Array, index: Any, columns: Array | None) -> Any:
    """Return answers as a series, or as a frame with these columns."""
    import pandas

    if columns is None:
        return pandas.Series(values, index=index)
    return pandas.DataFrame(values, index=index, columns=columns)


def accuracy(estimator: Any, mapping: Mapping, X: Any, y: Any, weights: Any) -> float:
    """Return the share of the rows of a collection, by weight, that an estimator with this map classifies correctly."""
    partitions = Partitions(X, y, weights)
    hits, total = np.sum(partitions.map(_count_hits, (estimator, mapping), "score"), axis=0)
    if not total > 0:
        raise ValueError("There is no row to score: the collection is empty, or every sample_weight is zero.")
    return float(hits / total)


def _count_hits(p: int, X: Any, y: Any, weights: Any, model: tuple[Any, Mapping]) -> Array:
    """Return the weight of the rows of a partition that are classified correctly, and that of all its rows."""
    names = np.asarray(y)
    if len(names) != X.shape[0]:
        raise ValueError(f"Partition {p}: X has {X.shape[0]} rows and y has {len(names)}.")
    if not len(names):
        return np.zeros(2)
    given = given_weights(weights, len(names))
    if not (given >= 0).all():  # NaN too
        raise ValueError(f"Partition {p}: sample_weight must hold numbers of at least zero.")
    estimator, mapping = model
    with one_at_a_time(mapping):
        hits = estimator.predict(X) == names
    return np.array([given @ hits, given.sum()])
