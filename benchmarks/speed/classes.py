"""Many classes with few rows each: fit and predict beside SVC on coil (100 classes) and outdoor (40)."""

from sklearn.svm import SVC

from benchmarks.harness.data import load
from benchmarks.harness.job import measure_apart
from benchmarks.harness.measure import CORES, interleaved, ratio
from benchmarks.harness.table import mebibytes, optional, progress, table
from benchmarks.rivals.methods import largest_gap
from fbtwsvm import FBTWSVM

GAMMAS = {"coil": 20.0, "outdoor": 2.5}
THEIRS = "SVC"
DISTANCE, DEFAULT, ALL_CORES = "FBTWSVM, distance", "FBTWSVM, default decision", "FBTWSVM, distance, all cores"
THREADS = {THEIRS: 1, DISTANCE: 1, DEFAULT: 1, ALL_CORES: CORES}
OPTIONS = {"feature_map": "fourier", "n_components": 400, "C": 4.0, "reg": 0.01, "mu": 0.1, "random_state": 0}


def model(method, gamma):
    if method == THEIRS:
        return SVC(C=100.0, gamma=gamma)
    decision = {} if method == DEFAULT else {"decision": "distance"}
    return FBTWSVM(**OPTIONS, **decision, gamma=gamma, n_jobs=THREADS[method])


def data(name, quick):
    """Return a data set; the quick one is its first six classes."""
    X, y, X_test, y_test = load(name)
    if quick:
        own, other = y < 6, y_test < 6
        return X[own], y[own], X_test[other], y_test[other]
    return X, y, X_test, y_test


def prepare_fit(name, method, quick):
    """Return a compiled fit, to be measured in a process of its own."""
    X, y, _, _ = data(name, quick)
    model(method, GAMMAS[name]).fit(X, y)
    return lambda: model(method, GAMMAS[name]).fit(X, y)


def measure(name, plan):
    """Yield method, times of fit and predict beside SVC's, and test accuracy; methods run in turns."""
    X, y, X_test, y_test = data(name, plan.quick)
    for method in THREADS:
        model(method, GAMMAS[name]).fit(X, y).predict(X_test)  # compiles
    repeats = plan.repeats or plan.pick(5, 1)
    fits = interleaved(repeats, {m: lambda m=m: model(m, GAMMAS[name]).fit(X, y) for m in THREADS}, THREADS)
    predicts = interleaved(repeats, {m: lambda m=m: fits[m].result.predict(X_test) for m in THREADS}, THREADS)
    for method in THREADS:
        accuracy = 100 * float((predicts[method].result == y_test).mean())
        yield method, fits[method], fits[THEIRS], predicts[method], predicts[THEIRS], accuracy


def run(plan):
    lines = []
    for name in plan.chosen(GAMMAS, ["coil"]):
        progress(name)
        for method, fit, svc_fit, predict, svc_predict, accuracy in measure(name, plan):
            peak = None
            if method != ALL_CORES:
                peak = measure_apart(prepare_fit, name=name, method=method, quick=plan.quick).peak
            times = [fit, ratio(fit, svc_fit), predict, ratio(svc_predict, predict)]
            cells = [f"{accuracy:.2f}", optional(largest_gap(fit.result), ".1e"), mebibytes(peak)]
            lines.append([name, method, *times, *cells])
    title = "Many classes: seconds, least (and largest), one thread unless it says otherwise; SVC has one thread only\n"
    title += "(wanted: fit at most 4 times SVC's seconds, predict 5 times faster)"
    header = ["data", "method", "fit: s", "fit / SVC", "predict: s", "SVC / predict", "accuracy", "gap", "peak: MiB"]
    table(header, lines, title)
