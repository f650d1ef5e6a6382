"""fit of chunks: rows that stay in a file are learned in memory that does not depend on how many there are."""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.bench.measure import mebibytes, number
from benchmarks.bench.memory import in_child
from benchmarks.bench.plan import at_most
from benchmarks.bench.plots import Lines, draw_lines
from benchmarks.data import load_stream, progress, table
from fbtwsvm import FBTWSVM

CHUNK = 10_000
FEATURES = 300
CONSTANT = 1.1  # largest over smallest peak that still counts as constant
COLUMNS = ("rows", "seconds", "peak_bytes", "before_bytes")


class Chunks:
    """Rows of a file, chunk by chunk, as often as they are asked for.

    Each chunk is mapped on its own and copied, so that pages of the file that have been read do not stay in the count.
    """

    def __init__(self, folder, rows, columns, size=CHUNK):
        self.folder, self.rows, self.columns, self.size = Path(folder), rows, columns, size

    def __iter__(self):
        for start in range(0, self.rows, self.size):
            n = min(self.size, self.rows - start)
            X = np.memmap(self.folder / "X", np.float32, "r", 4 * self.columns * start, (n, self.columns))
            y = np.memmap(self.folder / "y", np.int64, "r", 8 * start, (n,))
            yield np.array(X), np.array(y)
            del X, y


def write(folder, X, y):
    """Put rows and labels where `Chunks` finds them."""
    np.ascontiguousarray(X, dtype=np.float32).tofile(Path(folder) / "X")
    np.ascontiguousarray(y, dtype=np.int64).tofile(Path(folder) / "y")


def prepare_fit(folder, rows, columns, size, n_components):
    """Return the fit of chunks, ready to be measured in a process of its own."""

    def fit(chunks):
        model = FBTWSVM(feature_map="fourier", n_components=n_components, gamma=0.3, random_state=0, n_jobs=1)
        return model.fit(chunks)

    fit(Chunks(folder, min(rows, 2 * size), columns, size))  # compile, on chunks as large as those to come
    return lambda: fit(Chunks(folder, rows, columns, size))


def run(plan):
    """Measure all sizes, each in a process of its own."""
    sizes, size, n_components = (100_000, 300_000, 1_000_000), CHUNK, FEATURES
    if plan.quick:
        sizes, size, n_components = (600, 1_200), 200, 20
    X, y = load_stream("SEA_1M", sizes[-1])
    X = StandardScaler().fit_transform(X)
    record = plan.record("chunks", COLUMNS)
    panel = Lines("fit of chunks", "rows", "peak memory, MiB", {"FBTWSVM, chunks": []})
    with tempfile.TemporaryDirectory() as folder:
        write(folder, X, y)
        for rows in sizes:
            progress(f"fit of chunks: {rows:,} rows")
            found = in_child(
                prepare_fit, folder=folder, rows=rows, columns=X.shape[1], size=size, n_components=n_components
            )
            record.add(rows=rows, seconds=found.seconds, peak_bytes=found.peak, before_bytes=found.before)
            panel.series["FBTWSVM, chunks"].append((rows, *[max(found.peak, 2**10) / 2**20] * 3))
    print(f"\nfit of chunks of {size:,} rows, one thread, each size in a process of its own\n")
    table(
        ["rows", "seconds", "peak: MiB"],
        [[f"{row['rows']:,}", number(row["seconds"]), mebibytes(row["peak_bytes"])] for row in record.rows],
    )
    peaks = [max(row["peak_bytes"], 1) for row in record.rows]
    text = f"fit of chunks: peak memory, largest over smallest of {sizes[0]:,} to {sizes[-1]:,} rows"
    draw_lines(plan.out / "chunks.png", "fit of chunks, one thread", [panel])
    return [at_most("growth", text, max(peaks) / min(peaks), CONSTANT)]
