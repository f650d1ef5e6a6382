"""Rows from text: CSV, TSV, ARFF and libsvm, from files or standard input, compressed or not.

Every value is read as text, and `data.columns` decides which columns hold numbers: so the type of a column never
depends on where a file is cut.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from ..._arrays import compiled
from .base import DataError, FileSource, numbered_names, numbered_table, one_line

_PIECE = 2**20  # bytes read at a time
_MOST_RECORD = 64 * 2**20  # bytes of one row: more means that a quote was never closed
_MOST_VALUES = 8_000_000  # numbers of one table
_DELIMITERS = ",;\t|"


class TextSource(FileSource):
    """A text: opened, decompressed and cut into complete rows."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.repeats = path != "-"
        self._file: Any = None

    def share_done(self) -> float | None:
        """Return the share of bytes that have been read."""
        if self._file is None or self._file.closed or not self._file.seekable():
            return None
        size = os.fstat(self._file.fileno()).st_size
        return self._file.tell() / size if size else None

    def _stream(self) -> Callable[[int], bytes]:
        """Open the source, and return a function that reads the next bytes as soon as there are any."""
        file: Any = sys.stdin.buffer if self.path == "-" else open(self.path, "rb")  # noqa: SIM115
        self._file = file
        start = file.peek(4)[:4]
        if start[:2] == b"\x1f\x8b":
            return gzip.GzipFile(fileobj=file).read1
        if start == b"\x28\xb5\x2f\xfd":
            return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd").read  # type: ignore[no-any-return]
        return file.read1  # type: ignore[no-any-return]

    def _blocks(self, cutter: LineCutter | None = None) -> Iterator[bytes]:
        """Yield complete rows, many at a time."""
        cutter = cutter or LineCutter()
        try:
            read = self._stream()
            rest = b""
            while piece := read(_PIECE):
                rest += piece
                end = cutter.end(rest)
                if end:
                    yield rest[:end]
                    rest = rest[end:]
                elif len(rest) > _MOST_RECORD:
                    raise DataError(f"{self.name}: a row has over {_MOST_RECORD:,} bytes; is a quote never closed?")
            if rest.strip():
                yield rest
        except (EOFError, gzip.BadGzipFile, zlib.error, pa.ArrowInvalid) as error:
            raise DataError(f"{self.name} is compressed, and damaged or cut off: {one_line(error)}") from error
        except OSError as error:
            if error.errno:  # an error of the operating system, not of the decompressor
                raise
            raise DataError(f"{self.name} is compressed, and damaged or cut off: {one_line(error)}") from error
        finally:
            if self._file is not None and self.path != "-":
                self._file.close()


class LineCutter:
    """Finds the end of the last complete row of a buffer, which begins at the start of a row."""

    def end(self, buffer: bytes) -> int:
        """Return the position after the last line end, or 0."""
        return buffer.rfind(b"\n") + 1


class QuoteCutter(LineCutter):
    """Does the same for CSV, where a line end between quotes does not end a row; reads each byte once."""

    def __init__(self, delimiter: str | None) -> None:
        self.delimiter = delimiter
        self._seen = 0
        self._state = 0

    def end(self, buffer: bytes) -> int:
        """Return the position after the last row, or 0."""
        if self.delimiter is None:
            line, line_end, _ = buffer.lstrip(b"\xef\xbb\xbf\r\n").partition(b"\n")
            if not line_end:
                return 0
            self.delimiter = max(_DELIMITERS, key=lambda each: line.count(each.encode()))
        data = np.frombuffer(buffer, dtype=np.uint8)
        end, self._state = _last_row_end(data, self._seen, self._state, ord(self.delimiter))
        self._seen = len(buffer) - end
        return int(end)


@compiled
def _last_row_end(data, start, state, delimiter):
    """Follow the quotes of CSV from `start` on, and return the position after the last row (or 0) and the last state.

    States: 0 at the start of a field, 1 within a field, 2 between quotes, 3 after a quote between quotes.  In a field
    that does not begin with a quote, a quote is a letter like any other.
    """
    end = 0
    for i in range(start, len(data)):
        letter = data[i]
        if state == 2:
            if letter == 34:
                state = 3
        elif state == 3 and letter == 34:
            state = 2
        elif letter == 10:
            state = 0
            end = i + 1
        elif letter == delimiter:
            state = 0
        elif state == 0 and letter == 34:
            state = 2
        else:
            state = 1
    return end, state


