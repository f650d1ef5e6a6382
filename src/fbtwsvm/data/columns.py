"""From tables to numbers: which columns are used, how categories are encoded, what fills gaps, and the scale.

All of it is fixed on the first rows and saved with the model; later rows are only measured against it.
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
from .sources.base import DataError
from .sources.redis import ID
from .values import as_numbers, as_texts, as_whole, first_odd, has_no_meaning, is_missing, share_of_numbers

ENCODINGS = ("onehot", "ordinal")
IMPUTATIONS = ("error", "median")
SCALES = ("standard", "minmax", "none")
_MOST_CATEGORIES = 50  # of a column of texts whose values hardly repeat: then it is no category
_NEARLY_ALL = 0.9  # of the values of a column are numbers: then the rest are mistakes
_COUNTER_ROWS = 50  # that go up by one each
_HALF_LIFE = 5000.0  # rows, of the running mean and spread that are compared with the first rows
_SHIFTED, _STRETCHED = 1.0, 2.0  # by how many deviations a mean, by which factor a spread may move unreported


@dataclass(frozen=True)
class Choices:
    """What the user says of the columns; `numeric` and `categorical` name those whose kind is not to be found out."""

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
    """One column: its categories (None for numbers), and what stands for a missing value."""

    name: str
    categories: list[str] | None
    fill: float

    @property
    def most_frequent(self) -> str | None:
        """The category that stands for a missing value."""
        return self.categories[int(self.fill)] if self.categories else None


@dataclass
class Columns:
    """The columns of a model and their encoding, as found in its first rows.

    Attributes
    ----------
    labels : {"whole", "text", "number", "truth"}
        What labels are; the last two only in models that were saved from Python.
    shift, scale : ndarray
        Encoded numbers become (x - shift) / scale.
    mean, deviation : ndarray
        Of the scaled first rows.
    recent : ndarray of shape (2, n)
        Running mean and mean square of later rows, `weight` the rows behind them.
    unseen : int
        Values of categorical columns that did not occur in the first rows, so far.
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
        """Find the columns from the first rows."""
        _check_names(table.column_names, choices)
        skipped = {choices.target, choices.row_id, *choices.drop, ID}
        columns = [_find(name, table[name], choices) for name in table.column_names if name not in skipped]
        if not columns:
            raise DataError("There is no column to learn from: all are the target, the id or dropped.")
        labels = "whole" if as_whole(table[choices.target]) is not None else "text"
        none = np.empty(0)
        found = cls(choices, columns, labels, none, none, none, none)
        raw = found._encode(table, 0)
        found.shift, found.scale = _scale(raw, choices.scale, found._is_number())
        scaled = (raw - found.shift) / found.scale
        found.mean, spread = scaled.mean(axis=0), scaled.std(axis=0)
        found.deviation = np.where(spread > 0, spread, 1.0)
        found.recent = np.zeros((2, scaled.shape[1]))
        found.unseen = 0
        found._warn_of_counters(raw)
        return found

    def _warn_of_counters(self, raw: Array) -> None:
        """Say which columns look like a number of the row, which says nothing of other rows."""
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
        """Whether each encoded column is scaled: numbers and ordinal codes are, the zeros and ones of one-hot not."""
        one_hot = self.choices.encode == "onehot"
        return np.concatenate(
            [[True] if c.categories is None or not one_hot else [False] * len(c.categories) for c in self.columns]
        )

    def rows(self, table: pa.Table, first_row: int) -> Array:
        """Return encoded and scaled rows; `first_row` of them came before, for messages."""
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
        held = table[name]
        if self.labels == "whole" and (whole := as_whole(held)) is not None:
            return whole
        missing = is_missing(held)
        if missing.any():
            row = first_row + 1 + int(np.argmax(missing))
            raise DataError(f"Row {row:,} has no value in the target column {name!r}.")
        if self.labels == "text":
            return np.array(as_texts(held).to_pylist(), dtype=np.str_)
        numbers = None if self.labels == "whole" else as_numbers(held)
        if numbers is None:
            raise DataError(f"The target {name!r} held numbers so far; of the rows after {first_row:,} some do not.")
        return numbers.astype(bool) if self.labels == "truth" else numbers

    def ids(self, table: pa.Table) -> list[Any] | None:
        """Return the ids of rows as texts, or None where the model has none."""
        name = self.choices.row_id
        if name is None:
            return None
        if name not in table.column_names:
            raise DataError(f"The source has no column {name!r}, the id of rows; it has {_listed(table.column_names)}.")
        return list(as_texts(table[name]).to_pylist())

    def moved(self) -> dict[str, str]:
        """Return the columns whose recent rows lie far from the first ones, and how far."""
        if self.weight < 100:
            return {}
        mean, square = self.recent
        spread = np.sqrt(np.maximum(square - mean**2, 0.0)) / self.deviation
        shift = (mean - self.mean) / self.deviation
        numbers = self._is_number()
        found = {}
        for j, name in enumerate(self.names):
            if not numbers[j]:
                continue
            if abs(shift[j]) > _SHIFTED:
                found[name] = f"its mean has moved by {shift[j]:+.1f} standard deviations"
            elif spread[j] > _STRETCHED:
                found[name] = f"its spread has grown {spread[j]:.1f} times"
        return found

    def watch(self, scaled: Array) -> None:
        """Let rows that were learned count for the report on how far the data has moved."""
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
            row, text = first_odd(values)
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
        known = np.flatnonzero(codes >= 0)
        hot[known, codes[known]] = 1.0
        return hot

    def _refuse_gap(self, column: Column, row: int) -> None:
        if self.choices.impute == "error":
            raise DataError(
                f"Row {row + 1:,} has no value in column {column.name!r}. Leave such rows out, or train with "
                "--impute median."
            )


