"""The paper's tables and figures again, beside this library and its rivals.

make reproduce
python -m benchmarks.reproduce [accuracy|forgetting|time|synthetic|wesad|tuning|all] [--quick] [--data DIR] [--out DIR]
"""

import argparse
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reproduce import accuracy, figures, forgetting, page, published, synthetic, tuning, wesad
from benchmarks.reproduce.methods import BATCH, ONE_PASS
from benchmarks.reproduce.runs import Runner
from fbtwsvm import __version__

PARTS = {
    "accuracy": accuracy.run,
    "forgetting": forgetting.forgetting,
    "time": forgetting.time,
    "synthetic": synthetic.run,
    "wesad": wesad.run,
    "tuning": tuning.run,
}
EVERYTHING = (*published.SETTINGS, *published.SYNTHETIC, *wesad.NAMES)


@dataclass
class Plan:
    """What is to be run."""

    datasets: list[str]
    streams: list[str]
    wearables: list[str]
    rivals: list[str]
    seeds: int
    limit: float
    at_once: int
    quick: bool
    data: str | None
    sizes: tuple[int, ...] = published.SIZES
    rival_rows: int = 100_000  # the longest stream that ISVM and LASVM are tried on
    every: int = 1  # of chest_accel's rows
    subjects: int | None = None
    grid: tuple[float, ...] = tuple(tuning.FULL)
    tuning_rows: int | None = None


def parse(arguments):
    """Return the parts to run and the options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduce", description="The paper's tables and figures again, beside rivals."
    )
    parser.add_argument("part", nargs="?", choices=[*PARTS, "all"], default="all", help="one table, or all (default)")
    parser.add_argument("--datasets", help=f"names with commas, of {', '.join(EVERYTHING)}")
    parser.add_argument("--rivals", help=f"names with commas, or none, of {', '.join((*ONE_PASS, *BATCH))}")
    parser.add_argument("--seeds", type=int, help="orders of rows and random maps (default 5, quick 2)")
    parser.add_argument("--quick", action="store_true", help="small data sets, short limits: under 15 minutes")
    parser.add_argument("--data", default=os.environ.get("FBTWSVM_DATA"), help="data folder (default: FBTWSVM_DATA)")
    parser.add_argument("--out", default="out/reproduce", type=Path, help="folder for results (default: out/reproduce)")
    parser.add_argument("--limit", type=float, help="minutes for one method on one data set (default 20, quick 0.5)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="methods at once where seconds do not count")
    parser.add_argument("--resume", action="store_true", help="take over what an earlier run into --out has finished")
    options = parser.parse_args(arguments)
    for name in ("seeds", "limit", "jobs"):
        if getattr(options, name) is not None and getattr(options, name) <= 0:
            parser.error(f"--{name} must be above zero")
    for name, known in (("datasets", EVERYTHING), ("rivals", (*ONE_PASS, *BATCH))):
        given = getattr(options, name)
        if given is None or given == "none":
            continue
        unknown = [part for part in given.split(",") if part not in known]
        if unknown:
            parser.error(f"--{name}: {', '.join(unknown)} is not among {', '.join(known)}")
    if options.data and not Path(options.data).is_dir():
        parser.error(f"--data {options.data} is not a folder")
    return options


def make_plan(options):
    """Return the plan for the options."""
    quick = options.quick
    small = ("border", "overlap", "dna")
    datasets = list(small if quick else published.SETTINGS)
    kinds = [datasets, list(published.SYNTHETIC), list(wesad.NAMES)]
    if options.datasets:
        groups = (published.SETTINGS, published.SYNTHETIC, wesad.NAMES)
        kinds = [[name for name in options.datasets.split(",") if name in group] for group in groups]
    rivals = list((*ONE_PASS, *BATCH))
    if options.rivals:
        rivals = [] if options.rivals == "none" else options.rivals.split(",")
    plan = Plan(
        *kinds, rivals, options.seeds or (2 if quick else 5), 60 * (options.limit or (0.5 if quick else 20)),
        options.jobs, quick, options.data,
    )  # fmt: skip
    if quick:
        plan.sizes, plan.rival_rows, plan.every, plan.grid = (10_000, 100_000), 10_000, 20, tuple(tuning.QUICK)
    return plan


def run(plan, runner, parts, out, command):
    """Run parts, print their tables, and write results, figures and page; returns the tables."""
    tables = []
    for part in parts:
        for table in PARTS[part](runner, plan):
            print(table.text(), flush=True)
            tables.append(table)
        runner.write(out / "results.csv")
        page.write(out / "report.html", tables, figures.draw(runner.rows, out), command)
    return tables


def main(arguments=None):
    """Run what the command line asks for."""
    options = parse(arguments)
    if options.data:
        options.data = os.environ["FBTWSVM_DATA"] = str(Path(options.data).resolve())
    plan = make_plan(options)
    finished = options.out / "finished"
    finished.mkdir(parents=True, exist_ok=True)
    check_origin(finished / "origin.txt", f"fbtwsvm {__version__}, data in {options.data}", resume=options.resume)
    command = "python -m benchmarks.reproduce " + shlex.join(arguments if arguments is not None else sys.argv[1:])
    runner = Runner(plan.limit, finished=finished, resume=options.resume)
    run(plan, runner, concerned(options, plan), options.out, command)
    print(f"Results, figures and page: {options.out}/results.csv, *.png, report.html")


def check_origin(path, origin, *, resume):
    """Refuse to mix results of another version or of other data with new ones."""
    if resume and path.exists() and path.read_text() != origin:
        sys.exit(f"--resume: what is there was made by {path.read_text()}, this is {origin}. Leave --resume out.")
    path.write_text(origin)


def concerned(options, plan):
    """Return the tables that are asked for and that have something to show for the data sets that are asked for."""
    there = {
        **dict.fromkeys(("accuracy", "forgetting", "time"), bool(plan.datasets)),
        "synthetic": bool(plan.streams),
        "wesad": bool(plan.wearables),
        "tuning": not options.datasets or "overlap" in plan.datasets,
    }
    parts = [part for part in PARTS if options.part in (part, "all") and there[part]]
    if not parts:
        sys.exit(f"The table {options.part} does not have the data sets {options.datasets}.")
    return parts


if __name__ == "__main__":
    main()
