"""predict against Nystroem + LinearSVC on the same landmarks: rows a second on the test rows of mnist."""

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from benchmarks.bench.cases import CASES, model
from benchmarks.bench.measure import CORES, Run, interleaved, mebibytes, ratio
from benchmarks.bench.memory import measured
from benchmarks.bench.plan import at_least
from benchmarks.bench.plots import OURS, RIVAL, Dots, draw_dots
from benchmarks.data import progress, table

LINEAR_ROWS = 10_000  # LinearSVC learns so many: that does not change how long it takes to predict
COLUMNS = ("method", "threads", "rows", "rows_s", "slowest_rows_s", "ratio", "ratio_low", "ratio_high", "accuracy",
           "gap", "peak_bytes")  # fmt: skip
OUR, THEIR = "FBTWSVM", "Nystroem + LinearSVC"


def models(quick):
    """Return ours, fitted, and the rival on its landmarks, and the test rows."""
    data = CASES["mnist, 1,000"].load(quick=quick)
    fitted = model(data, 1).fit(data.X, data.y)
    landmarks = fitted._mapping.transformer.landmarks_
    features = Nystroem(gamma=data.gamma, n_components=len(landmarks), random_state=0).fit(landmarks)
    most = slice(None, LINEAR_ROWS)
    classifier = LinearSVC(random_state=0).fit(features.transform(data.X[most]), data.y[most])
    return {OUR: fitted, THEIR: make_pipeline(features, classifier)}, data.X_test, data.y_test


def run(plan):
    """Measure both, on one thread and on all cores, in turns."""
    progress("predict: fitting")
    fitted, X, y = models(plan.quick)
    runs = {
        (name, count): Run(lambda m=one: m.predict(X), count) for count in (1, CORES) for name, one in fitted.items()
    }
    interleaved(1, runs)  # wake up
    times = interleaved(plan.repeats if plan.quick else max(plan.repeats, 5), runs)
    record, lines = plan.record("predict", COLUMNS), []
    panel = Dots("rows a second on the test rows of mnist")
    for (name, count), own in times.items():
        speed, slowest = len(X) / own.least, len(X) / own.most
        found = ratio(times[THEIR, count], own)
        accuracy = 100 * float(np.mean(own.result == y))
        peak = measured(lambda m=fitted[name]: m.predict(X)).peak
        gap = float(fitted[name].duality_gap_.max()) if name == OUR else None
        record.add(method=name, threads=count, rows=len(X), rows_s=speed, slowest_rows_s=slowest, ratio=found.value,
                   ratio_low=found.low, ratio_high=found.high, accuracy=accuracy, gap=gap, peak_bytes=peak)  # fmt: skip
        lines.append([count, name, f"{speed:,.0f} ({slowest:,.0f})", found, f"{accuracy:.2f}",
                      "-" if gap is None else f"{gap:.1e}", mebibytes(peak)])  # fmt: skip
        panel.add(f"{name}, {count} thread{'s' * (count > 1)}", speed, slowest, speed, OURS if name == OUR else RIVAL)
    print(f"\npredict, {len(X):,} test rows of mnist, same landmarks; LinearSVC has learned {LINEAR_ROWS:,} rows\n")
    table(["threads", "method", "rows/s", f"times {THEIR}", "accuracy", "gap", "peak: MiB"], lines)
    draw_dots(plan.out / "predict.png", "predict", [panel])
    found = ratio(times[THEIR, 1], times[OUR, 1])
    return [at_least("predict", f"rows a second, times those of {THEIR}, one thread", found.value, 0.8)]
