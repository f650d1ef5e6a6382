"""Speed of the generators, and of a model exported to ONNX beside predict."""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness.data import load
from benchmarks.harness.measure import CORES, interleaved
from benchmarks.harness.table import progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.generators import GENERATORS, make


def generators(plan):
    rows = plan.pick(2_000_000, 20_000)
    runs = {name: lambda name=name: sum(len(y) for _, y in make(name, seed=0).blocks(rows)) for name in GENERATORS}
    lines = []
    for name, times in interleaved(3, runs).items():
        speeds = rows / np.array(times.seconds) / 1e6
        lines.append([name, f"{np.median(speeds):.1f} million", f"{speeds.min():.1f} million"])
    title = "Generators, rows a second in arrays (wanted: sea and hyper at least 2 million)"
    table(["generator", "median of 3", "slowest"], lines, title)


def onnx(plan):
    import onnxruntime

    from fbtwsvm.onnx import export_onnx

    lines = []
    for name in plan.pick(("letter", "mnist"), ("letter",)):
        progress(f"ONNX: {name}")
        X, y, X_test, _ = load(name)
        n = plan.pick(len(y), 3_000)
        model = FBTWSVM(gamma="scale", random_state=0).fit(X[:n], y[:n])
        with tempfile.TemporaryDirectory() as folder:
            export_onnx(model, Path(folder) / "model.onnx")
            session = onnxruntime.InferenceSession(Path(folder) / "model.onnx", providers=["CPUExecutionProvider"])
        runs = {"predict": lambda m=model, X=X_test: m.predict(X)}
        runs["onnx"] = lambda s=session, X=X_test: s.run(["label"], {"X": X})[0]
        times = interleaved(plan.repeats or 5, runs, dict.fromkeys(runs, CORES))
        ours, theirs = times["predict"], times["onnx"]
        differ = int((ours.result != theirs.result).sum())
        seconds = [f"{ours.least:.3f}", f"{theirs.least:.3f}", f"{theirs.least / ours.least:.2f}"]
        lines.append([name, len(X_test), differ, *seconds])
    title = "All test rows by predict and by onnxruntime in turns (wanted: same answers, ratio <= 1)"
    table(["data", "rows", "answers that differ", "predict: s", "onnxruntime: s", "ratio"], lines, title)


def run(plan):
    generators(plan)
    onnx(plan)
