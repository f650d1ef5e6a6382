"""CPU seconds before and after a change: two commits, the same script, fresh processes in turns.

The median of nine runs each (three with --quick), one thread, after one run that fills numba's cache.
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.harness.table import progress, table
from benchmarks.speed import timed_task

HERE = Path(__file__).resolve().parents[2]
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


@contextmanager
def checked_out(commit):
    """Give the folder of a commit, checked out in a temporary worktree."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base"
        git = ["git", "-C", str(HERE), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def cpu_seconds(tree, task, quick):
    """Run a task with the sources of a tree; returns its CPU seconds."""
    command = [sys.executable, "-P", timed_task.__file__, task, *(["--quick"] if quick else [])]
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(command, env=environment, cwd=tree, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    if tree not in Path(found["package"]).resolve().parents:
        raise RuntimeError(f"{found['package']} was imported, which is not below {tree}.")
    return found["seconds"]


def compare(trees, task, repeats, quick):
    """Return the CPU seconds of each tree, measured in turns."""
    seconds = {name: [] for name in trees}
    for name, tree in trees.items():
        progress(f"{task}, {name}: warm-up")
        cpu_seconds(tree, task, quick)
    for repeat in range(repeats):
        progress(f"{task}, run {repeat + 1} of {repeats}")
        for name, tree in trees.items():
            seconds[name].append(cpu_seconds(tree, task, quick))
    return seconds


def run(plan):
    repeats = plan.repeats or (3 if plan.quick else 9)
    lines = []
    with checked_out(plan.base) as base:
        trees = {"before": base.resolve(), "after": HERE}
        for task in plan.chosen(timed_task.TASKS):
            seconds = compare(trees, task, repeats, plan.quick)
            before, after = median(seconds["before"]), median(seconds["after"])
            spread = [f"{min(values):.2f} to {max(values):.2f}" for values in seconds.values()]
            lines.append([task, f"{before:.3f}", spread[0], f"{after:.3f}", spread[1], f"{after / before:.3f}"])
    print(f"\nCPU seconds, one thread, median of {repeats} runs; before: {plan.base}\n")
    table(["task", "before", "range", "after", "range", "after / before"], lines)
