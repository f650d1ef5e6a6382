"""Results as rows of a CSV file, each written as soon as it is known, so that a stopped run can be resumed."""

import csv
import json
import sys
from pathlib import Path

import numpy as np


def parse_cell(text):
    """Turn the text of a cell back into its value: None, a number, a JSON object or a string."""
    if text == "":
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def format_cell(value):
    if isinstance(value, np.generic):
        value = value.item()
    return json.dumps(value) if isinstance(value, (dict, list, tuple)) else value


class Record:
    """The rows of one CSV file; `resume` keeps the rows that are there, but for an incomplete last line."""

    def __init__(self, path, columns, *, resume=False):
        self.path, self.columns = Path(path), list(columns)
        self.rows = self._read() if resume and self.path.exists() else []
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("w", newline="") as file:
            csv.DictWriter(file, self.columns).writeheader()
        self._append(self.rows)

    def _read(self):
        lines = self.path.read_text().splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):
            lines.pop()
        reader = csv.DictReader(lines)
        if reader.fieldnames != self.columns:
            sys.exit(f"--resume: {self.path} has other columns than this version writes. Leave --resume out.")
        return [{name: parse_cell(text) for name, text in row.items()} for row in reader]

    def _append(self, rows):
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, self.columns)
            for row in rows:
                writer.writerow({name: format_cell(value) for name, value in row.items()})

    def add(self, **cells):
        """Write a row and return it."""
        return self.add_all([cells])[0]

    def add_all(self, many):
        """Write several rows that belong together and return them."""
        unknown = {name for cells in many for name in cells} - set(self.columns)
        if unknown:
            raise ValueError(f"{self.path.name} has no columns {sorted(unknown)}.")
        rows = [{name: cells.get(name) for name in self.columns} for cells in many]
        self._append(rows)
        self.rows += rows
        return rows

    def select(self, **cells):
        """Return the rows with these values."""
        return [row for row in self.rows if all(row[name] == value for name, value in cells.items())]
