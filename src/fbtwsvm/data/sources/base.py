"""What all sources of rows share, and how rows are cut into chunks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

ENTRY_ID = "_id"  # column in which a live source passes its own id of a row; never a feature
_MOST_LETTERS = 1000


class DataError(ValueError):
    """Error in the data or its source; the message says what is wrong and what to do."""


class Source:
    """A source of rows: tables of any size, one after another.

    `name` is shown to users, without passwords.  A place is a string that says where to go on: for most sources the
    number of rows before it.
    """

    name: str = ""
    repeats = True  # whether the same rows come when it is read again
    ordered = True  # and in the same order
    n_rows = 0  # number of all rows; 0 if it is not known
    rows_done = 0

    @property
    def identity(self) -> str:
        """Return a name that no other source has, however the user wrote it; short enough for a model file."""
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
        """Return the share that has been read, if that is known."""
        return self.rows_done / self.n_rows if self.n_rows else None


def shortened(text: str) -> str:
    """Return a text, or if it is very long its beginning and a hash of all of it."""
    if len(text) <= _MOST_LETTERS:
        return text
    return f"{text[:_MOST_LETTERS]}... {hashlib.sha256(text.encode()).hexdigest()}"


class FileSource(Source):
    """A file; two names of the same file are the same source."""

    def __init__(self, path: str) -> None:
        self.path = self.name = path

    @property
    def identity(self) -> str:
        """Return the full path, or - for standard input."""
        return "-" if self.name == "-" else shortened(os.path.abspath(self.name))


def in_chunks(tables: Iterator[pa.Table], size: int, first: int | None = None) -> Iterator[pa.Table]:
    """Cut tables into chunks of exactly `size` rows (the first of `first` rows), whatever the sizes of the tables.

    The last chunk may be smaller.  Tables may store a column in different types, as long as one type can hold both.
    """
    pieces: list[pa.Table] = []
    have = 0
    wanted = size if first is None else first
    for table in tables:
        while table.num_rows:
            part = table.slice(0, wanted - have)
            pieces.append(part)
            have += part.num_rows
            table = table.slice(part.num_rows)
            if have == wanted:
                yield joined(pieces)
                pieces = []
                have = 0
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
        raise DataError(f"The columns of the source change after some rows: {one_line(error)}") from error


def numbered_names(count: int) -> list[str]:
    """Return names for columns without names: x0, x1 and so on."""
    return [f"x{j}" for j in range(count)]


def numbered_table(X: Any, y: Any = None) -> pa.Table:
    """Return a matrix as a table with columns x0, x1, ..., and its labels as column y."""
    columns = dict(zip(numbered_names(X.shape[1]), np.ascontiguousarray(X.T), strict=True))
    return pa.table(columns if y is None else {**columns, "y": y})


def one_line(error: BaseException) -> str:
    """Return the message of an error in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."
