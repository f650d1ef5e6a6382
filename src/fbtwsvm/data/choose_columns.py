"""What the first rows tell about columns: which are used, and whether they hold numbers, dates or categories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._arrays import Array
from .problems import Problems, gap_problems, label_problems, malformed, number_problems, shown
from .sources.base import ENTRY_ID, MALFORMED, MOST_LABEL_LETTERS, DataError
from .values import (
    are_other_dates,
    as_dates,
    as_numbers,
    as_texts,
    have_commas_between_thousands,
    have_decimal_commas,
    is_date,
    is_missing,
    is_unsupported,
    not_dates,
    not_numbers,
    share_of,
    with_points,
)

ENCODINGS = ("onehot", "ordinal")
IMPUTATIONS = ("error", "median")
SCALES = ("standard", "minmax", "none")
_MOST_CATEGORIES = 50  # a column with more different texts, which hardly repeat, does not hold categories
_SURE = 20  # rows from which on nearly all tells something
_NEARLY_ALL = 0.9  # in a column with this share of numbers, or of dates, the other values are mistakes


@dataclass(frozen=True)
class Choices:
    """What the user chooses for the columns; the first rows decide on those neither `numeric` nor `categorical`.

    `target` is None if the labels are not part of the table.  `spare` is the number of one-hot columns, of each column
    of categories, for categories that come later.
    """

    target: str | None
    row_id: str | None = None
    drop: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    encode: str = "onehot"
    impute: str = "error"
    scale: str = "standard"
    precision: str = "float32"
    spare: int = 0


@dataclass
class Column:
    """One column: its categories (None for numbers), and the number or category that fills missing values.

    Dates are numbers: days since 1970.  `later` are categories that did not occur in the first rows, in the order in
    which they came.
    """

    name: str
    categories: list[str] | None
    fill: float
    dates: bool = False
    later: tuple[str, ...] = ()

    @property
    def most_frequent(self) -> str | None:
        """The category that fills missing values."""
        return self.categories[int(self.fill)] if self.categories else None


def first_problems(table: pa.Table, choices: Choices) -> Problems:
    """Return what is wrong with rows from which columns are to be chosen, by their positions in the table."""
    table = with_points(table)
    problems = malformed(table)
    sound = table.take(np.setdiff1d(np.arange(table.num_rows), list(problems)))
    gaps_allowed = choices.impute != "error"
    for name in features(table.column_names, choices):
        kind = _kind(name, sound[name], choices)
        if kind != "categories":
            problems = number_problems(name, table[name], kind == "dates", gaps_allowed) | problems
        elif not gaps_allowed:
            problems = gap_problems(name, table[name]) | problems
    if choices.target is None:
        return problems
    return label_problems(choices.target, table[choices.target], "text") | problems


def features(names: list[str], choices: Choices) -> list[str]:
    """Return the columns to learn from."""
    _check_names(names, choices)
    skipped = {choices.target, choices.row_id, *choices.drop, ENTRY_ID, MALFORMED}
    features = [name for name in names if name not in skipped]
    if not features:
        raise DataError("There is no column to learn from: all are the target, the id or dropped.")
    return features


def _kind(name: str, values: Any, choices: Choices) -> str:
    """Decide from its first values what a column holds: numbers, dates or categories."""
    if is_unsupported(values):
        kind = "lists or records" if pa.types.is_nested(values.type) else values.type
        raise DataError(f"Column {name!r} holds {kind}: turn it into numbers, or leave it out with --drop {name}.")
    if name in choices.categorical:
        return "categories"
    if name in choices.numeric:
        return "numbers" if as_dates(values) is None else "dates"
    if pa.types.is_dictionary(values.type):
        return "categories"
    if is_date(values):
        return "dates"
    if share_of(not_numbers(values), values) >= _NEARLY_ALL or is_missing(values).all():
        return "numbers"
    return "dates" if share_of(not_dates(values), values) >= _NEARLY_ALL else "categories"


def choose_column(name: str, values: Any, choices: Choices, weights: Array, *, for_now: bool = False) -> Column:
    """Return a column with the kind and the fill that its first values tell.

    If the choice is only `for_now`, a column with mistakes, or with very many texts, is taken for one of categories.
    """
    kind = _kind(name, values, choices)
    if for_now and kind == "numbers" and name not in choices.numeric and is_missing(values).all():
        kind = "categories"  # none so far: whatever comes fits
    numbers = as_dates(values) if kind == "dates" else as_numbers(values) if kind == "numbers" else None
    if kind == "categories" or (numbers is None and for_now):
        if name not in choices.categorical and (not for_now or len(values) >= _SURE):
            _refuse_commas(name, values)
            _refuse_other_dates(name, values)
        return _categories(name, as_texts(values), name in choices.categorical, weights, for_now=for_now)
    if numbers is None:
        row = int(np.argmax(not_dates(values) if kind == "dates" else not_numbers(values)))
        raise DataError(
            f"Column {name!r} holds {kind}, but row {row + 1:,} holds {shown(values, row)}: correct it, or leave such "
            f"rows out (--on-error skip), or add --categorical {name} if these are categories."
        )
    return Column(name, None, _median(numbers, weights), kind == "dates")


def _refuse_commas(name: str, values: Any) -> None:
    """Refuse texts that are numbers with commas: as categories, they would be no longer large or small."""
    thousands = have_commas_between_thousands(values)
    commas = have_decimal_commas(values) | thousands
    if not commas.any() or share_of(not_numbers(values) & ~commas, values) < _NEARLY_ALL:
        return
    decimal = commas & ~thousands
    if decimal.any():
        what = f"numbers with a decimal comma, such as {shown(values, np.argmax(decimal))}: read them as numbers"
    else:
        what = (
            f"numbers with commas, such as {shown(values, np.argmax(commas))}: take the commas out if they stand "
            "between thousands, or read them as decimal commas"
        )
    raise DataError(f"Column {name!r} holds {what} (--decimal ,), or add --categorical {name} if these are categories.")


def _refuse_other_dates(name: str, values: Any) -> None:
    """Refuse texts that are dates in another form than ISO's: as categories, they would be no longer early or late."""
    dates = are_other_dates(values)
    if dates.any() and share_of(not_dates(values) & ~dates, values) >= _NEARLY_ALL:
        raise DataError(
            f"Column {name!r} holds dates in another form than 2024-03-31, such as {shown(values, np.argmax(dates))}: "
            f"write them so, or add --categorical {name} if these are categories."
        )


