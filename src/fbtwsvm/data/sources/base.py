"""What all sources of rows share."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ENTRY_ID = "_id"  # column in which a live source passes its own id of a row; never a feature
MALFORMED = "_malformed"  # column with what is wrong with a row, a line end, and the row as it stands in the source
# Limits, so that memory is bounded whatever a source holds (docs/command.md states them)
MOST_ROW_BYTES = 16 * 2**20  # of one row
MOST_COLUMNS = 100_000
MOST_LABEL_LETTERS = 256
MOST_VALUES = 4_000_000  # numbers of one table
MOST_CHUNK_BYTES = 2**30  # of one chunk
_MOST_LETTERS = 1000  # of a name in a model file
_HASH_BYTES = 16
_MISSING = np.array(-1).view(np.float64)  # of a number, as the length of a missing text: all may be missing in a table


class DataError(ValueError):
    """Error in the data or its source; the message says what is wrong and what to do."""


class Source:
    """A source of rows: tables of any size, one after another.

    `name` is shown to users, without passwords.  A place is a string that says where to go on, and from what was read
    before it: for most sources the number of rows before it and a hash of their values.
    """

    name: str = ""
    repeats = True  # whether the same rows come when it is read again
    ordered = True  # and in the same order
    n_rows = 0  # number of all rows; 0 if it is not known
    rows_done = 0
    column_names: list[str] | None = None  # known, of files, when reading has begun, also if there is no row
    finished = False  # whether a last line without a line end is a row also when the source may grow
    waiting = 0  # bytes of a last line that waits for its end
    _seen: RowHash  # of the rows before the last place; `tables_after` begins it

    @property
    def identity(self) -> str:
        """Return a name that no other source has, however the user wrote it; short enough for a model file."""
        return shortened(self.name)

    def is_called(self, identity: str) -> bool:
        """Whether this is the identity of the source, as it stands in a model file."""
        return identity == self.identity

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows from the beginning."""
        raise NotImplementedError

    def tables_after(self, place: str) -> Iterator[pa.Table]:
        """Yield the rows after a place ("" for the beginning); refuse a source in which other rows come before it.

        Between two tables, `place_after` may be called for the rows that have come.
        """
        count, _, digest = place.partition("/")  # places of older model files have no hash
        left = rows = int(count or 0)
        self._seen = RowHash()
        for table in self.tables():
            if left:
                before = table.slice(0, left)
                self._seen.add(before)
                left -= before.num_rows
                table = table.slice(before.num_rows)
                if not left and digest and digest != self._seen.digest():
                    raise changed(self.name, rows)
            if table.num_rows:
                yield table
        if left:
            raise changed(self.name, rows)

    def place_after(self, table: pa.Table, rows: int) -> str:
        """Return the place after the last row of a table, which is row number `rows` of the source.

        It must be called for every table of a run, in their order, since the place has a hash of all rows before it.
        """
        self._seen.add(table)
        return f"{rows}/{self._seen.digest()}"

    def share_done(self) -> float | None:
        """Return the share that has been read, if that is known."""
        return self.rows_done / self.n_rows if self.n_rows else None


def changed(name: str, rows: int) -> DataError:
    """Return the error that says that a source does not begin with the rows that were learned from it."""
    return DataError(
        f"{name} does not begin any more with the {rows:,} rows that were learned from it: it was rewritten, or "
        "another source has taken its name. To read it from its beginning, add --from-start."
    )


class RowHash:
    """A running hash of rows, column by column, so that it does not depend on how they are cut into tables."""

    def __init__(self) -> None:
        self._columns: dict[str, tuple[Any, Any]] = {}  # hashes of numbers and lengths of texts, and of the texts

    def add(self, table: pa.Table) -> None:
        """Hash more rows."""
        for name, column in zip(table.column_names, table.columns, strict=True):
            hashes = self._columns.get(name)
            if hashes is None:
                hashes = self._columns[name] = (new_hash(), new_hash())
            for values in column.chunks:
                _hash_values(values, *hashes)

    def digest(self) -> str:
        """Return the hash of all rows so far."""
        total = new_hash()
        for name, hashes in self._columns.items():
            total.update(name.encode() + b"\0")
            for each in hashes:
                total.update(each.digest())
        return str(total.hexdigest())


def new_hash() -> Any:
    """Return a new hash, short enough for a place."""
    return hashlib.blake2b(digest_size=_HASH_BYTES)


def _hash_values(values: Any, numbers: Any, texts: Any) -> None:
    """Add the values of one array to the hashes of its column: numbers as float64, all else as texts."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        floats = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)  # NaN where missing
        gaps = np.isnan(floats)
        numbers.update(np.ascontiguousarray(np.where(gaps, _MISSING, floats) if gaps.any() else floats))
        return
    try:
        strings = pc.cast(values, pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # bytes that are not text, lists
        strings = pa.array([None if value is None else repr(value) for value in values.to_pylist()], pa.large_string())
    if pa.types.is_decimal(kind) and kind.scale > 0:  # that of a table is the longest in it
        strings = pc.utf8_rtrim(pc.utf8_rtrim(strings, "0"), ".")
    lengths = pc.fill_null(pc.binary_length(strings), -1)
    numbers.update(np.ascontiguousarray(lengths.to_numpy(zero_copy_only=False).astype(np.int64)))
    present = strings.drop_null()
    if len(present):
        _, offsets, data = present.buffers()
        ends = np.frombuffer(offsets, np.int64)[present.offset :]
        texts.update(memoryview(data)[ends[0] : ends[len(present)]])


def shortened(text: str) -> str:
    """Return a text, or if it is very long its beginning and a hash of all of it."""
    if len(text) <= _MOST_LETTERS:
        return text
    return f"{text[:_MOST_LETTERS]}... {hashlib.sha256(text.encode()).hexdigest()}"


class FileSource(Source):
    """A file; two names of the same file, also through links, are the same source."""

    def __init__(self, path: str) -> None:
        self.path = self.name = path

    @property
    def identity(self) -> str:
        """Return the full path without links, and the part of the file that is read; or - for standard input."""
        part = self.name.removeprefix(self.path)
        return "-" if self.path == "-" else shortened(os.path.realpath(self.path) + part)

    def is_called(self, identity: str) -> bool:
        """Whether this is the identity of the source, also in a model file of an older version, which has links."""
        return self.identity in (identity, os.path.realpath(identity))


def distinct(names: list[str], source: str) -> list[str]:
    """Return names of columns, unless one occurs twice."""
    if len(set(names)) < len(names):
        twice = min(name for name, count in Counter(names).items() if count > 1)
        raise DataError(f"{source}: the column name {twice!r} occurs more than once.")
    return names


def numbered_names(count: int) -> list[str]:
    """Return names for columns without names: x0, x1 and so on."""
    return [f"x{j}" for j in range(count)]


def numbered_table(X: Any, y: Any = None) -> pa.Table:
    """Return a matrix as a table with columns x0, x1, ..., and its labels as column y."""
    columns = dict(zip(numbered_names(X.shape[1]), np.ascontiguousarray(X.T), strict=True))
    return pa.table(columns if y is None else {**columns, "y": y})


def bad_row(row: int, reason: str, advice: str = "") -> DataError:
    """Return the error of a row that cannot be read; the reason goes on after the number of the row."""
    return DataError(f"Row {row:,}{reason}. {advice or 'Correct it'}, or leave such rows out: --on-error skip.")


def sentence(error: BaseException) -> str:
    """Return the message of an error in one line that ends with a full stop."""
    return one_line(error).rstrip(".") + "."


def one_line(error: BaseException) -> str:
    """Return the message of an error in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."
