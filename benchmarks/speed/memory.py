"""Flat memory of fit on chunks, of a stream and of the command, with 100,000 to 1,000,000 rows that stay in files.

Every run is a process of its own. Memory of a fit of many classes. And the speed of the generators, and of a model
exported to ONNX beside predict.
"""

import io
import json
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.data import load, load_stream
from benchmarks.harness.job import measure_apart, run_apart
from benchmarks.harness.measure import CORES, interleaved, peak_memory
from benchmarks.harness.table import mebibytes, number, progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.data.generators import GENERATORS, make

SIZES, QUICK_SIZES = (100_000, 300_000, 1_000_000), (2_000, 3_000, 4_000)
ROW_BYTES = 16  # that a fit on chunks may keep for each row


class FileRows:
    """Rows of a file, chunk by chunk; read and not mapped, because mapped pages count as memory of the process."""

    def __init__(self, folder, rows, columns, size):
        self.folder, self.rows, self.columns, self.size = Path(folder), rows, columns, size

    def __iter__(self):
        for start in range(0, self.rows, self.size):
            n = min(self.size, self.rows - start)
            X = np.fromfile(self.folder / "X", np.float32, n * self.columns, offset=4 * self.columns * start)
            yield X.reshape(n, self.columns), np.fromfile(self.folder / "y", np.int64, n, offset=8 * start)


def write(folder, X, y):
    np.ascontiguousarray(X, dtype=np.float32).tofile(Path(folder) / "X")
    np.ascontiguousarray(y, dtype=np.int64).tofile(Path(folder) / "y")


def prepare_fit(folder, rows, columns, size, n_components):

    def fit(n):
        model = FBTWSVM(feature_map="fourier", n_components=n_components, gamma=0.3, random_state=0, n_jobs=1)
        return model.fit(FileRows(folder, n, columns, size))

    fit(min(rows, 2 * size))
    return lambda: fit(rows)


def fit(plan):
    sizes, size, n_components = plan.pick((SIZES, 10_000, 300), (QUICK_SIZES, 500, 20))
    X, y = load_stream("SEA_1M", sizes[-1])
    lines, first = [], None
    with tempfile.TemporaryDirectory() as folder:
        write(folder, StandardScaler().fit_transform(X), y)
        for rows in sizes:
            progress(f"fit of chunks: {rows:,} rows")
            shape = {"rows": rows, "columns": X.shape[1], "size": size, "n_components": n_components}
            found = measure_apart(prepare_fit, folder=folder, **shape)
            rest = found.peak - ROW_BYTES * rows
            first = first or rest
            cells = [mebibytes(found.peak), mebibytes(rest), f"{rest / first:.3f}"]
            lines.append([f"{rows:,}", number(found.seconds), *cells])
    title = f"fit of chunks of {size:,} rows, one thread, each size in a process of its own\n"
    title += f"(wanted: peak less {ROW_BYTES} bytes a row constant within 5 % from the least to the most rows)"
    table(["rows", "seconds", "peak: MiB", f"less {ROW_BYTES} bytes a row", "of the first"], lines, title)


