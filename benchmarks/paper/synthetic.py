"""Synthetic streams: seconds, memory and accuracy at 10K, 100K and 1M rows, read in chunks.

Sources: "file" is MOA's stream with the seeds of the paper; "MOA" is that stream made here, row for row; "generator" is
the library's own, whose concept is another one.
"""

import itertools
import tempfile
import time
import zipfile

import numpy as np

from benchmarks.harness.data import Missing, fetch, find
from benchmarks.harness.measure import peak_memory
from benchmarks.harness.table import table
from benchmarks.paper import figures, moa, published
from benchmarks.paper.jobs import COLUMNS, OURS, Job, Learner, count, do, mean, mean_sd, values
from benchmarks.paper.settings import RIVALS, choose
from fbtwsvm import FBTWSVM
from fbtwsvm.data.generators import make

CHUNK = 5_000  # the paper's first training
FILES = {"LED": "LED_1M", "SEA": "SEA_1M", "RTG": "RTG_100K", "RBF": "RBF_100K", "HYPER": "HYPER_100K"}


def file_blocks(path, n):
    """Yield the first n rows of an NPZ file with X and y: unpacked to a temporary folder, never all in memory."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(path) as packed:
            X, y = (np.load(packed.extract(f"{name}.npy", folder), mmap_mode="r") for name in "Xy")
        if len(y) < n:
            raise Missing(f"{path.name} has {len(y):,} rows, {n:,} are needed.")
        for first in range(0, n, CHUNK):
            part = slice(first, min(first + CHUNK, n))
            yield np.asarray(X[part]), np.asarray(y[part])


def chunks(stream, source, n, seed):
    """Yield the first n rows of a stream, at most CHUNK at a time, in float32."""
    if source == "MOA":
        blocks = moa.blocks(stream, n, CHUNK)
    elif source == "generator":
        blocks = make(stream.lower(), seed=seed, **({"classes": 5} if stream == "RBF" else {})).blocks(n)
    else:
        blocks = file_blocks(find(FILES[stream]) or fetch(FILES[stream]), n)
    for X, y in blocks:
        for first in range(0, len(y), CHUNK):
            yield X[first : first + CHUNK].astype(np.float32), y[first : first + CHUNK]


def model_for(stream, method, seed, chosen):
    """Return an unfitted model; ours has the paper's kernel, gamma and number of features, otherwise our defaults."""
    if method != OURS:
        return RIVALS[method][1]({"svc": chosen}, 0, seed)
    setting = published.SYNTHETIC[stream]
    if "features" not in setting:
        return FBTWSVM(kernel="linear", random_state=seed)
    shape = {"feature_map": "nystroem", "gamma": setting["gamma"], "n_components": setting["features"]}
    return FBTWSVM(**shape, random_state=seed)


def prepare(name, method, source, seed):
    """Choose the settings of a rival on the first rows, and compile by a small run; returns settings and classes."""
    first = list(chunks(name, source, 2 * CHUNK, seed))
    classes = np.unique(first[0][1])
    chosen = None
    if method != OURS:
        chosen = choose("svc", *(np.concatenate(part) for part in zip(*first, strict=True)), quick=True)
    small, n = model_for(name, method, seed, chosen), 2_000 if method == OURS else 300
    for X, y in first[:2]:
        small.partial_fit(X[:n], y[:n], classes=classes)
    small.predict(first[0][0][:10])
    return chosen, classes


def stream(name, method, d, rows, source, seed):
    chosen, classes = prepare(name, method, source, seed)
    learner = Learner(model_for(name, method, seed, chosen))
    parts = chunks(name, source, rows + 3 * rows // 10, seed)
    learned = 0
    while learned < rows:
        X, y = next(parts)
        room = rows - learned
        learner.partial_fit(X[:room], y[:room], classes=classes)
        learned += len(y)
    model = learner.finish()
    start, right, tested = time.perf_counter(), 0, 0
    for rows_, labels in itertools.chain([(X[room:], y[room:])] if len(y) > room else [], parts):
        right += int((model.predict(rows_) == labels).sum())
        tested += len(labels)
    yield {
        "seed": seed, "rows": rows, "accuracy": 100.0 * right / tested, "train_s": learner.seconds,
        "test_s": time.perf_counter() - start, "peak_bytes": peak_memory(),
    }  # fmt: skip


def printed(name, method, size):
    """Return the paper's seconds, GB and accuracy; an empty list where it has none."""
    lines = published.SYNTHETIC[name]["printed"] if method == OURS else published.SYNTHETIC_RIVALS[method].get(name, [])
    return dict(zip(published.SIZES, lines, strict=False)).get(size, [])


def jobs_of(plan):
    for name in plan.chosen(published.SYNTHETIC, ["SEA", "RBF"]):
        for size in plan.pick(published.SIZES, (10_000,)):
            source = "file" if size <= 100_000 or FILES[name].endswith("1M") else "MOA"
            cases = [(OURS, source), (OURS, "generator")]
            if size <= plan.pick(100_000, 0):
                cases += [("ISVM", source), ("LASVM", source)]
            for method, kind in cases:
                options = {"rows": size, "source": kind, "seed": 1}
                yield Job(stream, name, method, kind, options=options, limited=method != OURS)


def run(plan):
    record = plan.record("paper_synthetic", COLUMNS)
    lines, drawn = [], {}
    for job in jobs_of(plan):  # one at a time: seconds count
        results, size = do(record, job, plan.limit or 1_200), job.options["rows"]
        cells = [mean_sd(results)] * 3 + [""]
        paper = printed(job.dataset, job.method, size)
        if values(results):
            seconds, memory = mean(results, "train_s"), mean(results, "peak_bytes") / 2**30
            cells = [f"{seconds:.2f}", f"{memory:.2f}", mean_sd(results), f"{paper[0] / seconds:.0f}" if paper else ""]
            if job.method == OURS and job.setting != "generator":
                drawn.setdefault(job.dataset, []).extend(results)
        shown = [f"{value:,.6g}" for value in paper] if paper else ["-", "-", "-"]
        lines.append([job.dataset, count(size), job.method, job.setting, *cells, *shown])
    header = ["stream", "rows", "method", "source", "training: s", "peak: GB", "accuracy %",
              "times faster than printed", "printed: s", "printed: GB", "printed: %"]  # fmt: skip
    table(header, lines, "Synthetic streams: seconds of training, peak memory, accuracy")
    figures.synthetic(drawn, plan.out / "paper_synthetic.png")
