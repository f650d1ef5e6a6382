"""The tuned SVC that FBTWSVM() is compared with; its results do not depend on our code and are kept with --resume."""

import time

import numpy as np
import sklearn
from sklearn.model_selection import train_test_split

from benchmarks.accuracy.tuned import FACTORS, PRICES, tuned_svc
from benchmarks.defaults.sets import keeps_its_split, split
from benchmarks.harness.measure import threads
from benchmarks.harness.table import progress

MOST_ROWS = 5_000  # a larger training part is tuned on so many of its rows
COLUMNS = ("dataset", "seed", "accuracy", "cpu_seconds", "tuning_rows", "settings")


def measure(name, seed, quick, again):
    """Return what the record says of one split."""
    X, y, X_test, y_test = split(name, seed, quick=quick, again=again)
    rows = np.arange(len(y))
    if len(y) > MOST_ROWS:
        rows, _ = train_test_split(rows, train_size=MOST_ROWS, stratify=y, random_state=seed)
    grid = {"factors": FACTORS[3:6:2], "prices": PRICES[:2]} if quick else {}
    start = time.process_time()
    model, settings = tuned_svc(X, y, rows, **grid)
    seconds = time.process_time() - start
    settings = {key: float(value) for key, value in settings.items()}
    return {"accuracy": 100 * model.score(X_test, y_test), "cpu_seconds": seconds, "tuning_rows": len(rows),
            "settings": settings}  # fmt: skip


def results(plan, sets, seeds, *, again=False):
    """Return the record of the SVC with all these sets; one seed where a set keeps its split.

    With `again`, large sets are split again as well.
    """
    part = "metric_svc" if again else "default_svc_rival"
    record = plan.record(part, COLUMNS, version=f"sklearn-{sklearn.__version__}")
    with threads(1):
        for name in sets:
            for seed in range(1 if keeps_its_split(name, plan.quick) and not again else seeds):
                if not record.select(dataset=name, seed=seed):
                    progress(f"{name}: tuning SVC, seed {seed}")
                    record.add(dataset=name, seed=seed, **measure(name, seed, plan.quick, again))
    return record
