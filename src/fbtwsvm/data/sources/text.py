"""What all texts share: opened, decompressed, decoded and cut into complete rows; with a place after each row.

Every value is read as text, and `data.columns` decides which columns hold numbers: so the type of a column never
depends on where a file is cut.
"""

from __future__ import annotations

import codecs
import gzip
import os
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ..._arrays import Array, compiled
from .base import MOST_COLUMNS, MOST_ROW_BYTES, DataError, FileSource, changed, new_hash, sentence

_PIECE = 2**20  # bytes read at a time


class TextSource(FileSource):
    """A text: its head, if it has one, and its rows.

    The place after a row is its number, the offset of its end in the text (decompressed, in UTF-8), and a hash of all
    of the text before that.  To go on from there, the text is hashed again, but not parsed.
    """

    def __init__(self, path: str, encoding: str | None = None) -> None:
        super().__init__(path)
        self.repeats = path != "-"
        self.encoding = encoding
        self._file: Any = None
        self._places: Places | None = None

    def _read_head(self, text: bytes, ended: bool) -> int | None:
        """Read what comes before the rows, and return its length; None if it is not complete."""
        return 0

    def _missing_head(self) -> DataError:
        """Return the error of a text that ends before its head does."""
        return DataError(f"{self.name} is empty.")

    def _cutter(self) -> Cutter:
        """Return what finds the ends of rows."""
        raise NotImplementedError

    def _parse(self, block: bytes, rows: int, count: int) -> Iterator[pa.Table]:
        """Parse `count` complete rows after the first `rows`; an error is raised before the first table comes."""
        raise NotImplementedError

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        return self._tables(0, 0, "")

    def tables_after(self, place: str) -> Iterator[pa.Table]:
        """Yield the rows after a place; the last line of a file waits until it has a line end."""
        self._places = Places()
        rows, _, rest = place.partition("/")
        if not rest:  # the beginning, or a place of an older model file: a number of rows
            return super().tables_after(rows)
        offset, _, digest = rest.partition("/")
        return self._tables(int(rows), int(offset), digest)

    def place_after(self, table: pa.Table, rows: int) -> str:
        """Return number, end and hash of the last row of a table, which is row number `rows`."""
        assert self._places is not None
        return self._places.after(rows)

    def share_done(self) -> float | None:
        """Return the share of bytes that have been read."""
        if self._file is None or self._file.closed or not self._file.seekable():
            return None
        size = os.fstat(self._file.fileno()).st_size
        return self._file.tell() / size if size else None

    def _may_grow(self) -> bool:
        """Whether more may come after the end, when a later run goes on."""
        return self._places is not None and not self.finished and os.path.isfile(self.path)

    def _tables(self, rows: int, offset: int, digest: str) -> Iterator[pa.Table]:
        """Yield the rows after the first ones, which end at an offset, and whose text has a hash."""
        try:
            read = self._opened()
            rest = self._after_head(read, rows)
            if rest is None:
                return
            if offset:
                rest = self._skipped(read, rest, rows, offset, digest)
            yield from self._blocks(read, rest, rows)
        finally:
            if self._file is not None and self.path != "-":
                self._file.close()

    def _after_head(self, read: Callable[[int], bytes], rows: int) -> bytes | None:
        """Read the head, and return the text so far; None if the head waits for its end."""
        text = b""
        piece = b" "
        while piece:
            piece = read(_PIECE)
            text += piece
            try:
                size = self._read_head(text, ended=not piece and not self._may_grow())
            except DataError as error:
                if rows:
                    raise changed(self.name, rows) from error
                raise
            if size is not None:
                if self._places is not None and not rows:
                    self._places.add(text[:size], np.empty(0, np.int64))
                return text if rows else text[size:]
            self._check_length(text, rows)
        if self._may_grow() and text.strip():
            self.waiting = len(text)
            return None
        raise self._missing_head()

    def _skipped(self, read: Callable[[int], bytes], text: bytes, rows: int, offset: int, digest: str) -> bytes:
        """Return the text after an offset, if the text before it is what was read."""
        hashed = new_hash()
        done = 0
        while done + len(text) < offset:
            hashed.update(text)
            done += len(text)
            text = read(_PIECE)
            if not text:
                raise changed(self.name, rows)
        before, text = text[: offset - done], text[offset - done :] or read(_PIECE)
        hashed.update(before)
        if hashed.hexdigest() != digest:
            raise changed(self.name, rows)
        if before[-1:] not in (b"\n", b"\r") and text[:1] not in (b"", b"\n", b"\r"):
            raise DataError(
                f"{self.name}: row {rows:,} was learned before its line was finished, and has grown since. To read all "
                "rows again, into a new model or this one, add --from-start."
            )
        self._places = Places(rows, offset, hashed)
        return text

    def _blocks(self, read: Callable[[int], bytes], rest: bytes, rows: int) -> Iterator[pa.Table]:
        """Read and parse the rows, many at a time; `rows` is the number of rows before them."""
        cutter = self._cutter()
        while True:
            ends, end = cutter.cut(rest)
            if end:
                yield from self._block(rest[:end], ends, rows)
                rows += len(ends)
                rest = rest[end:]
            self._check_length(rest, rows)
            piece = read(_PIECE)
            if not piece:
                break
            rest += piece
        if rest.strip():
            if self._may_grow():
                self.waiting = len(rest)
                return
            ends, _ = cutter.cut(rest + b"\n")
            yield from self._block(rest, np.minimum(ends, len(rest)), rows)

    def _block(self, block: bytes, ends: Array, rows: int) -> Iterator[pa.Table]:
        """Parse complete rows that end at these positions."""
        if self._places is not None:
            self._places.add(block, ends)
        return self._parsed(block, ends, rows)

    def _parsed(self, block: bytes, ends: Array, rows: int) -> Iterator[pa.Table]:
        """Parse rows; if that fails, halve them until the first bad row is found, and yield all rows before it."""
        tables = self._parse(block, rows, len(ends))
        try:
            first = next(tables, None)
        except DataError:
            if len(ends) < 2:
                raise
            half = len(ends) // 2
            cut = int(ends[half - 1])
            yield from self._parsed(block[:cut], ends[:half], rows)
            yield from self._parsed(block[cut:], ends[half:] - cut, rows + half)
            return
        if first is not None:
            yield first
            yield from tables

    def _check_length(self, rest: bytes, rows: int) -> None:
        if len(rest) > MOST_ROW_BYTES:
            raise DataError(
                f"{self.name}: row {rows + 1:,} has over {MOST_ROW_BYTES:,} bytes, more than is read; is a quote never "
                "closed?"
            )

    def _check_columns(self, count: int) -> None:
        if count > MOST_COLUMNS:
            raise DataError(f"{self.name} has {count:,} columns; at most {MOST_COLUMNS:,} are read.")

    def _opened(self) -> Callable[[int], bytes]:
        """Open the source, and return a function that reads the next bytes of its text as soon as there are any."""
        file: Any = sys.stdin.buffer if self.path == "-" else open(self.path, "rb")  # noqa: SIM115
        self._file = file
        self.waiting = 0
        start = file.peek(4)[:4]
        read: Callable[[int], bytes] = file.read1
        if start[:2] == b"\x1f\x8b":
            read = gzip.GzipFile(fileobj=file).read1
        elif start == b"\x28\xb5\x2f\xfd":
            read = pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd").read

        def safe(size: int) -> bytes:
            try:
                return read(size)
            except (EOFError, zlib.error, pa.ArrowInvalid, OSError) as error:
                if isinstance(error, OSError) and error.errno:  # of the operating system, not of the decompressor
                    raise DataError(f"{self.name} cannot be read: {error.strerror}.") from error
                raise DataError(f"{self.name} is compressed, and damaged or cut off: {sentence(error)}") from error

        return safe if self.encoding is None else self._decoded(safe, self.encoding)

    def _decoded(self, read: Callable[[int], bytes], encoding: str) -> Callable[[int], bytes]:
        """Return a function that reads a text of another encoding as UTF-8."""
        decoder = codecs.getincrementaldecoder(encoding)()

        def decoded(size: int) -> bytes:
            text = ""
            piece = b" "
            while piece and not text:
                piece = read(size)
                try:
                    text = decoder.decode(piece, final=not piece and not self._may_grow())
                except UnicodeError as error:
                    raise DataError(f"{self.name} is not text in {encoding}: {sentence(error)}") from error
            return text.encode()

        return decoded


