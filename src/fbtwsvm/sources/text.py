"""Rows from text: CSV, TSV, ARFF and libsvm; from files or standard input, compressed or not.

Every value is read as text, and only `fbtwsvm.columns` says which are numbers: what a column is never depends on where
a file happens to be cut.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from .base import DataError, Source, numbered_names, one_line, table_of

_PIECE = 2**20  # bytes read at a time
_MOST_RECORD = 64 * 2**20  # bytes of one row: more means that a quote was never closed
_MOST_VALUES = 8_000_000  # numbers of one table
_MISSING = ["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]
_DELIMITERS = ",;\t|"


class TextSource(Source):
    """A stream of bytes, opened, unpacked and cut into whole lines."""

    def __init__(self, path: str) -> None:
        self.path = self.name = path
        self._file: Any = None

    def share_done(self) -> float | None:
        """Return the share of bytes that have been read."""
        if self._file is None or self._file.closed or not self._file.seekable():
            return None
        size = os.fstat(self._file.fileno()).st_size
        return self._file.tell() / size if size else None

    def _stream(self) -> Callable[[int], bytes]:
        """Open the source; returns what reads the next bytes, as soon as there are any."""
        file: Any = sys.stdin.buffer if self.path == "-" else open(self.path, "rb")  # noqa: SIM115
        self._file = file
        start = file.peek(4)[:4]
        if start[:2] == b"\x1f\x8b":
            unpacked: Callable[[int], bytes] = gzip.GzipFile(fileobj=file).read1
            return unpacked
        if start == b"\x28\xb5\x2f\xfd":
            return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd").read  # type: ignore[no-any-return]
        plain: Callable[[int], bytes] = file.read1
        return plain

    def _blocks(self, quote: bytes = b"") -> Iterator[bytes]:
        """Yield whole lines, many at a time; a line end between quotes does not count."""
        try:
            read, rest = self._stream(), b""
            while piece := read(_PIECE):
                rest += piece
                end = rest.rfind(b"\n")
                while quote and end >= 0 and rest.count(quote, 0, end) % 2:
                    end = rest.rfind(b"\n", 0, end)
                if end >= 0:
                    yield rest[: end + 1]
                    rest = rest[end + 1 :]
                elif len(rest) > _MOST_RECORD:
                    raise DataError(
                        f"{self.name}: a row has more than {_MOST_RECORD:,} bytes; is a quote never closed?"
                    )
            if rest.strip():
                yield rest
        except (EOFError, gzip.BadGzipFile, pa.ArrowInvalid, OSError) as error:
            if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile) and error.errno:
                raise
            raise DataError(f"{self.name} is compressed, and damaged or cut off: {one_line(error)}") from error
        finally:
            if self._file is not None and self.path != "-":
                self._file.close()


class DelimitedSource(TextSource):
    """CSV and TSV: the first line names the columns, unless there is no header."""

    def __init__(self, path: str, delimiter: str | None = None, header: bool = True) -> None:
        super().__init__(path)
        self.delimiter, self.header = delimiter, header

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        names, delimiter, quote, rows = None, self.delimiter, '"', 0
        for block in self._blocks(b'"'):
            if names is None:
                block = block.removeprefix(b"\xef\xbb\xbf")
                first, _, rest = block.partition(b"\n")
                delimiter = delimiter or _delimiter(first)
                names = self._names(first, delimiter)
                block = rest if self.header else block
            if block.strip():
                table = _parse(block, names, str(delimiter), quote, rows, self.name)
                rows += table.num_rows
                yield table
        if names is None:
            raise DataError(f"{self.name} is empty.")

    def _names(self, line: bytes, delimiter: str) -> list[str]:
        try:
            text = line.decode().rstrip("\r")
        except UnicodeDecodeError as error:
            raise DataError(f"{self.name} is not a text in UTF-8, or not a text at all.") from error
        fields = [name.strip() for name in next(csv.reader([text], delimiter=delimiter), [])]
        if not self.header:
            return numbered_names(len(fields))
        if fields and all(_is_number(field) for field in fields):
            raise DataError(f"{self.name}: the first line holds numbers, not names of columns. Add --no-header.")
        return _distinct(fields, self.name)


def _delimiter(line: bytes) -> str:
    """Guess what separates columns from the first line."""
    return max(_DELIMITERS, key=lambda delimiter: line.count(delimiter.encode()))


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
    """Parse whole lines; `rows` is how many rows came before them."""
    whole = max(len(block) + 1, 2**16)
    try:
        return pacsv.read_csv(
            pa.BufferReader(block),
            read_options=pacsv.ReadOptions(column_names=names, use_threads=False, block_size=whole),
            parse_options=pacsv.ParseOptions(delimiter=delimiter, quote_char=quote, newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=_MISSING
            ),
        )
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("CSV parse error: ")
        reason = re.sub(r"Row #(\d+)", lambda found: f"row {rows + int(found[1]):,}", reason)
        raise DataError(f"{source} cannot be read: {one_line(Exception(reason))}") from error


class ArffSource(TextSource):
    """ARFF with plain rows; nominal attributes come as categories, "?" is a missing value."""

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        head, attributes, rows = b"", None, 0
        for block in self._blocks():
            if attributes is None:
                head += block
                found = re.search(rb"^\s*@data[^\n]*\n", head, re.IGNORECASE | re.MULTILINE)
                if found is None:
                    continue
                attributes = _attributes(head[: found.start()].decode(errors="replace"), self.name)
                block = head[found.end() :]
            if not block.strip():
                continue
            if block.lstrip().startswith(b"{"):
                raise DataError(f"{self.name}: sparse ARFF is not supported; write plain rows, or libsvm text.")
            block = b"\n".join(line.strip() for line in block.split(b"\n") if line.strip()[:1] not in (b"%", b""))
            quote = "'" if b"'" in block else '"'
            table = _parse(block, list(attributes), ",", quote, rows, self.name)
            rows += table.num_rows
            yield table_of(
                {
                    name: table[name].dictionary_encode() if nominal else table[name]
                    for name, nominal in attributes.items()
                }
            )
        if attributes is None:
            raise DataError(f"{self.name} has no @data line.")


def _attributes(head: str, source: str) -> dict[str, bool]:
    """Names of the attributes, and whether each is nominal."""
    pattern = r"""^\s*@attribute\s+('[^']*'|"[^"]*"|[^\s]+)\s+(.+?)\s*$"""
    found = re.findall(pattern, head, re.IGNORECASE | re.MULTILINE)
    _distinct([name.strip("'\"") for name, _ in found], source)
    return {name.strip("'\""): kind.startswith("{") for name, kind in found}


class LibsvmSource(TextSource):
    """Libsvm text, "label index:value ..." with indices from 1: columns x0, x1, ... and the label y.

    The number of columns is given, or that of the first megabyte.
    """

    def __init__(self, path: str, n_features: int | None = None) -> None:
        super().__init__(path)
        self.n_features = n_features

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        from sklearn.datasets import load_svmlight_file  # takes its time to import

        count, rows = self.n_features, 0
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
                dense = X[first : first + step].toarray()
                columns = dict(zip(numbered_names(count), dense.T, strict=True))
                yield table_of({**columns, "y": _whole(y[first : first + step])})
            rows += len(y)


def _whole(labels: Any) -> Any:
    """Labels as whole numbers where they are."""
    whole = labels.astype(np.int64)
    return whole if (whole == labels).all() else labels
