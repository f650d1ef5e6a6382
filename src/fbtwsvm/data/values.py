"""What the values of a column mean, however they were stored: numbers, whole numbers, texts, or nothing.

A CSV file, a Parquet file and a Redis stream with the same values must give the same model, so all questions of types
are answered here: blanks around a text do not count, 1.0 is the text "1", a truth value is "True" or "False" or the
number 1 or 0, and a few words mean that a value is missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._arrays import Array

_MISSING = pa.array(["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"])
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_EXACT = 2**53  # up to here float64 holds every whole number


def plain(values: Any) -> Any:
    """Return values as one array, without dictionaries and unusual kinds of text."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    if pa.types.is_large_string(values.type) or pa.types.is_string_view(values.type):
        values = pc.cast(values, pa.string())
    return values


def has_no_meaning(values: Any) -> bool:
    """Whether values are of a kind that is neither number nor text: times, lists, bytes."""
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
    """Return values as numbers, NaN where missing, or None if they are not."""
    if has_no_meaning(values):
        return None
    values = plain(values)
    if not pa.types.is_string(values.type):
        return _array(pc.cast(values, pa.float64(), safe=False))
    try:
        return _array(pc.cast(values, pa.float64()))
    except pa.ArrowInvalid:
        texts = as_texts(values)  # without blanks and words for nothing
    try:
        return _array(pc.cast(texts, pa.float64()))
    except pa.ArrowInvalid:
        words = pc.utf8_lower(texts)
    known = pc.is_in(words, pa.array(["true", "false", None]))
    return _array(pc.cast(pc.equal(words, "true"), pa.float64())) if pc.all(known).as_py() else None


def as_whole(values: Any) -> Array | None:
    """Return values as whole numbers, or None if one of them is something else, or missing."""
    values = plain(values)
    if pa.types.is_boolean(values.type) or has_no_meaning(values):
        return None
    if pa.types.is_integer(values.type):
        return _int64(values)
    if pa.types.is_string(values.type):
        found = _int64(values)
        return _int64(as_texts(values)) if found is None else found  # without blanks, and 1 for 1.0
    numbers = as_numbers(values)
    if numbers is None or not (np.abs(numbers) <= _EXACT).all():
        return None
    whole = numbers.astype(np.int64)
    return whole if (whole == numbers).all() else None


def _int64(values: Any) -> Array | None:
    """Return values that are whole numbers as they stand, or None if one of them is not, or too large, or missing."""
    try:
        return None if values.null_count else _array(pc.cast(values, pa.int64()))
    except pa.ArrowInvalid:
        return None


def is_missing(values: Any) -> Array:
    """Mark the values that are missing."""
    values = plain(values)
    if pa.types.is_floating(values.type):
        return _array(pc.is_null(values, nan_is_null=True))
    return _array(pc.is_null(as_texts(values) if pa.types.is_string(values.type) else values))


def first_odd(values: Any) -> tuple[int, Any]:
    """Return position and text of the first value that is not a number."""
    texts = as_texts(values)
    odd = _array(pc.fill_null(pc.invert(pc.match_substring_regex(texts, _NUMBER)), False))
    place = int(np.argmax(odd))
    return place, texts[place].as_py()


def share_of_numbers(values: Any) -> float:
    """Return how many of the values that are there look like numbers, from 0 to 1."""
    share = pc.mean(pc.cast(pc.match_substring_regex(as_texts(values), _NUMBER), pa.float64())).as_py()
    return 0.0 if share is None else float(share)


def _array(values: Any) -> Array:
    array: Array = values.to_numpy(zero_copy_only=False)
    return array
