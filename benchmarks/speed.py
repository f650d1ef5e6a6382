"""Speed and memory, one thread, one run: fit against the floor, coil against SVC, import time, peak memory.

    FBTWSVM_DATA=... python -m benchmarks.speed [--repeats 3]

The floor of a machine of this kind is to map the rows once and to form the Gram matrices once: plain NumPy in float32,
gamma fixed, landmarks given, one SYRK per class. Times are the least of the repeats, with the largest behind them.
"""

import argparse
import gc
import subprocess
import sys
import time

import numpy as np
import psutil
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.data import load, progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.features import NystroemFeatures

GAMMA = 0.02
TILE = 4096


def timed(repeats, function, *arguments):
    """Return the seconds of each repeat and the last result."""
    seconds = []
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        result = function(*arguments)
        seconds.append(time.perf_counter() - start)
    return seconds, result


def shown(seconds):
    return f"{min(seconds):.2f} ({max(seconds):.2f})"


def floor(X, y, landmarks, normalisation):
    """Map the rows and form one Gram matrix per class, by the book."""
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.unique(y))
    rows = np.empty((len(X), len(landmarks)), dtype=np.float32)
    landmark_norms = GAMMA * np.einsum("ij,ij->i", landmarks, landmarks)
    for start in range(0, len(X), TILE):
        tile = X[order[start : start + TILE]]
        seen = tile @ landmarks.T
        seen *= 2 * GAMMA
        seen -= GAMMA * np.einsum("ij,ij->i", tile, tile)[:, None]
        seen -= landmark_norms
        np.exp(seen, out=seen)
        np.matmul(seen, normalisation, out=rows[start : start + TILE])
    return [block.T @ block for block in np.split(rows, starts[1:])]


def mnist_model(n_components):
    return FBTWSVM(feature_map="nystroem", n_components=n_components, gamma=GAMMA, random_state=0)


def mnist(repeats):
    X, y, X_test, y_test = load("mnist")
    mnist_model(50).fit(X[:5000], y[:5000])  # compile
    rows = []
    for n_components in (1000, 2400):
        progress(f"mnist, {n_components} features")
        given = NystroemFeatures(gamma=GAMMA, n_components=n_components, random_state=0).fit(X)
        floor_seconds, _ = timed(repeats, floor, X, y, given.landmarks_, given.normalisation_)
        seconds, model = timed(repeats, mnist_model(n_components).fit, X, y)
        ratio = min(seconds) / min(floor_seconds)
        accuracy = 100 * model.score(X_test, y_test)
        gap = f"{model.duality_gap_.max():.1e}"
        rows.append(
            [f"{n_components} features", shown(floor_seconds), shown(seconds), f"{ratio:.2f}", gap, f"{accuracy:.2f}"]
        )
    progress("mnist, nothing set")
    seconds, model = timed(1, FBTWSVM(random_state=0).fit, X, y)
    gap, accuracy = f"{model.duality_gap_.max():.1e}", f"{100 * model.score(X_test, y_test):.2f}"
    rows.append([f"FBTWSVM(): {model.n_components_} features", "-", shown(seconds), "-", gap, accuracy])
    print("\nmnist, 60,000 rows: fit against the floor (wanted: at most 2.5 times)\n")
    table(["setting", "floor: s", "fit: s", "ratio", "largest gap", "test accuracy"], rows)


def coil(repeats):
    X, y, X_test, y_test = load("coil")
    progress("coil")
    make = lambda: FBTWSVM(  # noqa: E731
        feature_map="fourier",
        n_components=400,
        gamma=20.0,
        C=4.0,
        reg=0.01,
        mu=0.1,
        decision="distance",
        random_state=0,
    )
    make().fit(X, y).predict(X_test)  # compile
    repeats = max(repeats, 5)
    ours, model = timed(repeats, make().fit, X, y)
    theirs, svc = timed(repeats, SVC(C=100.0, gamma=20.0).fit, X, y)
    ours_predict, _ = timed(repeats, model.predict, X_test)
    theirs_predict, _ = timed(repeats, svc.predict, X_test)
    ratio = lambda a, b: f"{min(a) / min(b):.2f}"  # noqa: E731
    print("\ncoil, 1,800 rows, 100 classes, 400 Fourier features, beside SVC\n")
    rows = [
        ["fit", shown(theirs), shown(ours), ratio(ours, theirs), "fit <= 0.6 s or <= 6 times"],
        ["predict 5,400 rows", shown(theirs_predict), shown(ours_predict), ratio(ours_predict, theirs_predict), "<= 1"],
    ]
    table(["step", "SVC: s", "FBTWSVM: s", "ratio", "wanted"], rows)
    print(f"test accuracy: SVC {100 * svc.score(X_test, y_test):.2f}, FBTWSVM {100 * model.score(X_test, y_test):.2f}")


def import_times(repeats):
    progress("import")

    def seconds(code):
        runs = []
        for _ in range(max(repeats, 5)):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            runs.append(time.perf_counter() - start)
        return runs

    bare = min(seconds("pass"))
    codes = ["import fbtwsvm", "from fbtwsvm import FBTWSVM", "import sklearn.base"]
    print("\nimport, less the start of Python (wanted: at most 1 s)\n")
    table(["statement", "seconds"], [[code, shown([s - bare for s in seconds(code)])] for code in codes])


def peak_memory():
    """Fit mnist with 1,000 features in a process of its own and compare its peak with the mapped rows."""
    progress("memory")
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed", "--peak"], check=True, capture_output=True, text=True
    )
    before, peak = map(int, run.stdout.split())
    mapped = 60_000 * 1000 * 4
    print("\nPeak memory of fit on mnist, 1,000 features, above what the process held before (wanted: at most 1.6)\n")
    rows = [
        [
            f"{before / 2**20:.0f}",
            f"{(peak - before) / 2**20:.0f}",
            f"{mapped / 2**20:.0f}",
            f"{(peak - before) / mapped:.2f}",
        ]
    ]
    table(["before: MiB", "added by fit: MiB", "mapped rows in float32: MiB", "ratio"], rows)


def report_peak():
    """Print the resident bytes before a fit and at its peak (Linux keeps the high-water mark)."""
    X, y, _, _ = load("mnist")
    mnist_model(50).fit(X[:5000], y[:5000])
    gc.collect()
    before = psutil.Process().memory_info().rss
    with open("/proc/self/clear_refs", "w") as mark:
        mark.write("5")
    mnist_model(1000).fit(X, y)
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    print(before, peak)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peak", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with threadpool_limits(1):
        if options.peak:
            report_peak()
            return
        mnist(options.repeats)
        coil(options.repeats)
    peak_memory()
    import_times(options.repeats)


if __name__ == "__main__":
    main()
