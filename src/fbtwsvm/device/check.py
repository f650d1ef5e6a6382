"""Check rows, labels and weights on a device, as scikit-learn checks those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import Array
from .._namespace import (
    as_float,
    brought,
    dtype_name,
    has_half_products,
    is_foreign,
    like,
    namespace,
    plain,
    rows_at,
    to_numpy,
)
from ..model.check_values import as_labels, check_labels, check_limit, clear_errors
from ..model.rows import SMALL

_MOST_LOOKED_AT = 10_000  # rows that tell whether columns differ in scale


def check_possible(X: Any, ids: Any, groups: Any) -> None:
    """Refuse what a fit on a device cannot use."""
    if sp.issparse(X):
        raise ValueError("Sparse rows cannot be fitted on a device: use device=None, or give X.toarray().")
    for name, value in (("ids", ids), ("groups", groups)):
        if value is not None:
            raise ValueError(
                f"{name} cannot be given beside more than {SMALL} rows on a device: give the rows as an array of NumPy "
                "and device=None."
            )


def checked_rows(X: Any, n_columns: int | None, name: str, precision: str) -> Any:
    """Return rows in the precision in which they are mapped; refuse those that cannot be learned."""
    X = plain(X)
    xp = namespace(X)
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: reshape your data, X.reshape(-1, 1) for one column or "
            "X.reshape(1, -1) for one row."
        )
    if not X.shape[0] or not X.shape[1]:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s): at least 1 is required."
        )
    if n_columns is not None and X.shape[1] != n_columns:
        raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {n_columns} features as input")
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError("Complex data not supported")
    wanted = _precision(X, precision)
    given = X if xp.isdtype(X.dtype, "real floating") else as_float(X, wanted)
    largest = float(xp.max(xp.abs(given)))  # NaN if there is one
    if not np.isfinite(largest):
        raise ValueError("Input X contains NaN or infinity: fill gaps first, or drop these rows.")
    return check_limit(largest, given, wanted)


def _precision(X: Any, precision: str) -> str:
    """Return float64 for float64 rows and for integers of many digits, unless they are rounded to bf16 anyway."""
    rounded = precision == "high" and has_half_products(X)
    precise = any(dtype_name(X).endswith(name) for name in ("float64", "int32", "int64"))
    return "float64" if precise and not rounded else "float32"


def checked_labels(y: Any, n: int, place: Any) -> Any:
    """Return labels, one for each row: on the device of `place` if they are numbers, else as an array of NumPy."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if not is_foreign(y):
        from sklearn.utils.validation import column_or_1d

        y = column_or_1d(as_labels(y), warn=True)
        y = y if y.dtype.isnative else y.astype(y.dtype.newbyteorder("="))
    elif y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 or y.shape[0] != n:
        raise ValueError(f"X has {n} rows and y has the shape {tuple(y.shape)}: give one label for each row.")
    if not is_foreign(y):
        with clear_errors(y):
            check_labels(y)
        return like(y, place) if y.dtype.kind in "ifb" or y.dtype == np.uint8 else y
    y = plain(y)
    if dtype_name(y) in ("uint16", "uint32", "uint64"):  # Torch hardly computes with them
        return to_numpy(y)
    xp = namespace(y)
    if xp.isdtype(y.dtype, "real floating") and not bool(xp.all(y == xp.floor(y))):  # NaN too
        raise ValueError("Unknown label type: continuous. Labels are integers, booleans or texts.")
    return brought(y, place)


def checked_weights(weights: Any, n: int, place: Any) -> Any:
    """Return weights on the device of `place`, in float64; None if every row counts alike."""
    if weights is None:
        return None
    weights = plain(weights) if is_foreign(weights) else np.asarray(weights, dtype=np.float64)
    given = brought(weights if weights.ndim else np.full(n, float(weights)), place, np.float64)
    xp = namespace(given)
    if given.ndim != 1 or given.shape[0] != n:
        raise ValueError(f"sample_weight has the shape {tuple(given.shape)}: give one weight for each of the rows.")
    if not bool(xp.all((given >= 0) & xp.isfinite(given))):
        raise ValueError("Negative values in data passed to `sample_weight`, or NaN or infinity.")
    return given


def some_rows(X: Any) -> Array:
    """Return evenly spaced rows as an array of NumPy."""
    step = max(1, X.shape[0] // _MOST_LOOKED_AT)
    return to_numpy(rows_at(X, np.arange(0, X.shape[0], step)))
