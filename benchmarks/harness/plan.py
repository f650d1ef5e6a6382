"""The options of a run, and the targets that its results are compared with."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.record import Record
from benchmarks.harness.table import number, table


@dataclass(frozen=True)
class Plan:
    """The options of the command line; None leaves the choice to the part."""

    out: Path = Path("out/benchmarks")
    quick: bool = False
    resume: bool = False
    seeds: int | None = None
    repeats: int | None = None
    limit: float | None = None  # seconds
    names: tuple[str, ...] = ()  # data sets, streams or tasks; none: all of them
    base: str | None = None  # commit
    full_grid: bool = False

    def record(self, part, columns):
        """Return the CSV file of a part."""
        return Record(self.out / f"{part}.csv", columns, quick=self.quick, resume=self.resume)

    def pick(self, full, quick):
        """Return the first value, or the second one with --quick."""
        return quick if self.quick else full

    def chosen(self, known):
        """Return those of the known names that --names asks for, all without it."""
        return [name for name in known if not self.names or name in self.names]


@dataclass(frozen=True)
class Target:
    """One target of a part, what was measured, and whether the target is reached."""

    part: str
    text: str
    found: str
    reached: bool


def at_most(part, what, value, limit):
    """Return the target that a value is small; a value that could not be measured (nan) does not reach it."""
    return Target(part, f"{what}: at most {limit:g}", shown(value), bool(value <= limit))


def at_least(part, what, value, limit):
    """Return the target that a value is large."""
    return Target(part, f"{what}: at least {limit:g}", shown(value), bool(value >= limit))


def shown(value):
    """Return a number for a table; small ones as powers of ten."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1e}" if 0 < abs(value) < 0.01 else number(value)


def summary(targets, *, quick):
    """Print which targets were reached."""
    rows = [[t.part, t.text, t.found, "reached" if t.reached else "not reached"] for t in targets]
    if rows:
        table(["part", "target", "found", ""], rows, "# Targets")
    if rows and quick:
        print("\nThese are the sizes of --quick: they show that everything runs, and nothing more.")
