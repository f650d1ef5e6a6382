"""predict against Nystroem + LinearSVC with as many landmarks: rows a second on the test rows of mnist."""

from benchmarks.harness.measure import CORES, Run, interleaved, measured, ratio
from benchmarks.harness.table import mebibytes, optional, progress, table
from benchmarks.rivals.methods import LINEAR, OURS, largest_gap, nystroem_svc
from benchmarks.speed.cases import load_case, model

LINEAR_ROWS = 10_000  # LinearSVC learns so many rows: its time to predict does not depend on it
COLUMNS = ("method", "threads", "rows_s", "ratio", "accuracy", "gap", "peak_bytes")


def run(plan):
    progress("predict: fitting")
    data = load_case("mnist, 1,000", quick=plan.quick)
    rival = nystroem_svc(data.gamma, data.n_components, 0)
    fitted = {OURS: model(data).fit(data.X, data.y), LINEAR: rival.fit(data.X[:LINEAR_ROWS], data.y[:LINEAR_ROWS])}
    X, y = data.X_test, data.y_test
    runs = {(name, n): Run(lambda m=m: m.predict(X), n) for n in (1, CORES) for name, m in fitted.items()}
    interleaved(1, runs)  # warms up
    times = interleaved(plan.repeats or plan.pick(5, 1), runs)
    record, lines = plan.record("predict", COLUMNS), []
    for (name, count), own in times.items():
        faster = ratio(times[LINEAR, count], own)
        accuracy, gap = 100 * float((own.result == y).mean()), largest_gap(fitted[name])
        peak = measured(lambda m=fitted[name]: m.predict(X)).peak
        record.add(method=name, threads=count, rows_s=len(X) / own.least, ratio=faster.value, accuracy=accuracy,
                   gap=gap, peak_bytes=peak)  # fmt: skip
        speed = f"{len(X) / own.least:,.0f} ({len(X) / own.most:,.0f})"
        lines.append([count, name, speed, faster, f"{accuracy:.2f}", optional(gap, ".1e"), mebibytes(peak)])
    title = f"predict, {len(X):,} test rows of mnist, as many landmarks; LinearSVC has learned {LINEAR_ROWS:,} rows\n"
    title += "(wanted: at least 0.8 times the rows a second of LinearSVC)"
    table(["threads", "method", "rows/s", f"times {LINEAR}", "accuracy", "gap", "peak: MiB"], lines, title)
