"""Untuned accuracy of an earlier version, by its own sources (--base COMMIT), on the splits of this one.

This module is also the script that runs with PYTHONPATH=TREE/src of that commit: it reads pairs of data set and seed
from standard input, and writes one line of JSON for each.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import fbtwsvm
from benchmarks.defaults.sets import split
from fbtwsvm import FBTWSVM

COLUMNS = ("dataset", "seed", "accuracy")


def accuracy(name, seed, quick):
    X, y, X_test, y_test = split(name, seed, quick=quick)
    return 100 * FBTWSVM(random_state=seed, n_jobs=1).fit(X, y).score(X_test, y_test)


def results(plan, part, pairs):
    """Return the record of the base for a part, with these pairs of data set and seed; None without --base."""
    from benchmarks.speed.before_after import HERE, checked_out

    if not plan.base:
        return None
    show = ["git", "-C", str(HERE), "rev-parse", "--short", plan.base]
    commit = subprocess.run(show, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    record = plan.record(f"{part}_base", COLUMNS, version=commit)
    missing = [(name, seed) for name, seed in pairs if not record.select(dataset=name, seed=seed)]
    if missing:
        with checked_out(plan.base) as tree:
            for row in rows_by(tree.resolve(), HERE, missing, plan.quick):
                record.add(**row)
    return record


def rows_by(tree, here, pairs, quick):
    """Yield the rows of these pairs by the sources of a tree, in one process with one thread."""
    from benchmarks.harness.job import ONE_THREAD

    path = os.pathsep.join([str(tree / "src"), str(here)])
    command = [sys.executable, "-P", "-m", "benchmarks.defaults.base", *(["--quick"] if quick else [])]
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": path}
    with subprocess.Popen(
        command, env=environment, cwd=tree, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        json.dump(pairs, process.stdin)
        process.stdin.close()
        package = process.stdout.readline().strip()
        if package and tree not in Path(package).resolve().parents:
            raise RuntimeError(f"{package} was imported, which is not below {tree}.")
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        raise RuntimeError(f"The run with the sources of the base ended with status {process.returncode}.")


if __name__ == "__main__":
    print(fbtwsvm.__file__, flush=True)
    for name, seed in json.load(sys.stdin):
        print(f"... {name}: base, seed {seed}", file=sys.stderr, flush=True)
        row = {"dataset": name, "seed": seed, "accuracy": accuracy(name, seed, "--quick" in sys.argv)}
        print(json.dumps(row), flush=True)
