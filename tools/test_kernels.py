"""Run the tests under several BLAS kernels, instruction sets and numbers of threads: results must not hang on them.

    python tools/test_kernels.py [pytest arguments]

Each line of COMBINATIONS is one run of the whole suite in a process of its own.  OpenBLAS takes its nearest kernel
where it has none of that name; the table names the one in use.  With FBTWSVM_DATA set, every second run has the data folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# OpenBLAS kernel, processor that numba compiles for, threads of BLAS
COMBINATIONS = (
    ("Haswell", "host", 1),
    ("SkylakeX", "host", 2),
    ("Zen", "generic", 2),
    ("Prescott", "generic", 1),
)
LOOK = "import numpy, scipy.linalg, json, threadpoolctl; print(json.dumps(threadpoolctl.threadpool_info()))"


def environment(kernel: str, processor: str, threads: int, data: bool) -> dict[str, str]:
    """Return the environment of one run."""
    found = {**os.environ, "OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": str(threads)}
    if processor == "generic":
        found |= {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    if not data:
        found.pop("FBTWSVM_DATA", None)
        found.pop("FBTWSVM_REQUIRE_DATA", None)
    return found


def kernels_in(variables: dict[str, str]) -> set[str]:
    """Return the BLAS kernels that NumPy and SciPy really use."""
    answer = subprocess.run([sys.executable, "-c", LOOK], env=variables, capture_output=True, text=True, check=True)
    return {library.get("architecture", "") for library in json.loads(answer.stdout) if library["user_api"] == "blas"}


def main(arguments: list[str]) -> int:
    """Run all combinations; returns 1 if any of them failed."""
    lines, failed = [], False
    for number, (kernel, processor, threads) in enumerate(COMBINATIONS):
        data = number % 2 == 0 and "FBTWSVM_DATA" in os.environ
        variables = environment(kernel, processor, threads, data)
        used = "/".join(sorted(kernels_in(variables)))
        name = f"{kernel:9} (in use: {used:8}) {processor:8} threads: {threads}  {'data' if data else 'no data':8}"
        start = time.perf_counter()
        command = [sys.executable, "-m", "pytest", "-n", "auto", "--quiet", *arguments]
        run = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
        last = run.stdout.strip().splitlines()[-1] if run.stdout.strip() else run.stderr.strip()[-200:]
        lines.append(f"{name} {last} ({time.perf_counter() - start:.0f} s)")
        print(lines[-1], flush=True)
        if run.returncode:
            failed = True
            print(
                "\n".join(line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), flush=True
            )
    print("\n" + "\n".join(lines))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