def prepare_classes(sizes, n_components):
    """Return a fit of classes of these sizes with a given map; a fit of a few features compiles."""
    X, y = make_blobs(sizes, 50, cluster_std=4.0, random_state=0)
    X = StandardScaler().fit_transform(X).astype(np.float32)

    def fit(count):
        return FBTWSVM(feature_map="nystroem", n_components=count, gamma=0.01, random_state=0, n_jobs=1).fit(X, y)

    fit(n_components // 20)
    return lambda: fit(n_components)


def classes(plan):
    rows, count, n_components = plan.pick((20_000, 100, 2_000), (400, 10, 40))
    large = rows // 4  # more than two rows a feature: then the Gram matrices of all classes are formed
    shapes = {
        "equal classes": [rows // count] * count,
        "one large class": [large, *[(rows - large) // (count - 1)] * (count - 1)],
    }
    lines, factor = [], 4 * n_components**2
    for name, sizes in shapes.items():
        progress(f"fit of {count} classes, {n_components:,} features: {name}")
        found = measure_apart(prepare_classes, sizes=sizes, n_components=n_components)
        mapped = 4 * sum(sizes) * n_components
        wanted = 3 * mapped + factor
        cells = [mebibytes(found.peak), mebibytes(mapped), f"{found.peak / mapped:.2f}", mebibytes(wanted)]
        lines.append([name, number(found.seconds), *cells, "yes" if found.peak <= wanted else "no"])
    title = f"fit of {rows:,} rows of {count} classes, {n_components:,} Nystroem features, one thread, own process\n"
    title += f"(wanted: at most 3 times the mapped rows plus {mebibytes(factor)} MiB for the class at hand)"
    header = ["rows", "seconds", "peak: MiB", "mapped rows: MiB", "peak / mapped rows", "wanted: MiB", "reached"]
    table(header, lines, title)


def learn_stream(folder, rows, columns, marks):
    """Learn rows from files in chunks of 1,000; yields bytes of state at the marks, then the peak of the process."""
    model = FBTWSVM(feature_map="fourier", gamma="scale", n_components=200, random_state=0)
    learned = 0
    for X, y in FileRows(folder, rows, columns, 1_000):
        model.partial_fit(X, y)
        learned += len(y)
        if learned in marks:
            yield {"state_bytes": model.inspect().bytes, "peak_bytes": peak_memory()}


def stream(plan):
    sizes = plan.pick(SIZES, QUICK_SIZES)
    lines = []
    for name in ("SEA_1M", "LED_1M"):
        progress(f"{name}: {sizes[-1]:,} rows")
        X, y = load_stream(name, sizes[-1])
        with tempfile.TemporaryDirectory() as folder:
            write(folder, X, y)
            shape = {"folder": folder, "rows": sizes[-1], "columns": X.shape[1], "marks": sizes}
            found = run_apart(learn_stream, shape)
        states, peaks = [row["state_bytes"] for row in found], [row["peak_bytes"] for row in found]
        cells = [*(f"{size / 2**20:.3f}" for size in states), f"{100 * (max(states) / min(states) - 1):.2f} %"]
        growth = f"{100 * (peaks[-1] / peaks[0] - 1):.1f} %"
        lines.append([name, *cells, mebibytes(peaks[0]), mebibytes(peaks[-1]), growth])
    marks = [f"{size:,}" for size in sizes]
    header = ["stream", *marks, "differ by", f"peak at {marks[0]}", f"at {marks[-1]}", "grows by"]
    title = "MiB of state after so many rows (wanted: within 2 %), and the peak of the process (wanted: within 5 %)"
    table(header, lines, title)


def stream_csv(path):
    """Run `fbtwsvm stream` in this process; yields its answer and the peak of the process."""
    from fbtwsvm.cli import main

    sys.argv = ["fbtwsvm", "stream", path, "-t", "y", "--json"]
    output = io.StringIO()
    try:
        with redirect_stdout(output):
            main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"the command failed with status {end.code}") from end
    yield {"peak_bytes": peak_memory(), "answer": json.loads(output.getvalue())}


def command(plan):
    lines, least = [], None
    with tempfile.TemporaryDirectory() as folder:
        for rows in (plan.pick(SIZES, QUICK_SIZES)[0], plan.pick(SIZES, QUICK_SIZES)[-1]):
            progress(f"fbtwsvm stream: {rows:,} rows")
            path = Path(folder) / f"sea{rows}.csv"
            X, y = (np.concatenate(part) for part in zip(*make("sea", seed=0).blocks(rows), strict=True))
            np.savetxt(path, np.column_stack([X, y]), "%.9g", ",", header="x1,x2,x3,y", comments="")
            (found,) = run_apart(stream_csv, {"path": str(path)})
            peak, answer = found["peak_bytes"], found["answer"]
            spent = [answer["seconds"][name] for name in ("reading", "encoding", "testing and learning")]
            least = least or peak
            times = [f"{seconds:.2f}" for seconds in spent]
            share = (spent[0] + spent[1]) / spent[2]
            lines.append([f"{rows:,}", f"{peak / 2**20:.1f}", f"{peak / least:.3f}", *times, f"{share:.3f}",
                          f"{answer['accuracy']:.4f}"])  # fmt: skip
    title = "fbtwsvm stream over a CSV of SEA rows, chunks of 100 (wanted: peak within 5 %, reading below learning)"
    header = ["rows", "peak: MiB", "ratio", "reading: s", "encoding: s", "test and learn: s", "read + encode / learn"]
    table([*header, "accuracy"], lines, title)


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

    from fbtwsvm.export.onnx import export_onnx

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
