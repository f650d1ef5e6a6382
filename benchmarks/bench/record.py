"""Results as rows of a CSV file, each written the moment it is known, so that a run that is cut short can go on."""

import csv
import sys
from pathlib import Path

import numpy as np

from fbtwsvm import __version__


def _value(text):
    """Turn a cell back into what it was: nothing, a whole number, a number, or text."""
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


class Record:
    """The rows of one CSV file.

    Parameters
    ----------
    path : Path
        The file; without `resume` what is there is replaced.
    columns : sequence of str
        Names of the cells; an "origin" (version and sizes) is put behind them.
    key : sequence of str, default=()
        Columns that tell one job from another.
    quick : bool, default=False
        Whether the sizes are those of --quick: rows of both kinds do not mix.
    resume : bool, default=False
        Take over the rows that are there. A last line that was cut short does not count.
    """

    def __init__(self, path, columns, *, key=(), quick=False, resume=False):
        self.path, self.columns, self.key = Path(path), [*columns, "origin"], tuple(key)
        self.origin = f"fbtwsvm {__version__}, {'quick' if quick else 'full'} sizes"
        self.rows = self._read() if resume and self.path.exists() else []
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            writer.writerows(self.rows)

    def _read(self):
        lines = self.path.read_text().splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):
            lines.pop()
        reader = csv.DictReader(lines)
        if reader.fieldnames != self.columns:
            sys.exit(f"--resume: {self.path} has other columns than this version writes. Leave --resume out.")
        rows = [{name: _value(text) for name, text in row.items()} for row in reader]
        strangers = {row["origin"] for row in rows} - {self.origin}
        if strangers:
            made = ", ".join(sorted(strangers))
            sys.exit(f"--resume: {self.path} was made by {made}; this is {self.origin}. Leave --resume out.")
        return rows

    def add(self, **cells):
        """Write a row and return it."""
        unknown = set(cells) - set(self.columns)
        if unknown:
            raise ValueError(f"{self.path.name} has no columns {sorted(unknown)}.")
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in cells.items()}
        row = {name: plain.get(name) for name in self.columns} | {"origin": self.origin}
        with self.path.open("a", newline="") as file:
            csv.DictWriter(file, self.columns).writerow(row)
        self.rows.append(row)
        return row

    def find(self, **key):
        """Return the row of a job that is finished, or None."""
        if set(key) != set(self.key):
            raise ValueError(f"A job of {self.path.name} is told by {self.key}, got {tuple(key)}.")
        return next((row for row in self.rows if all(row[name] == value for name, value in key.items())), None)

    def select(self, **cells):
        """Return the rows with these values."""
        return [row for row in self.rows if all(row[name] == value for name, value in cells.items())]
