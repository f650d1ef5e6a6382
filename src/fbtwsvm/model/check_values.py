"""Which values can be learned: not too large, not too small, columns of about one scale."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets

from .._arrays import Array, as_python, compiled
from .._namespace import as_float

_LARGEST = {"float64": 1e100, "float32": 1e15}  # values whose squares can be added up
_SMALLEST = {"float64": 1e-140, "float32": 1e-15}  # if all values are smaller, their squares vanish
_KINDS = (str, (bool, np.bool_), Number)  # of labels
_TO_ONE_SCALE = "make_pipeline(StandardScaler(), FBTWSVM()), or on a stream TableClassifier(FBTWSVM())"
_MOST_SPREAD = 1000.0  # ratio of the ranges of two columns


@contextmanager
def clear_errors(y: Any = None) -> Iterator[None]:
    """Say what to do in the errors of scikit-learn's checks of rows, and of their labels: about gaps and texts."""
    try:
        yield
    except (TypeError, ValueError) as error:
        what = str(error).splitlines()[0].rstrip(".")
        if what == "Input X contains NaN" or what.startswith("could not convert string to float"):
            raise ValueError(f"{what}. Fill gaps and encode texts first, or use TableClassifier.") from error
        labels = np.asarray(y, dtype=object)
        one_each = labels.ndim > 0 and labels.size == len(labels)
        labels = labels.ravel() if one_each else labels.ravel()[:0]
        gap = next((row for row, label in enumerate(labels) if is_gap(label)), None)
        if gap is not None and "X" not in what:
            raise ValueError(_no_label(gap, labels[gap])) from error
        raise


def is_gap(label: Any) -> bool:
    """Whether a label or an id is missing."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):  # of pandas
        return True
    return isinstance(label, float | np.floating | np.datetime64 | np.timedelta64) and bool(label != label)


def _no_label(row: int, label: Any) -> str:
    return f"Row {row} has no label (y[{row}] is {label}): leave out such rows."


def as_labels(y: Any) -> Any:
    """Return a list of texts and other things as an array of objects; NumPy would turn all of them into texts."""
    if isinstance(y, list | tuple) and len({issubclass(kind, str) for kind in set(map(type, y))}) > 1:
        return np.array(y, dtype=object)
    return y


def check_labels(y: Array) -> None:
    """Refuse labels that are no classes, that are missing, or that have no order."""
    if y.dtype.kind in "mM" and np.isnat(y).any():
        row = int(np.isnat(y).argmax())
        raise ValueError(_no_label(row, y[row]))
    check_kinds(y, "y")
    if y.dtype.kind not in "iub":  # integers are labels
        check_classification_targets(y)
    if y.dtype.kind == "O":
        np.unique(y)


def check_same_kind(y: Array, known: Array) -> None:
    """Refuse labels of another kind than those learned so far: texts, numbers, dates or durations."""
    if family(y) != family(known):
        shown = [str(label) if family(known) in "mM" else as_python(label) for label in known[:3]]
        raise ValueError(f"y holds labels of another kind than those learned so far, {shown}.")


def family(labels: Array) -> str:
    """Return whether labels are texts or other things, numbers, dates ("M") or durations ("m")."""
    kind = labels.dtype.kind
    return "text" if kind in "OUS" else kind if kind in "mM" else "number"


def check_kinds(labels: Array, name: str) -> None:
    """Refuse labels of several kinds: texts, truth values, numbers or other things."""
    types = set(map(type, labels)) if labels.dtype.kind == "O" else set()
    if len({next((kind for kind in _KINDS if issubclass(one, kind)), one) for one in types}) > 1:
        found = " and ".join(sorted(one.__name__ for one in types))
        raise ValueError(f"{name} holds labels of different kinds ({found}): use texts, or numbers, for all.")


def check_values(X: Any) -> float:
    """Refuse finite values whose squares cannot be added up, with the first row that holds one; return the largest."""
    limit, largest = _LARGEST[str(X.dtype)], largest_value(X)
    if largest <= limit:
        return largest
    found = abs(X) > limit
    row = int(np.flatnonzero(np.asarray(found.sum(axis=1)).reshape(-1))[0])
    values = X[[row]].toarray()[0] if sp.issparse(X) else X[row]
    column = int(np.abs(values).argmax())
    raise ValueError(
        f"Row {row} has the value {values[column]:g} in column {column}: beyond {limit:g}, squares of {X.dtype} "
        "numbers cannot be added up. Scale the column, or correct the row."
    )


def check_limit(largest: float, rows: Any, precision: str) -> Any:
    """Return rows on a device, with this largest value, in a precision, or in float64 if too small; or refuse them."""
    dtype = np.dtype(precision)
    if largest > _LARGEST[str(dtype)]:
        raise ValueError(
            f"X holds the value {largest:g}: beyond {_LARGEST[str(dtype)]:g}, squares of {dtype} numbers cannot be "
            "added up. Scale the column, or correct the row."
        )
    return as_float(rows, str(first_dtype(largest, dtype)))


def check_first_values(X: Any) -> Any:
    """Check the values of the first rows; return them in float64 if they are too small for float32."""
    return X.astype(first_dtype(check_values(X), X.dtype), copy=False)


def first_dtype(largest: float, dtype: np.dtype) -> np.dtype:
    """Return the precision for values of which the largest is given: float64 if they are too small for float32."""
    if largest == 0.0 or largest >= _SMALLEST[str(dtype)]:
        return dtype
    if largest < _SMALLEST["float64"]:
        raise ValueError(
            f"The largest value of X is {largest:g}: squares of such numbers vanish. Scale the columns of X."
        )
    return np.dtype(np.float64)


def largest_value(X: Any) -> float:
    """Return the largest absolute value; NaN if any value is."""
    values = X.data if sp.issparse(X) else X
    return float(max(values.max(initial=0), -values.min(initial=0))) if values.size else 0.0


def all_below(X: Array, limit: float) -> bool:
    """Whether all absolute values of dense rows are below a limit; False if any value is NaN."""
    return bool(_all_below(X, limit))


@compiled
def _all_below(X, limit):
    for i in range(X.shape[0]):
        beyond = 0
        for k in range(X.shape[1]):
            beyond += not abs(X[i, k]) < limit
        if beyond:
            return False
    return True


def check_spread(X: Any, n_most: int = 10_000) -> str | None:
    """Return a warning if columns differ so much in scale that a kernel sees only some of them."""
    X = X[:: max(1, X.shape[0] // n_most)]
    low, high = (np.asarray(part.toarray() if sp.issparse(part) else part) for part in (X.min(axis=0), X.max(axis=0)))
    return spread_warning(low.reshape(-1), high.reshape(-1))


def spread_warning(low: Array, high: Array, how: str = _TO_ONE_SCALE) -> str | None:
    """Return the same from the smallest and the largest value of each column; `how` says what to do."""
    spread = high.astype(np.float64) - low
    moving = np.flatnonzero(spread > 0)
    if not len(moving) or spread.max() <= _MOST_SPREAD * spread[moving].min():
        return None
    wide, narrow = int(spread.argmax()), int(moving[spread[moving].argmin()])
    return (
        f"Column {wide} ranges over {spread[wide]:.3g} and column {narrow} over {spread[narrow]:.3g}: the kernel sees "
        f"little of the narrow columns. Bring them to one scale: {how}."
    )
