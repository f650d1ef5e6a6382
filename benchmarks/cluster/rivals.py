"""FBTWSVM on a Dask cluster beside other learners that train there.

dask-ml, LightGBM and XGBoost are not among the dependencies: pip install dask-ml lightgbm xgboost.
"""

import time
from importlib.util import find_spec

import dask.array as da
import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks.cluster.workers import cluster
from benchmarks.harness.data import gamma_scale, load_stream
from benchmarks.harness.job import run_apart
from benchmarks.harness.table import number, progress, table
from fbtwsvm import FBTWSVM

SETS = ("SEA_1M", "covtype")
PART = 20_000  # rows of a partition


def ours(X, y, n_components):
    return FBTWSVM(random_state=0).fit(X, y).predict


def ours_larger(X, y, n_components):
    return FBTWSVM(n_components=n_components, random_state=0).fit(X, y).predict


def incremental(X, y, n_components):
    """Return dask-ml's sequential pass of SGD over Fourier features, with all labels given beforehand."""
    from dask_ml.wrappers import Incremental

    sampler = RBFSampler(gamma=gamma_scale(X[:20_000].compute()), n_components=n_components, random_state=0)
    sampler.fit(np.zeros((1, X.shape[1])))
    classes = da.unique(y).compute()
    learner = Incremental(SGDClassifier(random_state=0))
    shape = {"chunks": (X.chunks[0], (n_components,)), "meta": np.empty((0, n_components), np.float32)}
    learner.fit(X.map_blocks(sampler.transform, **shape), y, classes=classes)
    return lambda rows: learner.estimator_.predict(sampler.transform(rows))


def lightgbm(X, y, n_components):
    from lightgbm import DaskLGBMClassifier

    learner = DaskLGBMClassifier(random_state=0, verbose=-1).fit(X, y)
    return learner.to_local().predict


def xgboost(X, y, n_components):
    from xgboost.dask import DaskXGBClassifier

    learner = DaskXGBClassifier(random_state=0).fit(X, y)
    booster = learner.get_booster()

    def predict(rows):
        import xgboost

        chances = booster.predict(xgboost.DMatrix(rows))
        return chances.argmax(axis=1) if chances.ndim == 2 else (chances > 0.5).astype(np.int64)

    return predict


# learner: (how it is trained, the package that it needs)
LEARNERS = {
    "FBTWSVM()": (ours, "fbtwsvm"),
    "FBTWSVM(n_components=1000)": (ours_larger, "fbtwsvm"),
    "dask-ml Incremental(SGD), 1,000 Fourier features": (incremental, "dask_ml"),
    "LightGBM": (lightgbm, "lightgbm"),
    "XGBoost": (xgboost, "xgboost"),
}


def job(name, learner, n_components, limit):
    """Yield accuracy and seconds of a learner on two workers; training rows are persisted there before."""
    X, y = load_stream(name, limit)
    y = np.unique(y, return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    half = 4 * len(y) // 5
    scaler = StandardScaler().fit(X[:half])
    X = scaler.transform(X).astype(np.float32)
    with cluster(2) as client:
        rows = [da.from_array(X[:half], chunks=(PART, -1)), da.from_array(y[:half], chunks=PART)]
        rows = client.persist(rows)
        LEARNERS[learner][0](*(part[: 2 * PART] for part in rows), n_components)  # compiles, starts
        begin = time.perf_counter()
        predict = LEARNERS[learner][0](*rows, n_components)
        seconds = time.perf_counter() - begin
        yield {"seconds": seconds, "accuracy": float(np.mean(predict(X[half:]) == y[half:])), "rows": half}


def run(plan):
    n_components, limit = plan.pick((1000, None), (30, 60_000))
    lines = []
    for name in plan.chosen(SETS):
        for learner, (_, package) in LEARNERS.items():
            progress(f"{name}: {learner}")
            if not find_spec(package):
                lines.append([name, "-", learner, f"not installed: {package}", "-"])
                continue
            arguments = {"name": name, "learner": learner, "n_components": n_components, "limit": limit}
            found = run_apart(job, arguments, plan.limit)[-1]
            if found["status"] != "ok":
                lines.append([name, "-", learner, found.get("why", found["status"]), "-"])
                continue
            accuracy = f"{100 * found['accuracy']:.2f}"
            lines.append([name, f"{found['rows']:,}", learner, accuracy, number(found["seconds"])])
    table(["data", "rows", "learner", "accuracy: %", "seconds"], lines, "Training on two workers, one thread each")
