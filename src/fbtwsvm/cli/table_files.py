"""Tables that are written piece by piece: CSV, lines of JSON, Parquet."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as papq

from .._files import replacing
from ..data.sources import DataError, joined
from .output import json_line, naming_full_disk, visible

PARQUET = (".parquet", ".pq")
JSON_LINES = (".json", ".jsonl")
_ROW_GROUP = 65_536  # rows that are written to Parquet at a time, or fewer
_ROW_GROUP_BYTES = 64 * 2**20
_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"  # begins like a formula, but is none


class TableWriter(Protocol):
    """Writes tables with the same columns, one after another."""

    def write(self, table: pa.Table) -> None:
        """Write rows."""

    def close(self) -> None:
        """Write what is left."""


@contextmanager
def table_writer(output: str, form: str, *, escape_formulas: bool = False) -> Iterator[TableWriter]:
    """Open an output for tables in a format: "csv", "json" or "parquet".

    A file, which is compressed if its name ends in .gz, appears when all is written; after an error an older one is
    still there.  Standard output (-), pipes and devices get each table as it comes.
    """
    with naming_full_disk(output), ExitStack() as stack:
        file = stack.enter_context(opened(output))
        if output.endswith(".gz"):
            file = stack.enter_context(gzip.GzipFile(fileobj=file, mode="wb", mtime=0))  # type: ignore[assignment]
        writer: TableWriter
        if form == "parquet":
            writer = ParquetWriter(file, output)
        elif form == "json":
            writer = JsonWriter(file)
        else:
            writer = CsvWriter(file, escape_formulas=escape_formulas, to_terminal=output == "-" and sys.stdout.isatty())
        yield writer
        writer.close()


@contextmanager
def opened(output: str) -> Iterator[BinaryIO]:
    """Open standard output (-), a pipe or a device as it is, and any other file so that it appears when complete."""
    path = Path(output)
    if output == "-":
        yield sys.stdout.buffer
    elif is_special(path):
        with open(path, "wb") as file:
            yield file
    else:
        with replacing(path) as file:
            yield file


def is_special(path: Path) -> bool:
    """Whether there is a pipe or a device, which cannot be replaced by a file."""
    return path.exists() and not path.is_file() and not path.is_dir()


class CsvWriter:
    """Writes CSV; texts that a spreadsheet takes for formulas, or a terminal for commands, are escaped if wanted."""

    def __init__(self, file: BinaryIO, *, escape_formulas: bool = False, to_terminal: bool = False) -> None:
        self.file = file
        self.escape_formulas = escape_formulas
        self.to_terminal = to_terminal
        self._begun = False

    def write(self, table: pa.Table) -> None:
        """Write rows, before the first ones the names of the columns."""
        names = pa.array(table.column_names, pa.string())
        columns = [_resolved(column) for column in table.columns]
        columns = [self._escaped(column) if pa.types.is_string(column.type) else column for column in columns]
        text = io.BytesIO()
        table = pa.table(columns, names=self._escaped(names).to_pylist())
        pacsv.write_csv(table, text, pacsv.WriteOptions(include_header=not self._begun))
        self._begun = True
        self.file.write(text.getvalue())
        self.file.flush()

    def _escaped(self, texts: pa.Array) -> pa.Array:
        if self.escape_formulas:
            begins = pc.match_substring_regex(texts, _FORMULA)
            is_formula = pc.and_not(begins, pc.match_substring_regex(texts, _NUMBER))
            texts = pc.if_else(is_formula, pc.binary_join_element_wise("'", texts, ""), texts)
        if self.to_terminal:
            texts = pa.array([None if text is None else visible(text) for text in texts.to_pylist()], pa.string())
        return texts

    def close(self) -> None:
        """Do nothing: all is written."""


class JsonWriter:
    """Writes one JSON object for each row."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def write(self, table: pa.Table) -> None:
        """Write rows."""
        self.file.write("".join(json_line(row) + "\n" for row in table.to_pylist()).encode())
        self.file.flush()

    def close(self) -> None:
        """Do nothing: all is written."""


class ParquetWriter:
    """Writes Parquet; the first rows fix the types of the columns."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.file = file
        self.name = name
        self._waiting: list[pa.Table] = []
        self._writer: papq.ParquetWriter | None = None

    def write(self, table: pa.Table) -> None:
        """Write rows, or let them wait until there are enough for a row group."""
        self._waiting.append(table)
        rows = sum(each.num_rows for each in self._waiting)
        if rows >= _ROW_GROUP or sum(each.nbytes for each in self._waiting) >= _ROW_GROUP_BYTES:
            self._write_waiting()

    def close(self) -> None:
        """Write the rows that wait, and the end of the file."""
        if self._waiting:
            self._write_waiting()
        if self._writer is not None:
            self._writer.close()

    def _write_waiting(self) -> None:
        table = joined(self._waiting)
        self._waiting = []
        if self._writer is None:
            self._writer = papq.ParquetWriter(self.file, table.schema)
        self._writer.write_table(self._as_before(table))

    def _as_before(self, table: pa.Table) -> pa.Table:
        """Return a table with the types of the first rows."""
        assert self._writer is not None
        for place, (column, wanted) in enumerate(zip(table.columns, self._writer.schema, strict=True)):
            if column.type != wanted.type:
                try:
                    table = table.set_column(place, wanted, column.cast(wanted.type))
                except pa.ArrowInvalid as error:
                    raise DataError(
                        f"{self.name}: column {wanted.name!r} began with values of type {wanted.type}, and later rows "
                        f"hold {column.type}. Leave the column out, or write CSV."
                    ) from error
        return table


def _resolved(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column whose type CSV can hold: dictionaries as their values, texts of any kind as plain texts."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = pc.cast(column, pa.string())
    return column
