"""What is to be run, and what was wanted of it."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench.measure import number
from benchmarks.bench.record import Record
from benchmarks.data import table


@dataclass(frozen=True)
class Plan:
    """The options of a run."""

    out: Path
    quick: bool = False
    repeats: int = 3
    seeds: int = 5
    limit: float = 60.0  # seconds of a fit at which a method's ladder ends
    plain: bool = False  # whether the grid search that we save is run after all
    resume: bool = False

    def record(self, part, columns, key=()):
        """Return the CSV file of a part; only a part with a key, whose jobs are long, can be resumed."""
        path = self.out / f"{part}.csv"
        return Record(path, columns, key=key, quick=self.quick, resume=self.resume and bool(key))


@dataclass(frozen=True)
class Wanted:
    """One thing that was wanted, what was found, and whether that is it."""

    part: str
    text: str
    found: str
    reached: bool


def at_most(part, what, value, limit):
    """Want a number to be small; what could not be measured is not reached."""
    return Wanted(part, f"{what}: at most {limit:g}", figure(value), bool(value <= limit))


def at_least(part, what, value, limit):
    """Want a number to be large."""
    return Wanted(part, f"{what}: at least {limit:g}", figure(value), bool(value >= limit))


def figure(value):
    """Return a number as it is shown; a gap, which may be any power of ten, as such."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1e}" if 0 < abs(value) < 0.01 else number(value)


def summary(wanted, *, quick):
    """Print what was wanted and whether it was reached."""
    if not wanted:
        print("Nothing was wanted of this but to be true.")
        return
    table(
        ["part", "wanted", "found", ""],
        [[w.part, w.text, w.found, "reached" if w.reached else "not reached"] for w in wanted],
    )
    if quick:
        print("\nThese are the sizes of --quick: they show that everything runs, and nothing more.")
