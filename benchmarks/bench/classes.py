"""Many classes with few rows each: fit and predict beside SVC on coil (100 classes) and outdoor (40)."""

from sklearn.svm import SVC

from benchmarks.bench.measure import CORES, Run, interleaved, mebibytes, ratio
from benchmarks.bench.memory import in_child
from benchmarks.bench.plan import at_least, at_most
from benchmarks.bench.plots import OTHER, OURS, Dots, draw_dots
from benchmarks.data import load, progress, table
from fbtwsvm import FBTWSVM

SETS = {"coil": 20.0, "outdoor": 2.5}  # gamma, for all alike
THEIRS = "SVC"
DISTANCE, DEFAULT, SIDE_BY_SIDE = "FBTWSVM, distance", "FBTWSVM, default decision", "FBTWSVM, distance, all cores"
OPTIONS = {"feature_map": "fourier", "n_components": 400, "C": 4.0, "reg": 0.01, "mu": 0.1, "random_state": 0}
COLUMNS = (
    "dataset", "method", "step", "seconds", "most_s", "svc_s", "svc_most_s", "ratio", "ratio_low", "ratio_high", "gap",
    "accuracy", "peak_bytes",
)  # fmt: skip


def model(method, gamma):
    """Return an unfitted model."""
    if method == THEIRS:
        return SVC(C=100.0, gamma=gamma)
    decision = {} if method == DEFAULT else {"decision": "distance"}
    return FBTWSVM(**OPTIONS, **decision, gamma=gamma, n_jobs=CORES if method == SIDE_BY_SIDE else 1)


def data(name, quick):
    """Return the parts of a set; the quick one is a few classes of it."""
    X, y, X_test, y_test = load(name)
    if quick:
        own, other = y < 6, y_test < 6
        X, y, X_test, y_test = X[own], y[own], X_test[other], y_test[other]
    return X, y, X_test, y_test


def prepare_fit(name, method, quick):
    """Return a fit, ready to be measured in a process of its own."""
    X, y, _, _ = data(name, quick)
    model(method, SETS[name]).fit(X, y)
    return lambda: model(method, SETS[name]).fit(X, y)


def measure(name, plan):
    """Return the times of fit and of predict by method, each kind in turns, and the test accuracies."""
    X, y, X_test, y_test = data(name, plan.quick)
    progress(f"{name}: {len(X):,} rows")
    methods = {THEIRS: 1, DISTANCE: 1, DEFAULT: 1, SIDE_BY_SIDE: CORES}
    for method in methods:
        model(method, SETS[name]).fit(X, y).predict(X_test)  # compile
    repeats = plan.repeats if plan.quick else max(plan.repeats, 5)
    runs = {m: Run(lambda m=m: model(m, SETS[name]).fit(X, y), count) for m, count in methods.items()}
    fits = interleaved(repeats, runs)
    runs = {m: Run(lambda m=m: fits[m].result.predict(X_test), count) for m, count in methods.items()}
    predicts = interleaved(repeats, runs)
    scores = {method: 100 * float((predicts[method].result == y_test).mean()) for method in methods}
    return fits, predicts, scores


def write(record, plan, name, fits, predicts, scores):
    """Write a row for each method and step."""
    for method in fits:
        gap = None if method == THEIRS else float(fits[method].result.duality_gap_.max())
        for step, times in (("fit", fits), ("predict", predicts)):
            peak = None
            if step == "fit" and method != SIDE_BY_SIDE:
                peak = in_child(prepare_fit, name=name, method=method, quick=plan.quick).peak
            own, theirs, found = times[method], times[THEIRS], ratio(times[method], times[THEIRS])
            record.add(
                dataset=name, method=method, step=step, seconds=own.least, most_s=own.most, svc_s=theirs.least,
                svc_most_s=theirs.most, ratio=found.value, ratio_low=found.low, ratio_high=found.high, gap=gap,
                accuracy=scores[method], peak_bytes=peak,
            )  # fmt: skip


def run(plan):
    """Measure all sets."""
    record, wanted, lines = plan.record("classes", COLUMNS), [], []
    panels = [Dots("fit: times SVC's seconds", wanted=4.0), Dots("predict: times faster than SVC", wanted=5.0)]
    for name in ["coil"] if plan.quick else SETS:
        fits, predicts, scores = measure(name, plan)
        write(record, plan, name, fits, predicts, scores)
        for method in fits:
            slower, faster = ratio(fits[method], fits[THEIRS]), ratio(predicts[THEIRS], predicts[method])
            row = record.select(dataset=name, method=method, step="fit")[0]
            gap = "-" if row["gap"] is None else f"{row['gap']:.1e}"
            peak = "-" if row["peak_bytes"] is None else mebibytes(row["peak_bytes"])
            lines.append([name, method, fits[method], slower, predicts[method], faster, f"{scores[method]:.2f}",
                          gap, peak])  # fmt: skip
            if method != THEIRS:
                colour = OURS if method == DISTANCE else OTHER
                panels[0].add(f"{name}: {method}", slower.value, slower.low, slower.high, colour)
                panels[1].add(f"{name}: {method}", faster.value, faster.low, faster.high, colour)
            if method in (DISTANCE, DEFAULT):
                wanted.append(at_most("classes", f"{name}, {method}: fit over SVC's (aim 2)", slower.value, 4.0))
                wanted.append(at_least("classes", f"{name}, {method}: predict, times faster", faster.value, 5.0))
    print(
        "\nMany classes: seconds, least (and largest), one thread unless it says otherwise; SVC has one thread only\n"
    )
    table(
        ["data", "method", "fit: s", "fit / SVC", "predict: s", "SVC / predict", "accuracy", "gap", "peak: MiB"], lines
    )
    draw_dots(plan.out / "classes.png", "Many classes, beside SVC", panels)
    return wanted
