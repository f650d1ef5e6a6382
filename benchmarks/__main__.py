"""Every table and figure of the README and of the docs: python -m benchmarks PART [PART ...]."""

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.harness.plan import Plan, summary

# part: (module below benchmarks, what it prints)
PARTS = {
    "before_after": ("speed.before_after", "CPU seconds before and after a change (needs --base)"),
}


def parse(arguments=None):
    """Return the parts to run and the options."""
    width = max(map(len, PARTS))
    lines = [f"  {name:{width}}  {what}" for name, (_, what) in PARTS.items()]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        usage="%(prog)s PART [PART ...] [options]",
        description="Every table and figure of README.md and docs/. The data folder is named by FBTWSVM_DATA.",
        epilog="parts:\n" + "\n".join(lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="+", metavar="PART", choices=PARTS, help="one of those listed below")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs")
    parser.add_argument("--resume", action="store_true", help="keep the results of an earlier run into --out")
    parser.add_argument("--seeds", type=positive(int), metavar="N", help="random seeds")
    parser.add_argument("--repeats", type=positive(int), metavar="N", help="rounds of a time measurement")
    parser.add_argument("--limit", type=positive(float), metavar="S", help="seconds that a fit or job may take")
    parser.add_argument("--names", type=names, default=(), metavar="A,B", help="only these data sets, streams or tasks")
    parser.add_argument("--full-grid", action="store_true", help="tuning: run the plain grid search too, 375 fits")
    parser.add_argument("--base", metavar="COMMIT", help="before_after: the commit to compare with")
    parser.add_argument("--out", type=Path, default=Plan.out, metavar="FOLDER", help=f"default: {Plan.out}")
    options = vars(parser.parse_args(arguments))
    return options.pop("parts"), Plan(**options)


def positive(kind):
    """Return a converter for numbers above zero."""

    def number(text):
        value = kind(text)
        if value <= 0:
            raise ValueError
        return value

    number.__name__ = f"positive {kind.__name__}"
    return number


def names(text):
    """Split names at commas."""
    return tuple(part for part in text.split(",") if part)


def main(arguments=None):
    """Run the parts; returns their targets."""
    parts, plan = parse(arguments)
    targets = []
    for part in parts:
        print(f"\n# {part}", flush=True)
        module, _ = PARTS[part]
        targets += import_module(f"benchmarks.{module}").run(plan) or []
    summary(targets, quick=plan.quick)
    print(f"\nResults: {plan.out}")
    return targets


if __name__ == "__main__":
    main()
