"""fit against the floor: what any machine of this kind must do at least.

That is to map the rows once and to form one Gram matrix per class: plain NumPy in float32, landmarks, their
normalisation and the width given. Where a class has fewer rows than there are features its kernel matrix is smaller and
does as well.
"""

import numpy as np

from benchmarks.bench import cases
from benchmarks.bench.measure import CORES, Ratio, Run, interleaved, mebibytes, ratio, threads
from benchmarks.bench.memory import in_child
from benchmarks.bench.plan import at_least, at_most
from benchmarks.bench.plots import OTHER, OURS, Dots, draw_dots
from benchmarks.data import progress, table
from fbtwsvm.features import NystroemFeatures

TILE = 4096
GAP = 1e-3
FASTER = 1.6  # wanted: speed-up of the whole by all cores
MEMORY = {"mnist, 1,000": 1.6}  # peak over mapped rows that is wanted
COLUMNS = (
    "case", "rows", "features", "classes", "threads", "floor_s", "floor_most_s", "fit_s", "fit_most_s", "ratio",
    "ratio_low", "ratio_high", "gap", "accuracy", "peak_bytes", "mapped_bytes",
)  # fmt: skip


def floor(X, y, landmarks, normalisation, gamma):
    """Map the rows and form one Gram matrix per class (of the rows, where they are fewer), by the book."""
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.unique(y))
    rows = np.empty((len(X), len(landmarks)), dtype=np.float32)
    landmark_norms = gamma * np.einsum("ij,ij->i", landmarks, landmarks)
    for start in range(0, len(X), TILE):
        tile = X[order[start : start + TILE]]
        seen = tile @ landmarks.T
        seen *= 2 * gamma
        seen -= gamma * np.einsum("ij,ij->i", tile, tile)[:, None]
        seen -= landmark_norms
        np.exp(seen, out=seen)
        np.matmul(seen, normalisation, out=rows[start : start + TILE])
    blocks = np.split(rows, starts[1:])
    return [block.T @ block if len(block) >= rows.shape[1] else block @ block.T for block in blocks]


def measure(case, plan):
    """Return the data and the times of floor and fit, on one thread and on all cores, in turns."""
    data = cases.CASES[case].load(quick=plan.quick)
    progress(f"{case}: {len(data.X):,} rows, {data.n_components:,} features")
    given = NystroemFeatures(gamma=data.gamma, n_components=data.n_components, random_state=0).fit(data.X)

    def least_work():
        floor(data.X, data.y, given.landmarks_, given.normalisation_, data.gamma)

    runs = {}
    for count in (1, CORES):
        with threads(count):
            cases.model(data, count).fit(data.X, data.y)  # compile what this very case needs, wake all threads
        runs["floor", count] = Run(least_work, count)
        runs["fit", count] = Run(lambda n=count: cases.model(data, n).fit(data.X, data.y), count)
    return data, interleaved(plan.repeats, runs)


def write(record, case, data, times, peak):
    """Write one row for each number of threads and return that of one thread."""
    for count in dict.fromkeys((1, CORES)):
        bottom, top = times["floor", count], times["fit", count]
        found = ratio(top, bottom)
        model = top.result
        score = None if data.X_test is None else 100 * model.score(data.X_test, data.y_test)
        record.add(
            case=case, rows=len(data.X), features=data.n_components, classes=len(model.classes_), threads=count,
            floor_s=bottom.least, floor_most_s=bottom.most, fit_s=top.least, fit_most_s=top.most, ratio=found.value,
            ratio_low=found.low, ratio_high=found.high, gap=float(model.duality_gap_.max()), accuracy=score,
            peak_bytes=peak if count == 1 else None, mapped_bytes=data.mapped_bytes,
        )  # fmt: skip
    return record.select(case=case, threads=1)[0]


def run(plan):
    """Measure all cases."""
    record = plan.record("floor", COLUMNS)
    ratios, speeds = Dots("fit over floor, one thread"), Dots("speed-up by all cores", wanted=FASTER)
    wanted, lines, faster = [], [], []
    for case, settings in cases.CASES.items():
        data, times = measure(case, plan)
        peak = in_child(cases.prepare_fit, case=case, quick=plan.quick).peak
        row = write(record, case, data, times, peak)
        found = {count: ratio(times["fit", count], times["floor", count]) for count in (1, CORES)}
        gain = {what: ratio(times[what, 1], times[what, CORES]) for what in ("fit", "floor")}
        lines.append(_line(case, row, times, found))
        faster.append([case, *(str(times[what, CORES]) for what in ("floor", "fit")), *map(str, gain.values()),
                       str(found[CORES])])  # fmt: skip
        _dot(ratios, case, found[1], OURS, settings.most)
        _dot(speeds, f"{case}: fit", gain["fit"], OURS)
        _dot(speeds, f"{case}: floor", gain["floor"], OTHER)
        wanted.append(at_most("floor", f"{case}: fit over floor, one thread", found[1].value, settings.most))
        wanted.append(at_most("floor", f"{case}: largest gap", row["gap"], GAP))
        if case in MEMORY:
            share = peak / data.mapped_bytes
            wanted.append(at_most("floor", f"{case}: peak memory over mapped rows", share, MEMORY[case]))
    whole = [sum(row["fit_s"] for row in record.select(threads=count)) for count in (1, CORES)]
    speeds.add("the whole: fit", *[whole[0] / whole[1]] * 3, OURS)
    wanted.append(at_least("floor", f"the whole: fit on {CORES} cores, times faster", whole[0] / whole[1], FASTER))
    print("\nfit against the floor on one thread: seconds, least (and largest) of the rounds\n")
    table(["case", "rows", "features", "classes", "floor: s", "fit: s", "fit / floor", "gap", "accuracy",
           "peak: MiB", "mapped rows: MiB"], lines)  # fmt: skip
    print(f"\nAll cores ({CORES}), beside one thread in the same rounds; the whole: {whole[0]:.2f} s on one thread, "
          f"{whole[1]:.2f} s on all cores\n")  # fmt: skip
    table(["case", "floor: s", "fit: s", "fit: times faster", "floor: times faster", "fit / floor"], faster)
    draw_dots(plan.out / "floor.png", "fit against the floor", [ratios, speeds])
    return wanted


def _line(case, row, times, found):
    accuracy = "-" if row["accuracy"] is None else f"{row['accuracy']:.2f}"
    return [
        case, f"{row['rows']:,}", f"{row['features']:,}", row["classes"], times["floor", 1], times["fit", 1], found[1],
        f"{row['gap']:.1e}", accuracy, mebibytes(row["peak_bytes"]), mebibytes(row["mapped_bytes"]),
    ]  # fmt: skip


def _dot(panel, name, found: Ratio, colour, wanted=None):
    panel.add(name, found.value, found.low, found.high, colour, wanted)
