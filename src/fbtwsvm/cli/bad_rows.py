"""Rows that cannot be read: the first one ends the command, or all are set aside, counted and written to a file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.choose_columns import first_problems
from ..data.columns import Choices, Columns
from ..data.problems import Problems, refuse
from ..data.sources import DataError
from ..data.sources.base import MALFORMED
from .output import naming_full_disk


class BadRows:
    """Sets rows aside that cannot be read, if the user wants to skip them; otherwise they are left to be an error."""

    def __init__(self, skip: bool = False, path: Path | None = None) -> None:
        self.skip = skip
        self.path = path
        self.count = 0  # rows set aside

    def told(self) -> list[tuple[str, str]]:
        """Return a line for the result, if rows were set aside."""
        where = f", see {self.path}" if self.path is not None else ""
        return [("set aside", f"{self.count:,} rows{where}")] if self.count else []

    def first(self, table: pa.Table, choices: Choices) -> pa.Table:
        """Return the first rows without those from which columns cannot be chosen; they are not counted yet."""
        if not self.skip:
            return table
        problems = first_problems(table, choices)
        if len(problems) == table.num_rows:
            refuse(problems, 0)
        return _without(table, problems)

    def of_all(self, table: pa.Table, choices: Choices) -> pa.Table:
        """Return all rows of a table without those that cannot be read."""
        if not self.skip:
            return table
        return self.kept(table, Columns.of(self.first(table, choices), choices), 0)

    def kept(self, table: pa.Table, columns: Columns, first_row: int, with_labels: bool = True) -> pa.Table:
        """Return a table without the rows that cannot be read; `first_row` rows came before it."""
        if not self.skip:
            return table
        unseen = columns.unseen
        try:
            columns.rows(table, first_row)
            if with_labels:
                columns.targets(table, first_row)
        except DataError:
            problems = columns.problems(table, with_labels)
            if not problems:
                raise
            self._set_aside(table, problems, first_row)
            return _without(table, problems)
        finally:
            columns.unseen = unseen  # the rows are encoded once more when they are learned
        return _without(table, {})

    def _set_aside(self, table: pa.Table, problems: Problems, first_row: int) -> None:
        """Count rows, and add them to the file: number, what is wrong, and the row as CSV."""
        self.count += len(problems)
        if self.path is None:
            return
        is_new = not self.path.exists() or not self.path.stat().st_size
        with naming_full_disk(self.path), open(self.path, "a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            if is_new:
                writer.writerow(["row", "problem", "values"])
            for row in sorted(problems):
                values = table.slice(row, 1).to_pylist()[0]
                writer.writerow([first_row + row + 1, problems[row].reason.lstrip(":, "), _line(values)])


def _line(values: dict[str, Any]) -> str:
    """Return the values of a row as a line of CSV; one that could not be split is as it was."""
    malformed = values.pop(MALFORMED, None)
    if malformed is not None:
        return str(malformed.partition("\n")[2])
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(values.values())
    return text.getvalue()


def _without(table: pa.Table, problems: Problems) -> pa.Table:
    """Return a table without some rows, and without the column that says what is wrong with rows."""
    if problems:
        table = table.take(np.setdiff1d(np.arange(table.num_rows), list(problems)))
    return table.drop_columns([MALFORMED]) if MALFORMED in table.column_names else table
