"""Everything that is measured of speed, memory and accuracy at equal time.

make bench
python -m benchmarks.bench [part ...] [--quick] [--repeats 3] [--seeds 5] [--limit 60] [--plain] [--resume] [--out DIR]

The data folder is named by FBTWSVM_DATA. Results are in OUT/PART.csv, pictures in OUT/PART.png.
"""

import argparse
from pathlib import Path

from benchmarks.bench import classes, curves, first, floor, growth, nine, predict, profile, tuning
from benchmarks.bench.plan import Plan, summary

PARTS = {
    "floor": floor.run,
    "classes": classes.run,
    "growth": growth.run,
    "curves": curves.run,
    "tuning": tuning.run,
    "table": nine.run,
    "predict": predict.run,
    "first": first.run,
    "profile": profile.run,
}


def parse(arguments=None):
    """Return the parts to run and the plan."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs")
    parser.add_argument("--repeats", type=int, help="rounds (default 3, quick 1)")
    parser.add_argument("--seeds", type=int, help="seeds of curves and table (default 5, quick 1)")
    parser.add_argument("--limit", type=float, help="curves: seconds of a fit that end a ladder (default 60, quick 2)")
    parser.add_argument("--plain", action="store_true", help="tuning: run the plain grid search too, 375 fits")
    parser.add_argument("--resume", action="store_true", help="curves, table: go on where a run into --out has ended")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder for results (default: out/bench)")
    options = parser.parse_args(arguments)
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"{', '.join(unknown)} is not among {', '.join(PARTS)}")
    for name, full, quick in (("repeats", 3, 1), ("seeds", 5, 1), ("limit", 60.0, 2.0)):
        value = getattr(options, name)
        if value is not None and value <= 0:
            parser.error(f"--{name} must be above zero")
        setattr(options, name, value or (quick if options.quick else full))
    parts = [part for part in PARTS if part in options.parts or not options.parts]
    del options.parts
    return parts, Plan(**vars(options))


def main(arguments=None):
    """Run the parts and say at the end what was reached."""
    parts, plan = parse(arguments)
    wanted = []
    for part in parts:
        print(f"\n# {part}", flush=True)
        found = PARTS[part](plan)
        wanted += found
        if found and len(parts) > 1:  # a run may be cut short before the summary of all
            print()
            summary(found, quick=plan.quick)
    print("\n# Summary: what was wanted\n")
    summary(wanted, quick=plan.quick)
    print(f"\nResults and pictures: {plan.out}/*.csv, *.png")
    return wanted


if __name__ == "__main__":
    main()
