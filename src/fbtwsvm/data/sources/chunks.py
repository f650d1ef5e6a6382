"""How the rows of a source are cut into chunks."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from .base import MOST_CHUNK_BYTES, DataError, sentence
from .row_sizes import unpacked_bytes


def in_chunks(tables: Iterator[pa.Table], size: int, first: int | None = None) -> Iterator[pa.Table]:
    """Cut tables into chunks of exactly `size` rows (the first of `first` rows), whatever the sizes of the tables.

    The last chunk may be smaller.  Tables may store a column in different types, as long as one type can hold both.
    """
    pieces: list[pa.Table] = []
    have = held = 0
    wanted = size if first is None else first
    for table in tables:
        while table.num_rows:
            part = table.slice(0, wanted - have)
            pieces.append(part)
            have += part.num_rows
            held += unpacked_bytes(part)
            if held > MOST_CHUNK_BYTES:
                raise DataError(
                    f"{have:,} rows hold more than {MOST_CHUNK_BYTES:,} bytes: learn fewer at a time, with a smaller "
                    "--chunk or --warm-up."
                )
            table = table.slice(part.num_rows)
            if have == wanted:
                yield joined(pieces)
                pieces = []
                have = held = 0
                wanted = size
    if have:
        yield joined(pieces)


def joined(pieces: list[pa.Table]) -> pa.Table:
    """Join tables with the same columns."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        return pa.concat_tables(pieces, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"The columns of the source change after some rows: {sentence(error)}") from error