def _find(name: str, values: Any, choices: Choices) -> Column:
    """Find out what a column is."""
    if has_no_meaning(values):
        raise DataError(
            f"Column {name!r} holds {values.type}: turn it into numbers, or leave it out with --drop {name}."
        )
    categorical = name in choices.categorical or (pa.types.is_dictionary(values.type) and name not in choices.numeric)
    numbers = None if categorical else as_numbers(values)
    if numbers is not None:
        held = numbers[~np.isnan(numbers)]
        return Column(name, None, float(np.median(held)) if len(held) else 0.0)
    if name in choices.numeric or (not categorical and share_of_numbers(values) >= _NEARLY_ALL):
        row, text = first_odd(values)
        raise DataError(
            f"Column {name!r} holds numbers, but row {row + 1:,} holds {text!r}: correct it, or say that these are "
            f"categories with --categorical {name}."
        )
    return _categories(name, as_texts(values), name in choices.categorical)


def _categories(name: str, texts: Any, insist: bool) -> Column:
    """Find the categories of a column, and the most frequent one."""
    found = pc.value_counts(texts).to_pylist()
    counts = {item["values"]: item["counts"] for item in found if item["values"] is not None}
    if len(counts) > max(_MOST_CATEGORIES, len(texts) // 2) and not insist:
        raise DataError(
            f"Column {name!r} holds {len(counts)} different texts in the first {len(texts)} rows: leave it out with "
            f"--drop {name}, name it with --id if it tells rows apart, or insist with --categorical {name}."
        )
    categories = sorted(counts)
    return Column(name, categories, float(np.argmax([counts[category] for category in categories])) if counts else 0.0)


def _check_names(names: list[str], choices: Choices) -> None:
    wanted = (choices.target, *([choices.row_id] if choices.row_id else []), *choices.drop, *choices.numeric)
    for name in (*wanted, *choices.categorical):
        if name not in names:
            raise DataError(f"The source has no column {name!r}; it has {_listed(names)}.")


def _scale(raw: Array, how: str, numbers: Array) -> tuple[Array, Array]:
    """Return shift and scale of every encoded column."""
    if how == "standard":
        shift, scale = raw.mean(axis=0), raw.std(axis=0)
    elif how == "minmax":
        shift = raw.min(axis=0)
        scale = raw.max(axis=0) - shift
    else:
        shift, scale = np.zeros(raw.shape[1]), np.ones(raw.shape[1])
    usable = numbers & (scale > 1e-12 * np.abs(shift)) & (scale > 0)  # not a column of one value
    return np.where(numbers, shift, 0.0), np.where(usable, scale, 1.0)


def _listed(names: Iterable[str]) -> str:
    """Name a few columns."""
    names = list(names)
    shown = ", ".join(map(repr, names[:8]))
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
