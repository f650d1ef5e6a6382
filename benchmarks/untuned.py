"""`FBTWSVM(random_state=0)`, nothing else set, beside an RBF SVC tuned by 3-fold grid search on the training part.

    FBTWSVM_DATA=... python -m benchmarks.untuned [names ...]

Most of the time goes into tuning the SVC: about half an hour for all sets.
"""

import argparse
import time

from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from benchmarks.data import load, progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.features.kernels import gamma_scale

STANDARDISED = ["border", "overlap", "letter", "outdoor", "coil", "higgs7k", "chest_accel_win"]
AS_THEY_ARE = ["dna", "usps", "isolet"]
LOG_LOSS = ["letter", "usps"]


def tuned_svc(X, y):
    scale = gamma_scale(X)
    grid = {"C": [1.0, 10.0, 100.0], "gamma": [scale * factor for factor in (1 / 16, 1 / 4, 1, 4, 16)]}
    return GridSearchCV(SVC(cache_size=1000), grid, cv=3).fit(X, y)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*STANDARDISED, *AS_THEY_ARE])
    names = parser.parse_args().names
    rows, losses = [], []
    for name in names:
        X, y, X_test, y_test = load(name, standardise=name in STANDARDISED)
        progress(f"{name}: FBTWSVM")
        start = time.perf_counter()
        model = FBTWSVM(random_state=0).fit(X, y)
        seconds = time.perf_counter() - start
        progress(f"{name}: SVC")
        start = time.perf_counter()
        svc = tuned_svc(X, y)
        svc_seconds = time.perf_counter() - start
        ours, theirs = 100 * model.score(X_test, y_test), 100 * svc.score(X_test, y_test)
        rows.append(
            [name, f"{theirs:.2f}", f"{ours:.2f}", f"{ours - theirs:+.2f}", f"{svc_seconds:.1f}", f"{seconds:.1f}"]
        )
        if name in LOG_LOSS:
            calibrated = CalibratedClassifierCV(SVC(**svc.best_params_), cv=3).fit(X, y)
            theirs, ours = (log_loss(y_test, m.predict_proba(X_test)) for m in (calibrated, model))
            losses.append([name, f"{theirs:.3f}", f"{ours:.3f}"])
    print("Test accuracy in %\n")
    table(["data", "SVC, tuned", "FBTWSVM, untuned", "difference", "SVC: s", "FBTWSVM: s"], rows)
    print("\nLog loss on the test part\n")
    table(["data", "SVC, calibrated", "FBTWSVM, untuned"], losses)


if __name__ == "__main__":
    main()
