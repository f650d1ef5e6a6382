"""Rows from CSV and TSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from .base import MALFORMED, DataError, bad_row, distinct, numbered_names, sentence
from .text import QuoteCutter, TextSource

_DELIMITERS = ",;\t|"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class DelimitedSource(TextSource):
    """CSV and TSV: the first line names the columns, unless there is no header.

    The decimal "," is noted in the metadata of the tables; their texts stay what they are.  A row with too many or too
    few fields is an error; with `mark_malformed` it has no values, but a text in the column MALFORMED.
    """

    def __init__(
        self,
        path: str,
        delimiter: str | None = None,
        header: bool = True,
        *,
        decimal: str = ".",
        encoding: str | None = None,
        mark_malformed: bool = False,
    ) -> None:
        super().__init__(path, encoding)
        self.mark_malformed = mark_malformed
        self.delimiter = delimiter
        self.header = header
        self.decimal = decimal
        self.column_names: list[str] = []
        self._found = ","  # delimiter of this text

    def _read_head(self, text: bytes, ended: bool) -> int | None:
        start = text.removeprefix(_BYTE_ORDER_MARK).lstrip(b"\r\n")
        line, line_end, _ = start.partition(b"\n")
        if not line or not (line_end or ended):
            return None
        self._found = self.delimiter or max(_DELIMITERS, key=lambda each: line.count(each.encode()))
        self.column_names = self._column_names(line)
        skipped = len(text) - len(start)
        return skipped + len(line) + len(line_end) if self.header else skipped

    def _column_names(self, line: bytes) -> list[str]:
        try:
            fields = next(csv.reader([line.decode().rstrip("\r")], delimiter=self._found), [])
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.name} is not text in UTF-8: name its encoding, as in --encoding latin-1."
            ) from error
        except csv.Error as error:
            if "field limit" in str(error):
                most = csv.field_size_limit()
                raise DataError(
                    f"{self.name}: the first line has a name of more than {most:,} letters, more than is read. Is it "
                    "the line with the names of the columns, and the delimiter right?"
                ) from error
            raise DataError(
                f"{self.name}: the first line cannot be read ({error}); do lines end in a newline?"
            ) from error
        self._check_columns(len(fields))
        if not self.header:
            return numbered_names(len(fields))
        if fields and all(map(_is_number, fields)):
            raise DataError(f"{self.name}: the first line holds numbers, not names of columns. Add --no-header.")
        return distinct([name.strip() for name in fields], self.name)

    def _cutter(self) -> QuoteCutter:
        return QuoteCutter(self._found)

    def _parse(self, block: bytes, rows: int, count: int) -> Iterator[pa.Table]:
        if not block.strip(b"\r\n"):
            return
        parser = RowParser(self.name, self.column_names, self._found, '"', self.mark_malformed)
        table = parser.parsed(block, rows, count)
        yield table.replace_schema_metadata({"decimal": ","}) if self.decimal == "," else table


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class RowParser:
    """Splits rows of text into fields.

    A row with too many or too few fields is an error, or if they are to be marked a row without values.
    """

    source: str
    names: list[str]
    delimiter: str
    quote: str
    mark_malformed: bool

    def parsed(self, block: bytes, rows: int, count: int) -> pa.Table:
        """Parse `count` complete rows; `rows` is the number of rows before them."""
        malformed: list[Any] = []
        table = self._split(block, rows, malformed)
        if table.num_rows + len(malformed) != count:
            raise DataError(
                f"{self.source} cannot be read: row {rows + 1:,} has a line end within a value, or a quote that is "
                "never closed."
            )
        if malformed and not self.mark_malformed:
            raise bad_row(rows + malformed[0].number, f": {_fields(malformed[0])}")
        return _with_malformed(table, malformed) if malformed else table

    def _split(self, block: bytes, rows: int, malformed: list[Any]) -> pa.Table:
        """Return the rows with the right number of fields, and add the others to a list."""

        def set_aside(row: Any) -> str:
            malformed.append(row)
            return "skip"

        size = max(len(block) + 1, 2**16)
        try:
            return pacsv.read_csv(
                pa.BufferReader(block),
                read_options=pacsv.ReadOptions(column_names=self.names, use_threads=False, block_size=size),
                parse_options=pacsv.ParseOptions(
                    delimiter=self.delimiter,
                    quote_char=self.quote,
                    newlines_in_values=True,
                    invalid_row_handler=set_aside,
                ),
                convert_options=pacsv.ConvertOptions(
                    column_types=dict.fromkeys(self.names, pa.string()), strings_can_be_null=False, null_values=[]
                ),
            )
        except pa.ArrowInvalid as error:
            if "UTF8" in str(error):
                raise DataError(
                    f"{self.source} cannot be read: row {rows + 1:,} is not text in UTF-8. Name the encoding of the "
                    "text, as in --encoding latin-1."
                ) from error
            raise DataError(f"{self.source} cannot be read: row {rows + 1:,}: {sentence(error)}") from error


def _fields(row: Any) -> str:
    """Say what is wrong with a row of too many or too few fields."""
    return f"{row.expected_columns} fields expected, {row.actual_columns} found"


def _with_malformed(table: pa.Table, malformed: list[Any]) -> pa.Table:
    """Put rows that could not be parsed back into their places, without values, but with what is wrong with them."""
    count = table.num_rows + len(malformed)
    texts: list[str | None] = [None] * count
    for row in malformed:
        texts[row.number - 1] = f"{_fields(row)}\n{row.text}"
    places = np.array([text is None for text in texts])
    taken = table.take(pa.array(np.cumsum(places) - 1, mask=~places))
    return taken.append_column(MALFORMED, pa.array(texts, pa.string()))
