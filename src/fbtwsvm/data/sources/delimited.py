"""Rows from CSV and TSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from .base import MALFORMED, DataError, distinct, numbered_names, one_line
from .text import QuoteCutter, TextSource

_DELIMITERS = ",;\t|"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class DelimitedSource(TextSource):
    """CSV and TSV: the first line names the columns, unless there is no header.

    With the decimal "," the comma in a number is its decimal point, and points between its thousands are left out.  A
    row with too many or too few fields is an error; with `mark_malformed` it has no values, but a text in the column
    MALFORMED.
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
        self._names: list[str] = []
        self._found = ","  # delimiter of this text

    def _read_head(self, text: bytes, ended: bool) -> int | None:
        start = text.removeprefix(_BYTE_ORDER_MARK).lstrip(b"\r\n")
        line, line_end, _ = start.partition(b"\n")
        if not line or not (line_end or ended):
            return None
        self._found = self.delimiter or max(_DELIMITERS, key=lambda each: line.count(each.encode()))
        self._names = self._column_names(line)
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

    def _parse(self, block: bytes, rows: int) -> Iterator[pa.Table]:
        if not block.strip(b"\r\n"):
            return
        malformed: list[Any] | None = [] if self.mark_malformed else None
        table = parsed(block, self._names, self._found, '"', rows, self.name, malformed)
        if self.decimal == ",":
            table = _with_points(table)
        yield _with_malformed(table, malformed) if malformed else table


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _with_points(table: pa.Table) -> pa.Table:
    """Return texts like 1.234,5 as 1234.5, and all others as they are."""
    columns = []
    for column in table.columns:
        grouped = pc.match_substring_regex(column, r"^\s*[+-]?\d{1,3}(\.\d{3})+(,\d*)?\s*$")
        column = pc.if_else(grouped, pc.replace_substring(column, ".", ""), column)
        columns.append(pc.replace_substring_regex(column, r"^(\s*[+-]?\d*),(\d*([eE][+-]?\d+)?\s*)$", r"\1.\2"))
    return pa.table(columns, names=table.column_names)


def _with_malformed(table: pa.Table, malformed: list[Any]) -> pa.Table:
    """Put rows that could not be parsed back into their places, without values, but with what is wrong with them."""
    count = table.num_rows + len(malformed)
    texts: list[str | None] = [None] * count
    for row in malformed:
        texts[row.number - 1] = f"{row.expected_columns} fields expected, {row.actual_columns} found\n{row.text}"
    places = np.array([text is None for text in texts])
    taken = table.take(pa.array(np.cumsum(places) - 1, mask=~places))
    return taken.append_column(MALFORMED, pa.array(texts, pa.string()))


def parsed(
    block: bytes,
    names: list[str],
    delimiter: str,
    quote: str,
    rows: int,
    source: str,
    malformed: list[Any] | None = None,
) -> Any:
    """Parse complete rows; `rows` is the number of rows before them.

    Rows with too many or too few fields are added to the list `malformed`; without it they are an error.
    """

    def set_aside(row: Any) -> str:
        assert malformed is not None
        malformed.append(row)
        return "skip"

    size = max(len(block) + 1, 2**16)
    try:
        return pacsv.read_csv(
            pa.BufferReader(block),
            read_options=pacsv.ReadOptions(column_names=names, use_threads=False, block_size=size),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter,
                quote_char=quote,
                newlines_in_values=True,
                invalid_row_handler=None if malformed is None else set_aside,
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, null_values=[]
            ),
        )
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("CSV parse error: ")
        reason = re.sub(r"Row #(\d+)", lambda match: f"row {rows + int(match[1]):,}", reason)
        if "UTF8" in reason:
            reason += " (name the encoding of the text, as in --encoding latin-1)"
        if "Expected" in reason:
            reason = f"{one_line(Exception(reason))} (--on-error skip leaves such rows out)"
        raise DataError(f"{source} cannot be read: {reason}") from error
