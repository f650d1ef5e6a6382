"""How seconds and memory grow with rows, features and classes, and the speed of partial_fit by chunk size."""

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.harness.data import load, load_stream
from benchmarks.harness.measure import measured, threads, too_large
from benchmarks.harness.table import mebibytes, number, progress, table
from benchmarks.rivals.methods import LINEAR, METHODS, ONE_PASS, OURS, arf, fit_noting, largest_gap
from fbtwsvm import FBTWSVM
from fbtwsvm.stream import chunked

GAMMA, FEATURES = 0.3, 300
SVC_ROWS = 10_000  # the most that SVC learns
WARM_ROWS = 10_000  # larger runs are not warmed up
COLUMNS = ("section", "method", "size", "rows", "repeat", "seconds", "peak_bytes", "gap", "unconverged")


def ours(n_components, gamma=GAMMA):
    """Return our model with Fourier features, which do not depend on the rows."""
    return FBTWSVM(feature_map="fourier", n_components=n_components, gamma=gamma, random_state=0, n_jobs=1)


def fitting(make, X, y):
    """Return the rows of a run, and a function that prepares it."""
    return len(y), lambda: lambda: fit_noting(make(), X, y)


def sea(limit):
    """Return the first rows of SEA, standardised."""
    X, y = load_stream("SEA_1M", limit)
    return StandardScaler().fit_transform(X), y


def by_rows(plan):
    """SEA, 300 features: ours, SVC up to 10,000 rows, SGD in one pass and LinearSVC."""
    sizes = plan.pick((1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000), (200, 400, 800))
    X, y = sea(sizes[-1])
    n_features = plan.pick(FEATURES, 20)
    for n in sizes:
        runs = {OURS: fitting(lambda: ours(n_features), X[:n], y[:n])}
        if n <= SVC_ROWS:
            runs["SVC"] = fitting(lambda: SVC(gamma=GAMMA), X[:n], y[:n])
        for name in (ONE_PASS, LINEAR):
            if too_large(n * n_features * METHODS[name].bytes_per_value):
                print(f"{name} is left out at {n:,} rows: there is not enough memory free.")
            else:
                runs[name] = fitting(lambda name=name: METHODS[name].make(GAMMA, n_features, 0), X[:n], y[:n])
        yield n, runs


def by_features(plan):
    """10,000 rows of mnist with more and more landmarks: ours and LinearSVC."""
    n = plan.pick(10_000, 300)
    X, y, _, _ = load("mnist")
    for count in plan.pick((100, 200, 400, 800, 1_600, 4_000), (20, 40)):
        makers = {name: lambda name=name, m=count: METHODS[name].make(0.02, m, 0) for name in (OURS, LINEAR)}
        yield count, {name: fitting(make, X[:n], y[:n]) for name, make in makers.items()}


def by_classes(plan):
    """One cloud of 200 rows in 20 columns for each class: ours with 200 features, and SVC."""
    each = plan.pick(200, 30)
    for k in plan.pick((2, 5, 10, 20, 50, 100), (2, 4)):
        X, y = make_blobs(each * k, n_features=20, centers=k, cluster_std=5.0, random_state=0)
        X = StandardScaler().fit_transform(X).astype(np.float32)
        makers = {OURS: lambda: ours(each, 1 / 20), "SVC": lambda: SVC(gamma=1 / 20)}
        yield k, {name: fitting(make, X, y) for name, make in makers.items()}


def by_chunk(plan):
    """partial_fit of SEA after 1,000 rows, small chunks with fewer rows in all; river's forest row by row."""
    known, single, most = 1_000, plan.pick(2_000, 60), plan.pick(100_000, 200)
    X, y = sea(known + most)
    for size in plan.pick((1, 10, 100, 1_000, 10_000, 100_000), (1, 20, 200)):
        n = min(most, single * size)
        rows = slice(known, known + n)

        def prepare(rows=rows, size=size):
            model = ours(plan.pick(FEATURES, 20)).partial_fit(X[:known], y[:known])
            return lambda: learn(model, X[rows], y[rows], size)

        runs = {OURS: (n, prepare)}
        if size == 1:
            runs["ARF, row by row"] = single, lambda: lambda: (arf(0).partial_fit(X[:single], y[:single]), False)
        yield size, runs


