"""What every source of rows has in common, and how rows are cut into chunks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

_MOST_LETTERS = 1000


class DataError(ValueError):
    """Something is wrong with the data or where it comes from; the message says what, and what to do."""


class Source:
    """Rows from somewhere, as tables of any size, one after another.

    `name` is what people call it, without passwords.  A place is a text that says where to go on: for most sources the
    number of rows before it.
    """

    name: str = ""
    repeats = True  # whether it has the same rows when it is read again
    ordered = True  # and in the same order
    rows_in_all, rows_done = 0, 0  # where the number of rows is known

    @property
    def identity(self) -> str:
        """Return what tells it apart from other sources, however it was named; short enough for a model file."""
        return shortened(self.name)

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows from the beginning."""
        raise NotImplementedError

    def tables_after(self, place: str) -> Iterator[pa.Table]:
        """Yield the rows after a place."""
        left = int(place)
        for table in self.tables():
            if table.num_rows <= left:
                left -= table.num_rows
                continue
            yield table.slice(left)
            left = 0
        if left:
            raise DataError(
                f"{self.name} has {left:,} rows fewer than were learned from it before: it is not the same source. "
                "To read it from its beginning, add --from-start."
            )

    def place_after(self, table: pa.Table, rows: int) -> str:
        """Return the place after the last row of a table, which is row number `rows` of the source."""
        return str(rows)

    def share_done(self) -> float | None:
        """Return how much has been read, from 0 to 1, if that is known."""
        return self.rows_done / self.rows_in_all if self.rows_in_all else None


def shortened(text: str) -> str:
    """Return a text, or where it is very long its beginning and a hash of all."""
    if len(text) <= _MOST_LETTERS:
        return text
    return f"{text[:_MOST_LETTERS]}... {hashlib.sha256(text.encode()).hexdigest()}"


class FileSource(Source):
    """A file; two names of one file are one source."""

    @property
    def identity(self) -> str:
        """Return the full path, or - for standard input."""
        return "-" if self.name == "-" else shortened(os.path.abspath(self.name))


def in_chunks(tables: Iterator[pa.Table], size: int, first: int | None = None) -> Iterator[pa.Table]:
    """Cut tables into chunks of exactly `size` rows (the first of `first` rows), whatever pieces they come in.

    The last one may be smaller.  Pieces may differ in how they store a column, as long as one type can hold both.
    """
    pieces: list[pa.Table] = []
    have, wanted = 0, size if first is None else first
    for table in tables:
        while table.num_rows:
            part = table.slice(0, wanted - have)
            pieces.append(part)
            have += part.num_rows
            table = table.slice(part.num_rows)
            if have == wanted:
                yield joined(pieces)
                pieces, have, wanted = [], 0, size
    if have:
        yield joined(pieces)


def joined(pieces: list[pa.Table]) -> pa.Table:
    """Put pieces of the same columns together."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        return pa.concat_tables(pieces, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"The columns of the source change on the way: {one_line(error)}") from error


def numbered_names(count: int) -> list[str]:
    """Names of columns that have none: x0, x1 and so on."""
    return [f"x{j}" for j in range(count)]


def numbered_table(X: Any, y: Any = None) -> pa.Table:
    """Make a table of a matrix, with columns x0, x1, ..., and of its labels, column y."""
    columns = dict(zip(numbered_names(X.shape[1]), np.ascontiguousarray(X.T), strict=True))
    return pa.table(columns if y is None else {**columns, "y": y})


def one_line(error: BaseException) -> str:
    """Return what an error says, on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."
