"""Rows that a user gives, as Arrow tables: data frames, arrays, dictionaries of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from sklearn.utils import check_array

from ..cluster.partitions import is_collection
from .sources.base import ENTRY_ID, MALFORMED, DataError


def is_frame(X: Any) -> bool:
    """Whether rows have named columns: a data frame of pandas or polars, an Arrow table or a dictionary."""
    if sp.issparse(X):
        return False
    return isinstance(X, (pa.Table, dict)) or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def table_of(X: Any, estimator: Any = None) -> pa.Table:
    """Return rows as an Arrow table; columns of an array are named x0, x1, ...

    `estimator` is named in messages.
    """
    if is_collection(X):
        raise ValueError(
            "A TableClassifier takes no Dask collection: it would have to bring all rows here. Learn partition by "
            "partition with partial_fit(part.compute(), ...), or encode the columns and fit an FBTWSVM."
        )
    if not is_frame(X):
        array = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator)
        return pa.table([_column(f"x{k}", column) for k, column in enumerate(array.T)], _names(array.shape[1]))
    if isinstance(X, pa.Table):
        table = X
    elif isinstance(X, dict):
        columns = {str(name): _column(str(name), values) for name, values in X.items()}
        if len({len(column) for column in columns.values()}) > 1:
            raise ValueError("The columns of the table have different numbers of rows.")
        table = pa.table(columns)
    elif hasattr(X, "to_arrow"):  # polars
        table = X.to_arrow()
    elif hasattr(X, "collect"):
        raise ValueError("The rows of a lazy frame are not there yet: give frame.collect().")
    else:
        names = [str(name) for name in X.columns]
        table = pa.table([_column(name, column) for name, (_, column) in zip(names, X.items(), strict=True)], names)
    return _checked(table)


def _checked(table: pa.Table) -> pa.Table:
    """Refuse a table without columns, and names that occur twice or have another meaning."""
    names = table.column_names
    if not names:
        raise ValueError("The table has no column.")
    if len(set(names)) < len(names):
        raise DataError(f"Two columns have the same name: {next(name for name in names if names.count(name) > 1)!r}.")
    for name in (ENTRY_ID, MALFORMED):
        if name in names:
            raise DataError(f"A column cannot have the name {name!r}, which has another meaning: rename it.")
    return table


def _names(n: int) -> list[str]:
    return [f"x{k}" for k in range(n)]


def _column(name: str, values: Any) -> Any:
    """Return a column as an Arrow array; objects of several types become texts."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise ValueError(f"Column {name!r} is no sequence of values: give one row as {{{name!r}: [value], ...}}.")
    if hasattr(values, "cat"):  # categories of pandas, of any type
        texts = [None if _is_missing(value) else str(value) for value in values]
        return pa.array(texts, pa.string()).dictionary_encode()
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        plain = [None if _is_missing(value) else value for value in list(values)]
        if all(value is None or isinstance(value, (str, int, float, np.generic)) for value in plain):
            return pa.array([None if value is None else str(value) for value in plain], pa.string())
        first = next(value for value in plain if value is not None and not isinstance(value, (str, int, float)))
        raise TypeError(
            f"Column {name!r} holds a {type(first).__name__}: the argument must be a string, a number or a date. Turn "
            "it into one of these, or leave the column out."
        ) from error


def _is_missing(value: Any) -> bool:
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and bool(np.isnan(value)))
    )
