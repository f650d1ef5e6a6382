"""The process in which `memory.in_child` measures: python -m benchmarks.bench.child TASK, where TASK is JSON."""

import json
import sys
from importlib import import_module

from benchmarks.bench.measure import threads
from benchmarks.bench.memory import measured


def main():
    """Prepare, measure, and print what was found as one line of JSON."""
    task = json.loads(sys.argv[1])
    with threads(task["threads"]):
        run = getattr(import_module(task["module"]), task["function"])(**task["arguments"])
        found = measured(run)
    print(json.dumps({"seconds": found.seconds, "peak": found.peak, "before": found.before}))


if __name__ == "__main__":
    main()
