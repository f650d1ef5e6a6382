"""Rows from ARFF."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

from .base import DataError, distinct
from .delimited import RowParser
from .text import LineCutter, TextSource

_DATA = re.compile(rb"^[^\S\n]*@data\b[^\n]*", re.IGNORECASE | re.MULTILINE)
_ATTRIBUTE = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|\S+)\s+(.+)""", re.IGNORECASE)


class ArffSource(TextSource):
    """ARFF with dense rows; nominal attributes are categories, and "?" is a missing value."""

    _nominal: dict[str, bool]  # whether each attribute is nominal

    def __init__(self, path: str, *, mark_malformed: bool = False) -> None:
        super().__init__(path)
        self.mark_malformed = mark_malformed

    def _read_head(self, text: bytes, ended: bool) -> int | None:
        data = _DATA.search(text)
        if data is None or not (ended or text[data.end() :]):
            return None
        head = text[: data.start()].decode(errors="replace")
        found = list(filter(None, (_ATTRIBUTE.fullmatch(line.strip()) for line in head.split("\n"))))
        names = distinct([match[1].strip("'\"") for match in found], self.name)
        self._check_columns(len(names))
        self.column_names = names
        self._nominal = {name: match[2].startswith("{") for name, match in zip(names, found, strict=True)}
        return min(data.end() + 1, len(text))  # with its line end

    def _missing_head(self) -> DataError:
        return DataError(f"{self.name} has no @data line.")

    def _cutter(self) -> LineCutter:
        return LineCutter(lambda line: bool(_row(line)))

    def _parse(self, block: bytes, rows: int, count: int) -> Iterator[pa.Table]:
        if block.lstrip().startswith(b"{"):
            raise DataError(f"{self.name}: sparse ARFF is not supported; write dense rows, or libsvm text.")
        block = b"\n".join(map(_row, block.split(b"\n")))
        if not block.strip():
            return
        table = RowParser(self.name, list(self._nominal), ",", "'", self.mark_malformed).parsed(block, rows, count)
        columns = dict(zip(table.column_names, table.columns, strict=True))
        yield pa.table({name: c.dictionary_encode() if self._nominal.get(name) else c for name, c in columns.items()})


def _row(line: bytes) -> bytes:
    """Return a row with single quotes only and no blanks before them, or nothing for a comment."""
    line = line.strip()
    if line[:1] == b"%":
        return b""
    if b'"' in line and b"'" not in line:
        line = line.replace(b'"', b"'")
    return re.sub(rb",\s+'", b",'", line) if b"'" in line else line
