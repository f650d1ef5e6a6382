"""fit against the floor: what any machine of this kind must do at least.

That is to map the rows once and to form one Gram matrix per class, in plain NumPy and float32, with landmarks,
normalisation and gamma given. Where a class has fewer rows than features its smaller kernel matrix is formed instead.
"""

import numpy as np

from benchmarks.harness.job import measure_apart
from benchmarks.harness.measure import CORES, Run, interleaved, ratio, threads
from benchmarks.harness.table import mebibytes, optional, progress, table
from benchmarks.rivals.methods import largest_gap
from benchmarks.speed.cases import CASES, QUICK_CASES, load_case, model, prepare_fit
from fbtwsvm.features import NystroemFeatures

TILE = 4096
COLUMNS = ("case", "rows", "features", "threads", "floor_s", "fit_s", "gap", "accuracy", "peak_bytes")


def floor(X, y, landmarks, normalisation, gamma):
    """Map the rows and form one Gram matrix per class (of the rows, where they are fewer)."""
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.unique(y))
    rows = np.empty((len(X), len(landmarks)), dtype=np.float32)
    landmark_norms = gamma * np.einsum("ij,ij->i", landmarks, landmarks)
    for start in range(0, len(X), TILE):
        tile = X[order[start : start + TILE]]
        values = tile @ landmarks.T
        values *= 2 * gamma
        values -= gamma * np.einsum("ij,ij->i", tile, tile)[:, None]
        values -= landmark_norms
        np.exp(values, out=values)
        np.matmul(values, normalisation, out=rows[start : start + TILE])
    blocks = np.split(rows, starts[1:])
    return [block.T @ block if len(block) >= rows.shape[1] else block @ block.T for block in blocks]


def measure(data, repeats):
    """Return the times of floor and fit on one thread and on all cores, in turns."""
    given = NystroemFeatures(gamma=data.gamma, n_components=data.n_components, random_state=0).fit(data.X)

    def least_work():
        floor(data.X, data.y, given.landmarks_, given.normalisation_, data.gamma)

    runs = {}
    for count in (1, CORES):
        with threads(count):
            model(data, count).fit(data.X, data.y)  # compiles
        runs["floor", count] = Run(least_work, count)
        runs["fit", count] = Run(lambda n=count: model(data, n).fit(data.X, data.y), count)
    return interleaved(repeats, runs)


def run(plan):
    record = plan.record("floor", COLUMNS)
    lines, faster = [], []
    for case in plan.chosen(CASES, QUICK_CASES):
        data = load_case(case, quick=plan.quick)
        progress(f"{case}: {len(data.X):,} rows, {data.n_components:,} features")
        times = measure(data, plan.repeats or plan.pick(3, 1))
        fitted = times["fit", 1].result
        peak = measure_apart(prepare_fit, case=case, quick=plan.quick).peak
        score = None if data.X_test is None else 100 * fitted.score(data.X_test, data.y_test)
        gap, rows, mapped = largest_gap(fitted), len(data.X), 4 * len(data.X) * data.n_components
        for count in dict.fromkeys((1, CORES)):
            seconds = {f"{what}_s": times[what, count].least for what in ("floor", "fit")}
            record.add(case=case, rows=rows, features=data.n_components, threads=count, gap=gap, accuracy=score,
                       peak_bytes=peak, **seconds)  # fmt: skip
        cells = [f"{gap:.1e}", optional(score, ".2f"), mebibytes(peak), mebibytes(mapped)]
        shape = [f"{rows:,}", f"{data.n_components:,}", len(fitted.classes_)]
        of_floor = {count: ratio(times["fit", count], times["floor", count]) for count in (1, CORES)}
        lines.append([case, *shape, times["floor", 1], times["fit", 1], of_floor[1], *cells])
        gains = [ratio(times[what, 1], times[what, CORES]) for what in ("fit", "floor")]
        faster.append([case, times["floor", CORES], times["fit", CORES], *gains, of_floor[CORES]])
    header = ["case", "rows", "features", "classes", "floor: s", "fit: s", "fit / floor", "gap", "accuracy"]
    title = "fit against the floor on one thread: seconds, least (and largest) of the rounds\n"
    title += "(wanted: at most 1.5 times the floor on mnist, 2 on others; peak on mnist, 1,000 at most 1.6 mapped rows)"
    table([*header, "peak: MiB", "mapped rows: MiB"], lines, title)
    total = [sum(row["fit_s"] for row in record.select(threads=count)) for count in (1, CORES)]
    title = f"All cores ({CORES}), beside one thread in the same rounds; the whole: {total[0]:.2f} s on one thread, "
    title += f"{total[1]:.2f} s on all cores (wanted: 1.6 times faster)"
    table(["case", "floor: s", "fit: s", "fit: times faster", "floor: times faster", "fit / floor"], faster, title)
