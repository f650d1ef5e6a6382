"""Columns of tables and their encoding as numbers: kinds, categories, missing values and scale.

The first rows fix all of it, and it is saved with the model; later rows are compared with the first ones.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._arrays import Array
from .choose_columns import ENCODINGS, IMPUTATIONS, SCALES, Choices, Column, choose_column, features, listed
from .problems import (
    MOST_NUMBER,
    Problems,
    gap_problems,
    label_problems,
    malformed,
    number_problems,
    refuse,
    shown,
    size_problems,
)
from .sources.base import MOST_LABEL_LETTERS, DataError
from .target import check_target
from .values import as_dates, as_integers, as_numbers, as_texts, is_missing, not_integers, with_points

__all__ = ["ENCODINGS", "IMPUTATIONS", "SCALES", "Choices", "Column", "Columns"]

_MOST_SCALED = {"float32": 1e15, "float64": MOST_NUMBER}  # squares of larger numbers, summed, are infinite
_MOST_ODD_LABELS = 0.1  # share of labels that are not integers, up to which they may be mistakes
_MANY_GAPS = 0.3  # share of gaps in a column of categories from which on they may mean something
_COUNTER_ROWS = 50  # a column that goes up by one in each of so many rows is a row number
_HALF_LIFE = 5000.0  # rows, of the running mean and spread that are compared with the first rows
_LEAST_WEIGHT = 100  # rows before the running mean says anything
_MOST_SHIFT = 1.0  # standard deviations by which a mean may move without a report
_MOST_SPREAD = 2.0  # factor by which a standard deviation may grow without a report


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
    def of(cls, table: pa.Table, choices: Choices, weights: Array | None = None, *, for_now: bool = False) -> Columns:
        """Choose columns and encoding from the first rows; a weight of 2 is the row twice, 0 an absent row.

        If the choice is only `for_now`, columns of which the few rows tell too little are taken for categories.
        """
        table = with_points(table)
        if weights is None:
            weights = np.ones(table.num_rows)
        elif not weights.all():
            table, weights = table.take(np.flatnonzero(weights)), weights[weights != 0]
        names = features(table.column_names, choices)
        labels = "text" if choices.target is None else _kind_of_labels(choices.target, table, choices)
        chosen = [choose_column(name, table[name], choices, weights, for_now=for_now) for name in names]
        empty = np.empty(0)
        columns = cls(choices, chosen, labels, empty, empty, empty, empty)
        raw = columns._encode(table, 0)
        columns.shift, columns.scale = _scale(raw, choices.scale, columns._is_number(), weights)
        columns.mean, spread = _mean_and_spread((raw - columns.shift) / columns.scale, weights)
        columns.deviation = np.where(spread > 0, spread, 1.0)
        columns.reset_drift()
        if not for_now:
            columns._warn_of_row_numbers(raw)
            columns._warn_of_gaps(table, weights)
        return columns

    def _warn_of_row_numbers(self, raw: Array) -> None:
        """Warn of columns that look like the number of the row, which is useless for other rows."""
        for name, values, number in zip(self.names, raw.T, self._is_number(), strict=True):
            if number and len(values) >= _COUNTER_ROWS and (np.diff(values) == 1).all():
                warnings.warn(
                    f"Column {name!r} counts the rows, which tells nothing about others: give it as the id of the rows "
                    "(--id), or leave it out (--drop).",
                    stacklevel=4,
                )

    def _warn_of_gaps(self, table: pa.Table, weights: Array) -> None:
        """Warn of categories that fill so many gaps that they lose their meaning."""
        for column in self.columns:
            share = np.average(is_missing(table[column.name]), weights=weights) if column.categories else 0.0
            if share >= _MANY_GAPS:
                warnings.warn(
                    f"{share:.0%} of the values of column {column.name!r} are gaps, and get the most frequent "
                    f"category, {column.most_frequent!r}. Gaps that mean something need a name of their own in the "
                    "data, such as 'unknown'.",
                    stacklevel=4,
                )

    @property
    def names(self) -> list[str]:
        """Names of the encoded columns."""
        names = []
        for column in self.columns:
            if not self._is_one_hot(column):
                names.append(column.name)
            else:
                assert column.categories is not None
                free = [f"later {i + 1}" for i in range(len(column.later), self.choices.spare)]
                names += [f"{column.name}={category}" for category in (*column.later, *free, *column.categories)]
        return names

    def _is_one_hot(self, column: Column) -> bool:
        """Whether a column is encoded by one column for each of its categories."""
        return column.categories is not None and self.choices.encode == "onehot"

    def width(self, column: Column) -> int:
        """Return the number of encoded columns of a column."""
        return self.choices.spare + len(column.categories or ()) if self._is_one_hot(column) else 1

    def _is_number(self) -> Array:
        """Whether each encoded column is scaled: numbers and ordinal codes are, zeros and ones of one-hot are not."""
        return np.concatenate([np.full(self.width(c), not self._is_one_hot(c)) for c in self.columns])

    def rows(self, table: pa.Table, first_row: int) -> Array:
        """Return encoded and scaled rows; `first_row` rows came before them, for error messages."""
        self.check_names(table.column_names)
        refuse(malformed(table), first_row)
        scaled = (self._encode(with_points(table), first_row) - self.shift) / self.scale
        most = _MOST_SCALED[self.choices.precision]
        if not (np.abs(scaled) <= most).all():
            refuse(size_problems(self.names, scaled, most), first_row)
        return scaled.astype(self.choices.precision)

    def check_names(self, names: list[str]) -> None:
        """Refuse a source without one of the columns."""
        there = set(names)
        missing = [column.name for column in self.columns if column.name not in there]
        if missing:
            raise DataError(
                f"The source has no column {listed(missing)}, which the model was trained with; it has {listed(names)}."
            )

    def targets(self, table: pa.Table, first_row: int) -> Array:
        """Return the labels."""
        values = self._target(with_points(table))
        integers = as_integers(values) if self.labels == "whole" else None
        if integers is not None:
            return integers
        refuse(label_problems(str(self.choices.target), values, self.labels), first_row)
        assert self.labels != "whole"
        if self.labels == "text":
            return np.array(as_texts(values).to_pylist(), dtype=np.str_)
        numbers = as_numbers(values)
        assert numbers is not None
        return numbers.astype(bool) if self.labels == "truth" else numbers

    def _target(self, table: pa.Table) -> Any:
        """Return the column that holds the labels."""
        name = self.choices.target
        assert name is not None
        if name not in table.column_names:
            raise DataError(f"The source has no column {name!r}, the target; it has {listed(table.column_names)}.")
        return table[name]

    def problems(self, table: pa.Table, with_labels: bool = True) -> Problems:
        """Return what is wrong with the rows that cannot be read, by their positions in the table."""
        table = with_points(table)
        problems = malformed(table)
        for column in self.columns:
            problems = self._column_problems(column, table[column.name]) | problems
        if with_labels:
            problems = label_problems(str(self.choices.target), self._target(table), self.labels) | problems
        good = np.setdiff1d(np.arange(table.num_rows), list(problems))
        unseen = self.unseen
        scaled = (self._encode(table.take(good), 0) - self.shift) / self.scale
        self.unseen = unseen
        too_large = size_problems(self.names, scaled, _MOST_SCALED[self.choices.precision])
        return problems | {int(good[row]): problem for row, problem in too_large.items()}

    def _column_problems(self, column: Column, values: Any) -> Problems:
        gaps_allowed = self.choices.impute != "error"
        if column.categories is None:
            return number_problems(column.name, values, column.dates, gaps_allowed)
        return {} if gaps_allowed else gap_problems(column.name, values)

    def ids(self, table: pa.Table) -> list[Any] | None:
        """Return the ids of rows as texts, or None if the model has none."""
        name = self.choices.row_id
        if name is None:
            return None
        if name not in table.column_names:
            raise DataError(f"The source has no column {name!r}, the id of rows; it has {listed(table.column_names)}.")
        return list(as_texts(with_points(table)[name]).to_pylist())

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

    def has_categories(self, table: pa.Table) -> Array:
        """Mark the rows with a value that is one of the categories of its column."""
        table = with_points(table)
        found = np.zeros(table.num_rows, dtype=bool)
        for column in self.columns:
            if column.categories is not None:
                names = pa.array([*column.categories, *column.later], pa.string())
                known = pc.is_in(as_texts(table[column.name]), value_set=names)
                found |= known.to_numpy(zero_copy_only=False)
        return found

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
        numbers = as_dates(values) if column.dates else as_numbers(values)
        if numbers is None or self._is_wrong(numbers):
            refuse(self._column_problems(column, values), first_row)
        assert numbers is not None
        return np.where(np.isnan(numbers), column.fill, numbers)

    def _is_wrong(self, numbers: Array) -> bool:
        """Whether one of the numbers cannot be learned."""
        gap = self.choices.impute == "error" and np.isnan(numbers).any()
        return bool(gap or (np.abs(numbers) > MOST_NUMBER).any())

    def _codes(self, column: Column, values: Any, first_row: int) -> Array:
        texts = as_texts(values)
        assert column.categories is not None
        codes = pc.index_in(texts, value_set=pa.array(column.categories, pa.string()))
        codes = pc.fill_null(codes, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        if texts.null_count:
            refuse(self._column_problems(column, values), first_row)
            codes[pc.is_null(texts).to_numpy(zero_copy_only=False)] = int(column.fill) if column.categories else -1
        new = np.flatnonzero(codes < 0)
        self.unseen += len(new)
        if self.choices.encode == "ordinal":
            return np.asarray(codes[:, None], dtype=np.float64)
        # Spare columns come first: an empty one is then part of the block of its column (`batch.one_hot`).
        hot: Array = np.zeros((len(codes), self.width(column)))
        seen = np.flatnonzero(codes >= 0)
        hot[seen, self.choices.spare + codes[seen]] = 1.0
        if len(column.later):
            places = {category: place for place, category in enumerate(column.later)}
            for row, text in zip(new, texts.take(new).to_pylist(), strict=True):
                if text in places:
                    hot[row, places[text]] = 1.0
        return hot

    def with_new_categories(self, table: pa.Table) -> Columns:
        """Return the columns with the categories of new rows, in the order in which they come, while there is room."""
        if not self.choices.spare or self.choices.encode == "ordinal":
            return self
        table, columns = with_points(table), list(self.columns)
        for k, column in enumerate(self.columns):
            free = self.choices.spare - len(column.later)
            if column.categories is None or not free:
                continue
            known = pa.array([*column.categories, *column.later], pa.string())
            texts = pc.drop_null(as_texts(table[column.name]))
            new = pc.unique(texts.filter(pc.invert(pc.is_in(texts, value_set=known)))).to_pylist()
            if any(len(text) > MOST_LABEL_LETTERS for text in new):
                raise DataError(
                    f"Column {column.name!r} holds a text of more than {MOST_LABEL_LETTERS} letters: that is no "
                    "category. Correct it, or leave such rows out."
                )
            if new:
                columns[k] = replace(column, later=(*column.later, *new[:free]))
        return replace(self, columns=columns)


def _kind_of_labels(name: str, table: pa.Table, choices: Choices) -> str:
    """Return whether labels are whole numbers or texts; refuse quantities."""
    if name in choices.categorical:
        return "text"
    check_target(name, table[name])
    if as_integers(table[name]) is not None:
        return "whole"
    _warn_of_odd_labels(name, table[name])
    return "text"


def _warn_of_odd_labels(name: str, values: Any) -> None:
    """Warn when all labels are texts because of a few that are not integers."""
    wrong = not_integers(values)
    present = len(values) - int(is_missing(values).sum())
    if 0 < wrong.sum() <= _MOST_ODD_LABELS * present:
        row = int(np.argmax(wrong))
        warnings.warn(
            f"All labels are texts, since {int(wrong.sum()):,} of the first {len(values):,} are not integers: column "
            f"{name!r} holds {shown(values, row)} in row {row + 1:,}. If that is a mistake, correct it and begin a new "
            f"model; if not, --categorical {name} says that labels are texts.",
            stacklevel=5,
        )


def _mean_and_spread(rows: Array, weights: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column."""
    if (weights == weights[0]).all():
        return rows.mean(axis=0), rows.std(axis=0)
    mean = np.average(rows, axis=0, weights=weights)
    return mean, np.sqrt(np.average(np.square(rows - mean), axis=0, weights=weights))


def _scale(raw: Array, how: str, numbers: Array, weights: Array) -> tuple[Array, Array]:
    """Return shift and scale of each encoded column."""
    if how == "standard":
        shift, scale = _mean_and_spread(raw, weights)
    elif how == "minmax":
        shift = raw.min(axis=0)
        scale = raw.max(axis=0) - shift
    else:
        shift, scale = np.zeros(raw.shape[1]), np.ones(raw.shape[1])
    usable = numbers & (scale > 1e-12 * np.abs(shift)) & (scale > 0)  # constant columns are not scaled
    return np.where(numbers, shift, 0.0), np.where(usable, scale, 1.0)
