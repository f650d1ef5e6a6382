"""What is wrong with rows that cannot be learned or predicted, by their positions in a table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from .._arrays import Array
from .sources.base import MALFORMED, MOST_LABEL_LETTERS, bad_row
from .values import (
    NOT_A_NUMBER,
    as_dates,
    as_numbers,
    as_texts,
    is_missing,
    not_dates,
    not_integers,
    not_numbers,
    plain,
)

MOST_NUMBER = 1e150  # the square of a larger number is infinite
_SHOWN = 60  # letters of a value in a message


class Problem(NamedTuple):
    """Why a row cannot be read, and what the user can do about it."""

    reason: str
    advice: str = ""


Problems = dict[int, Problem]


def refuse(problems: Problems, first_row: int) -> None:
    """Raise the error of the first row that has a problem; `first_row` rows came before the table."""
    if problems:
        position = min(problems)
        raise bad_row(first_row + position + 1, *problems[position])


def malformed(table: Any) -> Problems:
    """Return the rows that the source could not split into columns."""
    if MALFORMED not in table.column_names:
        return {}
    texts = table[MALFORMED].to_pylist()
    return {row: Problem(f": {text.partition(chr(10))[0]}") for row, text in enumerate(texts) if text is not None}


def number_problems(name: str, values: Any, dates: bool, gaps_allowed: bool) -> Problems:
    """Return what is wrong with the values of a column of numbers or dates."""
    wrong = not_dates(values) if dates else not_numbers(values)
    what = "date, such as 2024-03-01 or 2024-03-01T10:00:00" if dates else "number"
    advice = f"If the column holds categories, train with --categorical {name}"
    problems = {
        int(row): Problem(f", column {name!r}: {shown(values, row)} is not a {what}", advice)
        for row in np.flatnonzero(wrong)
    }
    if not gaps_allowed:
        problems |= gap_problems(name, values)
    others = np.flatnonzero(~wrong)
    present = plain(values).take(others)
    numbers = as_dates(present) if dates else as_numbers(present)
    assert numbers is not None
    for row in others[np.abs(numbers) > MOST_NUMBER]:
        size = "infinite" if np.isinf(numbers[np.searchsorted(others, row)]) else "too large"
        problems[int(row)] = Problem(f", column {name!r}: the number is {size} ({shown(values, row)})")
    return problems


def gap_problems(name: str, values: Any) -> Problems:
    """Return the rows without a value."""
    problem = Problem(f" has no value in column {name!r}", "Train with --impute median")
    return {int(row): problem for row in np.flatnonzero(is_missing(values))}


def size_problems(names: list[str], scaled: Array, most: float) -> Problems:
    """Return the rows with a number that is too large when it is scaled."""
    problems = {}
    for row, column in np.argwhere(~(np.abs(scaled) <= most))[::-1]:  # of the columns of a row, the first one stays
        size = f"{scaled[row, column]:.3g} when scaled"
        problems[int(row)] = Problem(f", column {names[column]!r}: the number is too large ({size})")
    return problems


def label_problems(name: str, values: Any, kind: str) -> Problems:
    """Return what is wrong with labels, which are of a kind: whole, text, number or truth."""
    missing = is_missing(values)
    problems = {int(row): Problem(f" has no value in the target column {name!r}") for row in np.flatnonzero(missing)}
    if kind == "text":
        lengths = pc.fill_null(pc.utf8_length(as_texts(values)), 0).to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(lengths > MOST_LABEL_LETTERS):
            reason = f", target {name!r}: the label has {lengths[row]:,} letters; at most {MOST_LABEL_LETTERS} are read"
            problems[int(row)] = Problem(reason)
        return problems
    wrong, what = (not_integers(values), "an integer") if kind == "whole" else (not_numbers(values), "a number")
    advice = f"If labels are texts, begin a new model with --categorical {name}"
    for row in np.flatnonzero(wrong & ~missing):
        reason = f", target {name!r}: {shown(values, row)} is not {what}, as all labels were so far"
        problems[int(row)] = Problem(reason, advice)
    return problems


def shown(values: Any, row: Any) -> str:
    """Return a value as it is shown in messages."""
    text = str(values[int(row)].as_py())
    plain_text = text.removesuffix(NOT_A_NUMBER)
    why = "" if plain_text == text else " (with --decimal , a point is only read between thousands)"
    return repr(plain_text if len(plain_text) <= _SHOWN else plain_text[:_SHOWN] + "...") + why