def _median(numbers: Array, weights: Array) -> float:
    """Return the median of the numbers that are present, 0 if there are none; a weight of 2 is a number twice."""
    present = np.isfinite(numbers)
    numbers, weights = numbers[present], weights[present]
    if not len(numbers):
        return 0.0
    if (weights == weights[0]).all():
        return float(np.median(numbers))
    order = np.argsort(numbers, kind="stable")
    below = np.cumsum(weights[order])
    middle = [np.searchsorted(below, 0.5 * below[-1], side=side) for side in ("left", "right")]
    return float(numbers[order[middle]].mean())


def _categories(name: str, texts: Any, forced: bool, weights: Array, *, for_now: bool) -> Column:
    """Return a column of categories; the most frequent one fills missing values."""
    coded = pc.dictionary_encode(texts)
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    known = codes >= 0
    totals = np.bincount(codes[known], weights=weights[known], minlength=len(coded.dictionary))
    counts = dict(zip(coded.dictionary.to_pylist(), totals.tolist(), strict=True))
    if for_now and not forced:
        frequent = sorted(counts, key=lambda text: -counts[text])[:_MOST_CATEGORIES]
        counts = {text: counts[text] for text in frequent if len(text) <= MOST_LABEL_LETTERS}
    if len(counts) > max(_MOST_CATEGORIES, len(texts) // 2) and not forced:
        raise DataError(
            f"Column {name!r} holds {len(counts)} different texts in the first {len(texts)} rows, such as "
            f"{shown(texts, np.argmax(known))}: leave it out with --drop {name}, name it with --id if it holds ids of "
            f"rows, or add --categorical {name} to keep it. Dates must be like 2024-03-01."
        )
    categories = sorted(counts)
    longest = max(map(len, categories), default=0)
    if longest > MOST_LABEL_LETTERS:
        raise DataError(
            f"Column {name!r} holds a text of {longest:,} letters; categories have at most {MOST_LABEL_LETTERS}. Leave "
            f"the column out with --drop {name}."
        )
    return Column(name, categories, float(np.argmax([counts[category] for category in categories])) if counts else 0.0)


def _check_names(names: list[str], choices: Choices) -> None:
    wanted = (choices.target, choices.row_id, *choices.drop, *choices.numeric, *choices.categorical)
    for name in wanted:
        if name is not None and name not in names:
            raise DataError(f"The source has no column {name!r}; it has {listed(names)}.")
    both = sorted({*choices.numeric} & {*choices.categorical})
    if both:
        raise DataError(f"Column {both[0]!r} is named both as one of numbers and as one of categories.")


def listed(names: Iterable[str]) -> str:
    """Return the names of the first few columns."""
    names = list(names)
    shown = ", ".join(map(repr, names[:8]))
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
