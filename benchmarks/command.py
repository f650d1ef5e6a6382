"""The command on long streams: memory, where the time goes, the speed of generators, and ONNX beside predict.

python -m benchmarks.command [memory|generators|onnx]
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.data import load, progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.data.generators import GENERATORS, make

COMMAND = Path(sys.executable).with_name("fbtwsvm")


def run(*arguments):
    """Run the command; returns what it printed as JSON, and its peak memory in MiB."""
    process = subprocess.Popen([COMMAND, *map(str, arguments), "--json"], stdout=subprocess.PIPE)
    told = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"the command failed with status {status}")
    return told, usage.ru_maxrss / 1024


def memory():
    print("\nfbtwsvm stream over a CSV of SEA rows, chunks of 100 (wanted: peak within 5 %, reading below learning)\n")
    cells, peaks = [], []
    with tempfile.TemporaryDirectory() as folder:
        for rows in (100_000, 1_000_000):
            path = Path(folder) / f"sea{rows}.csv"
            subprocess.run(
                [COMMAND, "generate", "sea", "-n", str(rows), "-o", path], check=True, stderr=subprocess.DEVNULL
            )
            progress(f"{rows:,} rows, {path.stat().st_size / 2**20:.0f} MiB")
            told, peak = run("stream", path, "-t", "y")
            peaks.append(peak)
            spent = told["seconds"]
            names = ("reading", "encoding", "testing and learning")
            times = [f"{spent[name]:.2f}" for name in names]
            share = (spent["reading"] + spent["encoding"]) / spent["testing and learning"]
            cells.append(
                [
                    f"{rows:,}",
                    f"{peak:.1f}",
                    f"{peak / peaks[0]:.3f}",
                    *times,
                    f"{share:.3f}",
                    f"{told['accuracy']:.4f}",
                ]
            )
    header = [
        "rows",
        "peak: MiB",
        "ratio",
        "reading: s",
        "encoding: s",
        "test and learn: s",
        "read + encode / learn",
        "accuracy",
    ]
    table(header, cells)


def generators():
    print("\nGenerators, rows a second in arrays (wanted: sea and hyper at least 2 million)\n")
    cells = []
    for name in GENERATORS:
        speeds = []
        for seed in range(3):
            start = time.perf_counter()
            rows = sum(len(y) for _, y in make(name, seed=seed).blocks(2_000_000))
            speeds.append(rows / (time.perf_counter() - start))
        cells.append([name, f"{np.median(speeds) / 1e6:.1f} million", f"{min(speeds) / 1e6:.1f} million"])
    table(["generator", "median of 3", "slowest"], cells)


def onnx():
    import onnxruntime

    from fbtwsvm.export.onnx import export_onnx

    print("\nAll test rows by predict and by onnxruntime in turn, best of 5 (wanted: same answers, ratio <= 1)\n")
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("letter", "mnist"):
            X, y, X_test, _ = load(name)
            progress(f"{name}: fit")
            model = FBTWSVM(gamma="scale", random_state=0).fit(X, y)
            export_onnx(model, Path(folder) / "m.onnx")
            session = onnxruntime.InferenceSession(Path(folder) / "m.onnx", providers=["CPUExecutionProvider"])
            ours, theirs = [], []
            for _ in range(5):
                start = time.perf_counter()
                wanted = model.predict(X_test)
                ours.append(time.perf_counter() - start)
                start = time.perf_counter()
                labels = session.run(["label"], {"X": X_test})[0]
                theirs.append(time.perf_counter() - start)
            differ = int((labels != wanted).sum())
            ratio = min(theirs) / min(ours)
            cells.append([name, len(wanted), differ, f"{min(ours):.3f}", f"{min(theirs):.3f}", f"{ratio:.2f}"])
    table(["data", "rows", "answers that differ", "predict: s", "onnxruntime: s", "ratio"], cells)


if __name__ == "__main__":
    parts = {"memory": memory, "generators": generators, "onnx": onnx}
    for name in sys.argv[1:] or parts:
        parts[name]()