class Places:
    """Where rows end, and a running hash of the text up to the last place."""

    def __init__(self, rows: int = 0, offset: int = 0, hashed: Any = None) -> None:
        self._offset = offset
        self._hash = new_hash() if hashed is None else hashed
        self._last = rows  # row at the end of all blocks
        self._blocks: deque[tuple[int, memoryview, Array, int]] = deque()  # rows before, text, ends, bytes hashed

    def add(self, block: bytes, ends: Array) -> None:
        """Note a block of rows, which end at these positions."""
        self._blocks.append((self._last, memoryview(block), ends, 0))
        self._last += len(ends)

    def after(self, row: int) -> str:
        """Return the place after a row, which must not be before the last one that was asked for."""
        while self._blocks:
            before, block, ends, done = self._blocks.popleft()
            whole = row - before > len(ends)
            end = len(block) if whole else int(ends[row - before - 1])
            self._hash.update(block[done:end])
            self._offset += end - done
            if not whole:
                self._blocks.appendleft((before, block, ends, end))
                break
        return f"{row}/{self._offset}/{self._hash.hexdigest()}"


class Cutter(Protocol):
    """Finds the ends of rows in a buffer, which begins at the start of a row."""

    def cut(self, buffer: bytes) -> tuple[Array, int]:
        """Return the positions after all complete rows, and after the last complete line."""