def learn(model, X, y, size):
    """Learn rows in chunks."""
    for rows, labels in chunked(X, y, size):
        model.partial_fit(rows, labels)
    return model, False


SECTIONS = {"rows": by_rows, "features": by_features, "classes": by_classes, "chunk size": by_chunk}


def sweep(section, plan, record):
    """Measure a section: at each size the methods in turns."""
    for size, runs in SECTIONS[section](plan):
        progress(f"growth with {section}: {size:,}")
        for rows, prepare in runs.values():
            if rows <= WARM_ROWS:
                prepare()()  # compiles
        for repeat in range(plan.repeats or plan.pick(3, 1)):
            for method, (rows, prepare) in runs.items():
                found = measured(prepare())
                model, unconverged = found.result
                record.add(section=section, method=method, size=size, rows=rows, repeat=repeat, seconds=found.seconds,
                           peak_bytes=found.peak, gap=largest_gap(model), unconverged=int(unconverged))  # fmt: skip
                del found, model


def points(record, section, method):
    """Return for each size: size, rows, least and largest seconds, peak bytes, largest gap."""
    rows = record.select(section=section, method=method)
    for size in sorted({row["size"] for row in rows}):
        own = [row for row in rows if row["size"] == size]
        seconds = [row["seconds"] for row in own]
        peak, gap = max(row["peak_bytes"] for row in own), max((row["gap"] or 0.0) for row in own)
        yield size, own[0]["rows"], min(seconds), max(seconds), peak, gap


def methods_of(record, section):
    """Return the methods of a section in their order."""
    return list(dict.fromkeys(row["method"] for row in record.select(section=section)))


def report(record, section):
    """Print the table of a section."""
    speeds = section == "chunk size"
    lines = []
    for method in methods_of(record, section):
        for size, rows, least, most, peak, gap in points(record, section, method):
            shown = f"{rows / least:,.0f} ({rows / most:,.0f})" if speeds else f"{number(least)} ({number(most)})"
            lines.append([f"{size:,}", method, f"{rows:,}", shown, mebibytes(peak), f"{gap:.1e}" if gap else "-"])
    title = f"Growth with {section}, one thread: best (and worst) of the rounds"
    unit = "rows a second" if speeds else "seconds of fit"
    table([section, "method", "rows", unit, "peak: MiB", "gap"], lines, title)


def exponent(sizes, values):
    """Return b of the least-squares line log(value) = a + b log(size); nan for a single size."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0]) if len(sizes) > 1 else float("nan")


def exponents(record, sections, low):
    """Print how seconds and bytes grow; for rows from `low` on, where a method has two such sizes."""
    lines = []
    for section in sections:
        for method in methods_of(record, section):
            every = list(points(record, section, method))
            large = [point for point in every if section != "rows" or point[0] >= low]
            used = large if len(large) > 1 else every
            sizes, _, seconds, _, peaks, _ = zip(*used, strict=True)
            slopes = exponent(sizes, seconds), exponent(sizes, np.maximum(peaks, 1))
            lines.append([section, method, f"{sizes[0]:,} to {sizes[-1]:,}", *(f"{slope:.2f}" for slope in slopes)])
    title = "Exponents: seconds and peak bytes grow as size to the power of ... (wanted: at most 1.1 with rows)"
    table(["with", "method", "sizes", "seconds", "bytes"], lines, title)


def run(plan):
    """Measure all sections."""
    record = plan.record("growth", COLUMNS)
    sections = plan.chosen(SECTIONS)
    with threads(1):
        for section in sections:
            sweep(section, plan, record)
            report(record, section)
    exponents(record, [section for section in sections if section != "chunk size"], plan.pick(10_000, 0))
