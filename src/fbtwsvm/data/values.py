"""Values of a column as numbers, dates, integers or texts, whatever type they were stored in.

A CSV file, a Parquet file and a Redis stream with the same values must give the same model, so these rules hold for
all: blanks around a text do not count, 1.0 is the text "1", a boolean is "True" or "False" as a text and 1 or 0 as a
number, and some texts, such as "NA", stand for a missing value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._arrays import Array

_MISSING = pa.array(["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>", "NaT"])
_NUMBER = r"(?i)^([+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?|nan)$"
_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$"
_DAY = 86_400e6  # microseconds
NOT_A_NUMBER = "\ufdd0"  # marks a text that looks like a number; Unicode keeps this character out of texts
_EXACT = 2**53  # float64 holds every integer up to this one


def plain(values: Any) -> Any:
    """Return values as one array, with dictionaries and unusual types of text resolved."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    if pa.types.is_large_string(values.type) or pa.types.is_string_view(values.type):
        values = pc.cast(values, pa.string())
    return values


def is_unsupported(values: Any) -> bool:
    """Whether values are neither numbers nor dates nor texts: lists, bytes, times of a day."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    other_time = pa.types.is_temporal(kind) and not _is_date(kind)
    return bool(binary or other_time or pa.types.is_nested(kind))


def _is_date(kind: Any) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def as_texts(values: Any) -> Any:
    """Return values as texts, null where missing."""
    return pc.replace_substring(_marked_texts(values), NOT_A_NUMBER, "")


def _marked_texts(values: Any) -> Any:
    """Return values as texts, null where missing, with the mark of those that are not numbers."""
    values = plain(values)
    if pa.types.is_boolean(values.type):
        return pc.if_else(values, "True", "False")
    if not pa.types.is_string(values.type):
        values = pc.cast(values, pa.string())
    texts = pc.utf8_trim_whitespace(values)
    texts = pc.if_else(pc.is_in(texts, _MISSING), None, texts)
    return pc.replace_substring_regex(texts, r"^([+-]?\d+)\.0+$", r"\1")


def with_points(table: pa.Table) -> pa.Table:
    """Return a table whose numbers have decimal points, whatever its source has.

    Of a source with decimal commas, 1.234,5 becomes 1234.5.  Any other number with a point, such as 12.34, could be
    meant in two ways: it gets a mark, so that it is not a number; as a text it is what it was.
    """
    if (table.schema.metadata or {}).get(b"decimal") != b",":
        return table
    columns = [_with_points(column) if pa.types.is_string(column.type) else column for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _with_points(texts: Any) -> Any:
    trimmed = pc.utf8_trim_whitespace(texts)
    has_point = pc.match_substring_regex(trimmed, r"(?i)^[+-]?(\d+\.\d*|\.\d+)(e[+-]?\d+)?$")
    grouped = pc.match_substring_regex(trimmed, r"^[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?$")
    numbers = pc.if_else(grouped, pc.replace_substring(trimmed, ".", ""), trimmed)
    numbers = pc.replace_substring_regex(numbers, r"^([+-]?\d*),(\d*([eE][+-]?\d+)?)$", r"\1.\2")
    marked = pc.binary_join_element_wise(trimmed, NOT_A_NUMBER, "")
    return pc.if_else(pc.and_not(has_point, grouped), marked, numbers)


def is_date(values: Any) -> bool:
    """Whether values are stored as dates or times."""
    return _is_date(values.type)


def _is_empty(values: Any) -> bool:
    """Whether no value is present, in a column of any type."""
    if values.null_count == len(values):
        return True
    return bool(pa.types.is_floating(values.type) and pc.all(pc.is_nan(values)).as_py())


def one_type(one: Any, other: Any) -> tuple[Any, Any]:
    """Return two parts of a column as arrays of one type: numbers, dates, or else texts."""
    one, other = plain(one), plain(other)
    if one.type == other.type:
        return one, other
    if _is_empty(one) or _is_empty(other):
        kind = other.type if _is_empty(one) else one.type
        return tuple(pa.nulls(len(part), kind) if _is_empty(part) else part for part in (one, other))
    for fits, kind in ((_is_number, pa.float64()), (_is_date, pa.timestamp("us", "UTC"))):
        if fits(one.type) and fits(other.type):
            return tuple(_cast(part, kind) for part in (one, other))
    return as_texts(one), as_texts(other)


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _cast(values: Any, kind: Any) -> Any:
    """Return numbers as floats; dates as times of one time zone, those without one are of UTC."""
    if pa.types.is_timestamp(kind) and not (pa.types.is_timestamp(values.type) and values.type.tz):
        return pc.assume_timezone(pc.cast(values, pa.timestamp("us"), safe=False), "UTC")
    return pc.cast(values, kind, safe=False)


def as_numbers(values: Any) -> Array | None:
    """Return values as numbers, NaN where missing, or None if they are not numbers."""
    values = plain(values)
    if _is_empty(values):
        return np.full(len(values), np.nan)
    if is_unsupported(values) or _is_date(values.type):
        return None
    if not pa.types.is_string(values.type):
        return _array(pc.cast(values, pa.float64(), safe=False))
    try:
        return _array(pc.cast(values, pa.float64()))
    except pa.ArrowInvalid:
        texts = _marked_texts(values)  # without blanks, and null where missing
    try:
        return _array(pc.cast(texts, pa.float64()))
    except pa.ArrowInvalid:
        lower = pc.utf8_lower(texts)
    all_booleans = pc.all(pc.is_in(lower, pa.array(["true", "false", None]))).as_py()
    return _array(pc.cast(pc.equal(lower, "true"), pa.float64())) if all_booleans else None


def as_dates(values: Any) -> Array | None:
    """Return dates and times as days since 1970, NaN where missing, or None if they are not dates.

    Texts are dates like 2024-03-01, or times like 2024-03-01T10:00:00; those without a time zone are taken for UTC.
    """
    values = plain(values)
    if _is_empty(values):
        return np.full(len(values), np.nan)
    if pa.types.is_string(values.type):
        texts = as_texts(values)
        if not pc.all(pc.match_substring_regex(texts, _DATE), min_count=0).as_py():
            return None
        texts = pc.replace_substring_regex(texts, r"^(.{10})$", r"\1T00:00")
        texts = pc.replace_substring_regex(texts, r"(\.\d{6})\d+", r"\1")
        texts = pc.replace_substring_regex(texts, r"^(.{13}:\d{2}(:\d{2}(\.\d+)?)?)$", r"\1Z")
        try:
            values = pc.cast(texts, pa.timestamp("us", "UTC"))
        except pa.ArrowInvalid:  # there is no such day
            return None
    elif not _is_date(values.type):
        return None
    times = pc.cast(values, pa.timestamp("us", getattr(values.type, "tz", None)), safe=False)
    return _array(pc.cast(pc.cast(times, pa.int64()), pa.float64(), safe=False)) / _DAY


def as_integers(values: Any) -> Array | None:
    """Return values as integers, or None if one of them is not an integer or is missing."""
    values = plain(values)
    if pa.types.is_boolean(values.type) or _is_date(values.type) or is_unsupported(values):
        return None
    if pa.types.is_integer(values.type):
        return _int64(values)
    if pa.types.is_string(values.type):
        integers = _int64(values)
        return _int64(_integer_texts(values)) if integers is None else integers
    numbers = as_numbers(values)
    if numbers is None or not (np.abs(numbers) <= _EXACT).all():
        return None
    integers = numbers.astype(np.int64)
    return integers if (integers == numbers).all() else None


def _integer_texts(values: Any) -> Any:
    """Return texts without blanks, null where missing, 1 for 1.0 and for +1."""
    return pc.replace_substring_regex(as_texts(values), r"^\+(\d+)$", r"\1")


def _int64(values: Any) -> Array | None:
    """Return values as 64-bit integers, or None if one of them is not an integer, too large or missing."""
    try:
        return None if values.null_count else _array(pc.cast(values, pa.int64()))
    except pa.ArrowInvalid:
        return None


def is_missing(values: Any) -> Array:
    """Return whether each value is missing."""
    values = plain(values)
    if pa.types.is_floating(values.type):
        return _array(pc.is_null(values, nan_is_null=True))
    return _array(pc.is_null(as_texts(values) if pa.types.is_string(values.type) else values))


def not_numbers(values: Any) -> Array:
    """Return whether each value is present and not a number."""
    if as_numbers(values) is not None:
        return np.zeros(len(values), dtype=bool)
    texts = _marked_texts(values)
    numbers = pc.match_substring_regex(texts, _NUMBER)
    if not pc.any(numbers).as_py():  # then truth values would be numbers
        numbers = pc.is_in(pc.utf8_lower(texts), pa.array(["true", "false"]))
    return _array(pc.and_(pc.is_valid(texts), pc.invert(pc.fill_null(numbers, False))))


def not_dates(values: Any) -> Array:
    """Return whether each value is present and not a date."""
    if as_dates(values) is not None:
        return np.zeros(len(values), dtype=bool)
    texts = as_texts(values)
    matches = pc.match_substring_regex(texts, _DATE)
    wrong = _array(pc.fill_null(pc.invert(matches), False))
    if as_dates(pc.if_else(matches, texts, None)) is None:  # one of them has no such day
        for row in np.flatnonzero(~wrong):
            wrong[row] = as_dates(texts.slice(row, 1)) is None
    return wrong


def are_other_dates(values: Any) -> Array:
    """Return whether each value is a text such as 31.03.2024, 3/31/24 or 2024/03/31: a date, but not in ISO form."""
    day, month = r"(0?[1-9]|[12]\d|3[01])", r"(0?[1-9]|1[0-2])"
    year_last = "|".join(
        rf"({day}[{sign}]{month}|{month}[{sign}]{day})[{sign}]{year}"
        for sign, year in ((".", r"\d{4}"), ("/", r"(\d\d)?\d\d"), ("-", r"\d{4}"))
    )
    year_first = rf"\d{{4}}([.]{month}[.]{day}|/{month}/{day})"
    return _matches(as_texts(values), rf"^({year_last}|{year_first})( \d{{1,2}}:\d{{2}}.*)?$")


def have_decimal_commas(values: Any) -> Array:
    """Return whether each value is a text such as 12,5 or 1.234,5: a number with a decimal comma."""
    return _matches(as_texts(values), r"^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+$")


def have_commas_between_thousands(values: Any) -> Array:
    """Return whether each value is a text such as 12,345 or 1,234,567.8; 12,345 may have a decimal comma as well."""
    return _matches(as_texts(values), r"^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$")


def not_integers(values: Any) -> Array:
    """Return whether each value is present and not an integer of at most 64 bits."""
    if as_integers(values) is not None:
        return np.zeros(len(values), dtype=bool)
    values = plain(values)
    wrong = ~is_missing(values)
    doubtful = wrong if pa.types.is_integer(values.type) or pa.types.is_decimal(values.type) else np.zeros_like(wrong)
    if pa.types.is_string(values.type):
        texts = as_texts(values)
        wrong &= ~_matches(texts, r"^[+-]?\d{1,18}$")  # which are always integers of 64 bits
        doubtful = wrong & _matches(texts, r"^[+-]?\d+$")
    elif pa.types.is_floating(values.type):
        numbers = _array(values)
        wrong &= ~((np.abs(numbers) <= _EXACT) & (numbers == np.floor(numbers)))
    for row in np.flatnonzero(doubtful):
        wrong[row] = as_integers(values.slice(row, 1)) is None
    return wrong


def _matches(texts: Any, pattern: str) -> Array:
    return _array(pc.fill_null(pc.match_substring_regex(texts, pattern), False))


def share_of(wrong: Array, values: Any) -> float:
    """Return the share of the present values that are not wrong."""
    present = len(values) - int(is_missing(values).sum())
    return 1.0 - float(wrong.sum()) / present if present else 0.0


def _array(values: Any) -> Array:
    array: Array = values.to_numpy(zero_copy_only=False)
    return array