class LineCutter:
    """Finds rows that are lines; `is_row` says of a line whether it is a row."""

    def __init__(self, is_row: Callable[[bytes], bool]) -> None:
        self.is_row = is_row

    def cut(self, buffer: bytes) -> tuple[Array, int]:
        """Return the positions after all complete rows, and after the last complete line."""
        *lines, rest = buffer.split(b"\n")
        ends = np.cumsum([len(line) + 1 for line in lines], dtype=np.int64)
        return ends[np.fromiter(map(self.is_row, lines), np.bool_, len(lines))], len(buffer) - len(rest)


class QuoteCutter:
    """Finds the rows of CSV, where a line end between quotes does not end a row; reads each byte once."""

    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter
        self._seen = 0
        self._state = 4

    def cut(self, buffer: bytes) -> tuple[Array, int]:
        """Return the positions after all complete rows, and after the last complete line."""
        data = np.frombuffer(buffer, dtype=np.uint8)
        ends, end, self._state = _row_ends(data, self._seen, self._state, ord(self.delimiter))
        self._seen = len(buffer) - end
        return ends, int(end)


@compiled
def _row_ends(data, start, state, delimiter):
    """Follow the quotes of CSV from `start` on.

    Returns the positions after rows, the position after the last line (or 0) and the last state: 0 at the start of a
    field, 1 within a field, 2 between quotes, 3 after a quote between quotes, 4 at the start of a line.  In a field
    that does not begin with a quote, a quote is a letter like any other.  An empty line is not a row.
    """
    ends = np.empty(len(data) - start, dtype=np.int64)
    count = 0
    end = 0
    for i in range(start, len(data)):
        letter = data[i]
        if state == 2:
            if letter == 34:
                state = 3
        elif state == 3 and letter == 34:
            state = 2
        elif letter == 10 or letter == 13:
            if state != 4:
                ends[count] = i + 1
                count += 1
            state = 4
            end = i + 1
        elif letter == delimiter:
            state = 0
        elif (state == 0 or state == 4) and letter == 34:
            state = 2
        else:
            state = 1
    return ends[:count].copy(), end, state
