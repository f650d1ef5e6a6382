"""The options of the command line."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.record import Record
from fbtwsvm import __version__


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

    def record(self, part, columns):
        """Return the CSV file of a part; rows of other versions and sizes are in other files."""
        sizes = "quick" if self.quick else "full"
        return Record(self.out / f"{part}-{__version__}-{sizes}.csv", columns, resume=self.resume)

    def pick(self, full, quick):
        """Return the first value, or the second one with --quick."""
        return quick if self.quick else full

    def chosen(self, known, quick=None):
        """Return the known names that --names asks for; without it all, or `quick` with --quick."""
        if self.names:
            return [name for name in known if name in self.names or name.split(",")[0] in self.names]
        return list(quick if self.quick and quick else known)
