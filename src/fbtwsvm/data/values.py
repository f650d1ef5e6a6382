"""Values of a column as numbers, integers or texts, whatever type they were stored in.

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

_MISSING = pa.array(["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"])
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
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
    """Whether values are neither numbers nor texts: times, lists, bytes."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return bool(binary or pa.types.is_temporal(kind) or pa.types.is_nested(kind))


def as_texts(values: Any) -> Any:
    """Return values as texts, null where missing."""
    values = plain(values)
    if pa.types.is_boolean(values.type):
        return pc.if_else(values, "True", "False")
    if not pa.types.is_string(values.type):
        values = pc.cast(values, pa.string())
    texts = pc.utf8_trim_whitespace(values)
    texts = pc.if_else(pc.is_in(texts, _MISSING), None, texts)
    return pc.replace_substring_regex(texts, r"^([+-]?\d+)\.0+$", r"\1")


def as_numbers(values: Any) -> Array | None:
    """Return values as numbers, NaN where missing, or None if they are not numbers."""
    if is_unsupported(values):
        return None
    values = plain(values)
    if not pa.types.is_string(values.type):
        return _array(pc.cast(values, pa.float64(), safe=False))
    try:
        return _array(pc.cast(values, pa.float64()))
    except pa.ArrowInvalid:
        texts = as_texts(values)  # without blanks, and null where missing
    try:
        return _array(pc.cast(texts, pa.float64()))
    except pa.ArrowInvalid:
        lower = pc.utf8_lower(texts)
    all_booleans = pc.all(pc.is_in(lower, pa.array(["true", "false", None]))).as_py()
    return _array(pc.cast(pc.equal(lower, "true"), pa.float64())) if all_booleans else None


def as_integers(values: Any) -> Array | None:
    """Return values as integers, or None if one of them is not an integer or is missing."""
    values = plain(values)
    if pa.types.is_boolean(values.type) or is_unsupported(values):
        return None
    if pa.types.is_integer(values.type):
        return _int64(values)
    if pa.types.is_string(values.type):
        integers = _int64(values)
        return _int64(as_texts(values)) if integers is None else integers  # without blanks, and 1 for 1.0
    numbers = as_numbers(values)
    if numbers is None or not (np.abs(numbers) <= _EXACT).all():
        return None
    integers = numbers.astype(np.int64)
    return integers if (integers == numbers).all() else None


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


def first_non_number(values: Any) -> tuple[int, Any]:
    """Return position and text of the first value that is not a number."""
    texts = as_texts(values)
    wrong = _array(pc.fill_null(pc.invert(pc.match_substring_regex(texts, _NUMBER)), False))
    position = int(np.argmax(wrong))
    return position, texts[position].as_py()


def share_of_numbers(values: Any) -> float:
    """Return the share of the present values that look like numbers."""
    share = pc.mean(pc.cast(pc.match_substring_regex(as_texts(values), _NUMBER), pa.float64())).as_py()
    return 0.0 if share is None else float(share)


def _array(values: Any) -> Array:
    array: Array = values.to_numpy(zero_copy_only=False)
    return array
