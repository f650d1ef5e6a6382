"""How many bytes rows take in memory, and how tables are cut so that no piece takes too many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..._arrays import Array
from .base import MOST_ROW_BYTES, DataError

_MOST_ROWS = 65_536  # of one piece
_PIECE_BYTES = 32 * 2**20


def is_text(kind: Any) -> bool:
    """Whether values of a type are texts, or bytes, of any length."""
    return any(
        is_kind(kind)
        for is_kind in (
            pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view,
            pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view,
        )
    )  # fmt: skip


def is_nested(kind: Any) -> bool:
    """Whether one value of a type may hold any number of values."""
    if pa.types.is_dictionary(kind):
        return is_nested(kind.value_type)
    return not (is_text(kind) or pa.types.is_primitive(kind) or pa.types.is_null(kind) or _has_width(kind))


def _has_width(kind: Any) -> bool:
    return bool(pa.types.is_fixed_size_binary(kind) or pa.types.is_decimal(kind))


def bounded(table: pa.Table, schema: Any, source: str, rows: int) -> Iterator[pa.Table]:
    """Cut a table into pieces with the types of a schema that take little memory; `rows` is the rows before it.

    Nested columns, which cannot be learned from, are not unpacked: their values are missing in the pieces.
    """
    sizes = row_bytes(table)
    too_large = np.flatnonzero(sizes > MOST_ROW_BYTES)
    if len(too_large):
        raise DataError(
            f"{source}: row {rows + int(too_large[0]) + 1:,} takes {int(sizes[too_large[0]]):,} bytes; at most "
            f"{MOST_ROW_BYTES:,} are read."
        )
    ends = np.cumsum(sizes)
    first = 0
    while first < table.num_rows:
        before = ends[first - 1] if first else 0
        last = int(np.searchsorted(ends, before + _PIECE_BYTES, side="right"))
        last = min(max(last, first + 1), first + _MOST_ROWS)
        yield _typed(table.slice(first, last - first), schema)
        first = min(last, table.num_rows)


def _typed(table: pa.Table, schema: Any) -> pa.Table:
    """Return a table with the columns of a schema."""
    columns = {}
    for field in schema:
        if is_nested(field.type):
            columns[field.name] = pa.nulls(table.num_rows, pa.list_(pa.null()))
        else:
            values = table[field.name]
            columns[field.name] = values if values.type == field.type else pc.cast(values, field.type)
    return pa.table(columns)


def row_bytes(table: pa.Table) -> Array:
    """Return how many bytes each row takes when it is unpacked, without its nested columns."""
    sizes = np.zeros(table.num_rows, dtype=np.int64)
    for column in table.columns:
        if not is_nested(column.type):
            first = 0
            for values in column.chunks:
                sizes[first : first + len(values)] += _value_bytes(values)
                first += len(values)
    return sizes


def _value_bytes(values: Any) -> Any:
    """Return the bytes of each value, or of any value where all have the same size."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        sizes = np.append(np.broadcast_to(_value_bytes(values.dictionary), len(values.dictionary)), 0)
        return sizes[pc.fill_null(values.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)]
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        views = np.frombuffer(values.buffers()[1], np.int32).reshape(-1, 4)  # the length comes first
        return views[values.offset : values.offset + len(values), 0]
    if is_text(kind):
        return pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
    return fixed_bytes(kind)


def fixed_bytes(kind: Any) -> int:
    """Return the bytes of a value of a type whose values all have the same size."""
    if pa.types.is_dictionary(kind):
        kind = kind.index_type
    return 0 if pa.types.is_null(kind) else kind.bit_width // 8 + 1


def unpacked_bytes(table: pa.Table) -> int:
    """Return how many bytes a table takes when its dictionaries are unpacked."""
    packed = [name for name in table.column_names if pa.types.is_dictionary(table.schema.field(name).type)]
    return int(table.nbytes) + (int(row_bytes(table.select(packed)).sum()) if packed else 0)