class DelimitedSource(TextSource):
    """CSV and TSV: the first line names the columns, unless there is no header."""

    def __init__(self, path: str, delimiter: str | None = None, header: bool = True) -> None:
        super().__init__(path)
        self.delimiter = delimiter
        self.header = header

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        names = None
        rows = 0
        cutter = QuoteCutter(self.delimiter)
        for block in self._blocks(cutter):
            if names is None:
                block = block.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
                if not block:
                    continue
                first, _, rest = block.partition(b"\n")
                cutter.delimiter = cutter.delimiter or ","  # the file is one line without an end
                names = self._names(first, cutter.delimiter)
                block = rest if self.header else block
            if block.strip():
                table = _parse(block, names, str(cutter.delimiter), '"', rows, self.name)
                rows += table.num_rows
                yield table
        if names is None:
            raise DataError(f"{self.name} is empty.")

    def _names(self, line: bytes, delimiter: str) -> list[str]:
        try:
            text = line.decode().rstrip("\r")
            fields = [name.strip() for name in next(csv.reader([text], delimiter=delimiter), [])]
        except UnicodeDecodeError as error:
            raise DataError(f"{self.name} is not text in UTF-8.") from error
        except csv.Error as error:
            raise DataError(
                f"{self.name}: the first line cannot be read ({error}); do lines end in a newline?"
            ) from error
        if not self.header:
            return numbered_names(len(fields))
        if fields and all(_is_number(field) for field in fields):
            raise DataError(f"{self.name}: the first line holds numbers, not names of columns. Add --no-header.")
        return _distinct(fields, self.name)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _distinct(names: list[str], source: str) -> list[str]:
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    if twice:
        raise DataError(f"{source}: the column name {min(twice)!r} occurs more than once.")
    return names


def _parse(block: bytes, names: list[str], delimiter: str, quote: str, rows: int, source: str) -> Any:
    """Parse complete rows; `rows` is the number of rows before them."""
    size = max(len(block) + 1, 2**16)
    try:
        return pacsv.read_csv(
            pa.BufferReader(block),
            read_options=pacsv.ReadOptions(column_names=names, use_threads=False, block_size=size),
            parse_options=pacsv.ParseOptions(delimiter=delimiter, quote_char=quote, newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, null_values=[]
            ),
        )
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("CSV parse error: ")
        reason = re.sub(r"Row #(\d+)", lambda match: f"row {rows + int(match[1]):,}", reason)
        raise DataError(f"{source} cannot be read: {one_line(Exception(reason))}") from error


class ArffSource(TextSource):
    """ARFF with dense rows; nominal attributes are categories, and "?" is a missing value."""

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        head = b""
        attributes = None
        rows = 0
        for block in self._blocks():
            if attributes is None:
                head += block
                data = re.search(rb"^\s*@data[^\n]*\n", head, re.IGNORECASE | re.MULTILINE)
                if data is None:
                    continue
                attributes = _attributes(head[: data.start()].decode(errors="replace"), self.name)
                block = head[data.end() :]
            if block.lstrip().startswith(b"{"):
                raise DataError(f"{self.name}: sparse ARFF is not supported; write dense rows, or libsvm text.")
            block = b"\n".join(_arff_line(line) for line in block.split(b"\n"))
            if not block.strip():
                continue
            table = _parse(block, list(attributes), ",", "'", rows, self.name)
            rows += table.num_rows
            columns = {name: table[name] for name in attributes}
            columns |= {name: column.dictionary_encode() for name, column in columns.items() if attributes[name]}
            yield pa.table(columns)
        if attributes is None:
            raise DataError(f"{self.name} has no @data line.")


def _arff_line(line: bytes) -> bytes:
    """Return a row with single quotes only and no blanks before them, or nothing for a comment."""
    line = line.strip()
    if line[:1] == b"%":
        return b""
    if b'"' in line and b"'" not in line:
        line = line.replace(b'"', b"'")
    return re.sub(rb"\s*,\s*'", b",'", line) if b"'" in line else line


def _attributes(head: str, source: str) -> dict[str, bool]:
    """Return the names of the attributes, and whether each is nominal."""
    pattern = r"""^\s*@attribute\s+('[^']*'|"[^"]*"|[^\s]+)\s+(.+?)\s*$"""
    matches = re.findall(pattern, head, re.IGNORECASE | re.MULTILINE)
    names = _distinct([name.strip("'\"") for name, _ in matches], source)
    return {name: kind.startswith("{") for name, (_, kind) in zip(names, matches, strict=True)}


class LibsvmSource(TextSource):
    """Text in libsvm format, "label index:value ..." with indices from 1: columns x0, x1, ... and the label y.

    Without `n_features` the number of columns is that of the first megabyte.
    """

    def __init__(self, path: str, n_features: int | None = None) -> None:
        super().__init__(path)
        self.n_features = n_features

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        from sklearn.datasets import load_svmlight_file  # slow to import

        count = self.n_features
        rows = 0
        for block in self._blocks():
            try:
                X, y = load_svmlight_file(io.BytesIO(block), n_features=count, zero_based=False)
            except (ValueError, UnicodeDecodeError) as error:
                last = rows + block.count(b"\n")
                raise DataError(
                    f"{self.name} cannot be read as libsvm text, somewhere in rows {rows + 1:,} to {last:,}: "
                    f"{one_line(error)}" + (" (give --n-features)" if "n_features" in str(error) else "")
                ) from error
            count = X.shape[1] if count is None else count
            step = max(1, _MOST_VALUES // max(count, 1))
            for first in range(0, len(y), step):
                part = slice(first, first + step)
                yield numbered_table(X[part].toarray(), _integers(y[part]))
            rows += len(y)


def _integers(labels: Any) -> Any:
    """Return labels as integers if they are all integers."""
    integers = labels.astype(np.int64)
    return integers if (integers == labels).all() else labels
