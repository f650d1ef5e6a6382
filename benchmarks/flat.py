"""Flat memory: bytes of state and peak of the process, 100,000 to 1,000,000 rows of SEA and LED read from .npy.

    FBTWSVM_DATA=... python -m benchmarks.flat [--rows 1000000]

Each run is a process of its own: the peak is the process's largest resident size (Linux).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.data import load_stream, progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.evaluate import array_bytes

MARKS = (100_000, 300_000, 1_000_000)
CHUNK = 1000


def child(folder, n):
    """Learn the first n rows from files; print bytes at the marks and the peak."""
    chunks = zip(read(Path(folder) / "X.npy"), read(Path(folder) / "y.npy"), strict=True)
    model = FBTWSVM(feature_map="fourier", gamma="scale", n_components=200, random_state=0)
    sizes = {}
    for first, (X, y) in zip(range(0, n, CHUNK), chunks, strict=True):
        model.partial_fit(X, y)
        if first + CHUNK in MARKS:
            sizes[first + CHUNK] = array_bytes(model)
    print(json.dumps({"sizes": sizes, "peak": peak()}))


def peak():
    """Return the largest resident size of this process: VmHWM, for ru_maxrss would count that of the parent as well."""
    with open("/proc/self/status") as file:
        return 1024 * next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def read(path):
    """Yield chunks of rows of a .npy file; read, not mapped, for mapped pages would count as memory of the process."""
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        width = int(np.prod(shape[1:]))
        for first in range(0, shape[0], CHUNK):
            rows = min(CHUNK, shape[0] - first)
            yield np.fromfile(file, dtype=dtype, count=rows * width).reshape(rows, *shape[1:])


def run(name, n, folder):
    X, y = load_stream(name, n)
    np.save(Path(folder) / "X.npy", np.ascontiguousarray(X))
    np.save(Path(folder) / "y.npy", y)
    del X, y
    command = [sys.executable, "-m", "benchmarks.flat", "--child", folder, "--rows", str(n)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=MARKS[-1])
    parser.add_argument("--child")
    options = parser.parse_args()
    if options.child:
        child(options.child, options.rows)
        return
    rows = []
    for name in ("SEA_1M", "LED_1M"):
        with tempfile.TemporaryDirectory() as folder:
            progress(f"{name}, {MARKS[0]} rows")
            short = run(name, MARKS[0], folder)
            progress(f"{name}, {options.rows} rows")
            long = run(name, options.rows, folder)
        sizes = list(long["sizes"].values())
        rows.append(
            [
                name,
                *(f"{size / 2**20:.3f}" for size in sizes),
                f"{100 * (max(sizes) / min(sizes) - 1):.2f} %",
                f"{short['peak'] / 2**20:.0f}",
                f"{long['peak'] / 2**20:.0f}",
                f"{100 * (long['peak'] / short['peak'] - 1):.1f} %",
            ]
        )
    print("MiB of state after so many rows (wanted: within 2 %), and the peak of the process (wanted: within 5 %)\n")
    marks = [f"{mark:,}" for mark in MARKS if mark <= options.rows]
    table(["stream", *marks, "differ by", "peak at 100,000", f"at {options.rows:,}", "grows by"], rows)


if __name__ == "__main__":
    main()
