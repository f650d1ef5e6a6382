"""The options of a run; results as rows of a CSV file, written as soon as they are known, so that a run can resume."""

import csv
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fbtwsvm import __version__


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


@dataclass(frozen=True)
class Plan:
    """What to run and how long; None leaves the choice to the part."""

    out: Path = Path("out/benchmarks")
    quick: bool = False
    resume: bool = False
    seeds: int | None = None
    repeats: int | None = None
    limit: float | None = None  # seconds
    names: tuple[str, ...] = ()  # data sets, streams or tasks; none: all of them
    base: str | None = None  # commit

    def record(self, part, columns, version=__version__):
        """Return the CSV file of a part; rows of other versions and sizes are in other files."""
        sizes = "quick" if self.quick else "full"
        return Record(self.out / f"{part}-{version}-{sizes}.csv", columns, resume=self.resume)

    def pick(self, full, quick):
        """Return the first value, or the second one with --quick."""
        return quick if self.quick else full

    def chosen(self, known, quick=None):
        """Return the known names that --names asks for; without it all, or `quick` with --quick."""
        if self.names:
            return [name for name in known if name in self.names or name.split(",")[0] in self.names]
        return list(quick if self.quick and quick else known)
