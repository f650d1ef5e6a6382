"""Columns of tables and their encoding as numbers: kinds, categories, missing values and scale.

The first rows fix all of it, and it is saved with the model; later rows are compared with the first ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._arrays import Array
from .sources.base import ENTRY_ID, DataError
from .target import check_target
from .values import as_integers, as_numbers, as_texts, first_non_number, is_missing, is_unsupported, share_of_numbers

ENCODINGS = ("onehot", "ordinal")
IMPUTATIONS = ("error", "median")
SCALES = ("standard", "minmax", "none")
_MOST_CATEGORIES = 50  # a column with more different texts, which hardly repeat, does not hold categories
_NEARLY_ALL = 0.9  # in a column with this share of numbers the other values are mistakes
_COUNTER_ROWS = 50  # a column that goes up by one in each of so many rows is a row number
_HALF_LIFE = 5000.0  # rows, of the running mean and spread that are compared with the first rows
_LEAST_WEIGHT = 100  # rows before the running mean says anything
_MOST_SHIFT = 1.0  # standard deviations by which a mean may move without a report
_MOST_SPREAD = 2.0  # factor by which a standard deviation may grow without a report


@dataclass(frozen=True)
class Choices:
    """What the user chooses for the columns; the first rows decide on those neither `numeric` nor `categorical`."""

    target: str
    row_id: str | None = None
    drop: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    encode: str = "onehot"
    impute: str = "error"
    scale: str = "standard"
    precision: str = "float32"


@dataclass
class Column:
    """One column: its categories (None for numbers), and the number or category that fills missing values."""

    name: str
    categories: list[str] | None
    fill: float

    @property
    def most_frequent(self) -> str | None:
        """The category that fills missing values."""
        return self.categories[int(self.fill)] if self.categories else None


@dataclass
class Columns:
    """The columns of a model and their encoding, fixed by its first rows.

    Attributes
    ----------
    labels : {"whole", "text", "number", "truth"}
        Kind of the labels: integers, strings, floats or booleans; the last two only in models saved from Python.
    shift, scale : ndarray
        Encoded numbers become (x - shift) / scale.
    mean, deviation : ndarray
        Mean and standard deviation of the scaled first rows.
    recent : ndarray of shape (2, n)
        Running mean and mean square of later rows; `weight` is the number of rows behind them.
    unseen : int
        Number of values of categorical columns, so far, that did not occur in the first rows.
    """

    choices: Choices
    columns: list[Column]
    labels: str
    shift: Array
    scale: Array
    mean: Array
    deviation: Array
    recent: Array = field(default_factory=lambda: np.zeros((2, 0)))
    weight: float = 0.0
    unseen: int = 0

    @classmethod
    def of(cls, table: pa.Table, choices: Choices) -> Columns:
        """Choose columns and encoding from the first rows."""
        _check_names(table.column_names, choices)
        if choices.target not in choices.categorical:
            check_target(choices.target, table[choices.target])
        skipped = {choices.target, choices.row_id, *choices.drop, ENTRY_ID}
        chosen = [_column(name, table[name], choices) for name in table.column_names if name not in skipped]
        if not chosen:
            raise DataError("There is no column to learn from: all are the target, the id or dropped.")
        labels = "whole" if as_integers(table[choices.target]) is not None else "text"
        empty = np.empty(0)
        columns = cls(choices, chosen, labels, empty, empty, empty, empty)
        raw = columns._encode(table, 0)
        columns.shift, columns.scale = _scale(raw, choices.scale, columns._is_number())
        scaled = (raw - columns.shift) / columns.scale
        columns.mean = scaled.mean(axis=0)
        spread = scaled.std(axis=0)
        columns.deviation = np.where(spread > 0, spread, 1.0)
        columns.reset_drift()
        columns._warn_of_row_numbers(raw)
        return columns

    def _warn_of_row_numbers(self, raw: Array) -> None:
        """Warn of columns that look like the number of the row, which is useless for other rows."""
        for name, values, number in zip(self.names, raw.T, self._is_number(), strict=True):
            if number and len(values) >= _COUNTER_ROWS and (np.diff(values) == 1).all():
                warnings.warn(
                    f"Column {name!r} counts the rows: name it with --id, or leave it out with --drop.", stacklevel=4
                )

    @property
    def names(self) -> list[str]:
        """Names of the encoded columns."""
        names = []
        for column in self.columns:
            if column.categories is None or self.choices.encode == "ordinal":
                names.append(column.name)
            else:
                names += [f"{column.name}={category}" for category in column.categories]
        return names

    def _is_number(self) -> Array:
        """Whether each encoded column is scaled: numbers and ordinal codes are, zeros and ones of one-hot are not."""
        one_hot = self.choices.encode == "onehot"
        return np.concatenate(
            [[True] if c.categories is None or not one_hot else [False] * len(c.categories) for c in self.columns]
        )

    def rows(self, table: pa.Table, first_row: int) -> Array:
        """Return encoded and scaled rows; `first_row` rows came before them, for error messages."""
        missing = [column.name for column in self.columns if column.name not in table.column_names]
        if missing:
            raise DataError(
                f"The source has no column {_listed(missing)}, which the model was trained with; it has "
                f"{_listed(table.column_names)}."
            )
        scaled = (self._encode(table, first_row) - self.shift) / self.scale
        return scaled.astype(self.choices.precision)

    def targets(self, table: pa.Table, first_row: int) -> Array:
        """Return the labels."""
        name = self.choices.target
        if name not in table.column_names:
            raise DataError(f"The source has no column {name!r}, the target; it has {_listed(table.column_names)}.")
        values = table[name]
        if self.labels == "whole" and (integers := as_integers(values)) is not None:
            return integers
        missing = is_missing(values)
        if missing.any():
            row = first_row + 1 + int(np.argmax(missing))
            raise DataError(f"Row {row:,} has no value in the target column {name!r}.")
        if self.labels == "text":
            return np.array(as_texts(values).to_pylist(), dtype=np.str_)
        numbers = None if self.labels == "whole" else as_numbers(values)
        if numbers is None:
            raise DataError(f"The target {name!r} held numbers so far; after row {first_row:,} some rows do not.")
        return numbers.astype(bool) if self.labels == "truth" else numbers

    def ids(self, table: pa.Table) -> list[Any] | None:
        """Return the ids of rows as texts, or None if the model has none."""
        name = self.choices.row_id
        if name is None:
            return None
        if name not in table.column_names:
            raise DataError(f"The source has no column {name!r}, the id of rows; it has {_listed(table.column_names)}.")
        return list(as_texts(table[name]).to_pylist())

    def moved(self) -> dict[str, str]:
        """Return the columns whose recent values differ much from the first ones, and how they differ."""
        if self.weight < _LEAST_WEIGHT:
            return {}
        mean, square = self.recent
        spread = np.sqrt(np.maximum(square - mean**2, 0.0)) / self.deviation
        shift = (mean - self.mean) / self.deviation
        moved = {}
        for name, number, by, growth in zip(self.names, self._is_number(), shift, spread, strict=True):
            if number and abs(by) > _MOST_SHIFT:
                moved[name] = f"its mean has moved by {by:+.1f} standard deviations"
            elif number and growth > _MOST_SPREAD:
                moved[name] = f"its spread has grown {growth:.1f} times"
        return moved

    def reset_drift(self) -> None:
        """Begin the running mean and the count of unseen categories again."""
        self.recent = np.zeros((2, len(self.mean)))
        self.weight = 0.0
        self.unseen = 0

    def watch(self, scaled: Array) -> None:
        """Update the running mean and mean square with rows that were learned."""
        scaled = scaled.astype(np.float64)
        keep = 0.5 ** (len(scaled) / _HALF_LIFE)
        weight = keep * self.weight + len(scaled)
        sums = np.stack([scaled.sum(axis=0), np.square(scaled).sum(axis=0)])
        self.recent = (keep * self.weight * self.recent + sums) / weight
        self.weight = weight

    def _encode(self, table: pa.Table, first_row: int) -> Array:
        """Return encoded rows before scaling."""
        parts = []
        for column in self.columns:
            values = table[column.name]
            if column.categories is None:
                parts.append(self._numbers(column, values, first_row)[:, None])
            else:
                parts.append(self._codes(column, values, first_row))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _numbers(self, column: Column, values: Any, first_row: int) -> Array:
        numbers = as_numbers(values)
        if numbers is None:
            row, text = first_non_number(values)
            raise DataError(
                f"Row {first_row + row + 1:,}, column {column.name!r}: {text!r} is not a number. If the column holds "
                f"categories, train with --categorical {column.name}."
            )
        gaps = np.isnan(numbers)
        if gaps.any():
            self._refuse_gap(column, first_row + int(np.argmax(gaps)))
            numbers = np.where(gaps, column.fill, numbers)
        if np.isinf(numbers).any():
            row = first_row + int(np.argmax(np.isinf(numbers))) + 1
            raise DataError(f"Row {row:,}, column {column.name!r}: the number is infinite.")
        return numbers

    def _codes(self, column: Column, values: Any, first_row: int) -> Array:
        texts = as_texts(values)
        assert column.categories is not None
        codes = pc.index_in(texts, value_set=pa.array(column.categories, pa.string()))
        codes = pc.fill_null(codes, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        if texts.null_count:
            gaps = pc.is_null(texts).to_numpy(zero_copy_only=False)
            self._refuse_gap(column, first_row + int(np.argmax(gaps)))
            codes[gaps] = int(column.fill)
        self.unseen += int((codes < 0).sum())
        if self.choices.encode == "ordinal":
            return np.asarray(codes[:, None], dtype=np.float64)
        hot: Array = np.zeros((len(codes), len(column.categories)))
        seen = np.flatnonzero(codes >= 0)
        hot[seen, codes[seen]] = 1.0
        return hot

    def _refuse_gap(self, column: Column, row: int) -> None:
        if self.choices.impute == "error":
            raise DataError(
                f"Row {row + 1:,} has no value in column {column.name!r}. Leave such rows out, or train with "
                "--impute median."
            )


def _column(name: str, values: Any, choices: Choices) -> Column:
    """Decide from its first values what a column holds."""
    if is_unsupported(values):
        raise DataError(
            f"Column {name!r} holds {values.type}: turn it into numbers, or leave it out with --drop {name}."
        )
    categorical = name in choices.categorical or (pa.types.is_dictionary(values.type) and name not in choices.numeric)
    numbers = None if categorical else as_numbers(values)
    if numbers is not None:
        present = numbers[~np.isnan(numbers)]
        return Column(name, None, float(np.median(present)) if len(present) else 0.0)
    if name in choices.numeric or (not categorical and share_of_numbers(values) >= _NEARLY_ALL):
        row, text = first_non_number(values)
        raise DataError(
            f"Column {name!r} holds numbers, but row {row + 1:,} holds {text!r}: correct it, or add "
            f"--categorical {name} if these are categories."
        )
    return _categories(name, as_texts(values), name in choices.categorical)


def _categories(name: str, texts: Any, forced: bool) -> Column:
    """Return a column of categories; the most frequent one fills missing values."""
    counted = pc.value_counts(texts).to_pylist()
    counts = {item["values"]: item["counts"] for item in counted if item["values"] is not None}
    if len(counts) > max(_MOST_CATEGORIES, len(texts) // 2) and not forced:
        raise DataError(
            f"Column {name!r} holds {len(counts)} different texts in the first {len(texts)} rows: leave it out with "
            f"--drop {name}, name it with --id if it holds ids of rows, or add --categorical {name} to keep it."
        )
    categories = sorted(counts)
    return Column(name, categories, float(np.argmax([counts[category] for category in categories])) if counts else 0.0)


def _check_names(names: list[str], choices: Choices) -> None:
    wanted = (choices.target, *([choices.row_id] if choices.row_id else []), *choices.drop, *choices.numeric)
    for name in (*wanted, *choices.categorical):
        if name not in names:
            raise DataError(f"The source has no column {name!r}; it has {_listed(names)}.")


def _scale(raw: Array, how: str, numbers: Array) -> tuple[Array, Array]:
    """Return shift and scale of each encoded column."""
    if how == "standard":
        shift, scale = raw.mean(axis=0), raw.std(axis=0)
    elif how == "minmax":
        shift = raw.min(axis=0)
        scale = raw.max(axis=0) - shift
    else:
        shift, scale = np.zeros(raw.shape[1]), np.ones(raw.shape[1])
    usable = numbers & (scale > 1e-12 * np.abs(shift)) & (scale > 0)  # constant columns are not scaled
    return np.where(numbers, shift, 0.0), np.where(usable, scale, 1.0)


def _listed(names: Iterable[str]) -> str:
    """Return the names of the first few columns."""
    names = list(names)
    shown = ", ".join(map(repr, names[:8]))
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
