"""The models that tools/golden.py records: small data from fixed seeds, and 95 ways to learn it.

Options are paired rather than multiplied out.  A configuration is a row of a table or a small function, and recordings
are compared by its name.  Only the public interface is used.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from fbtwsvm.drift import HoeffdingDrift
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import SkewedChi2Sampler
from sklearn.preprocessing import PolynomialFeatures

from fbtwsvm import FBTWSVM, FBTWSVMCV, load, save


class Data(NamedTuple):
    """Rows to learn from, in the order in which a stream gives them, and rows to answer for."""

    X: Any
    y: Any
    test: Any

    def chunks(self, size: int) -> list[tuple[Any, Any]]:
        """Return the rows in chunks."""
        return [(self.X[i : i + size], self.y[i : i + size]) for i in range(0, len(self.y), size)]


def clouds(n: int = 180, classes: int = 3, columns: int = 4, seed: int = 0, form: str = "float64") -> Data:
    """Make rows around one centre for each class; `form` is a precision, or "sparse", "positive", "twins", "texts"."""
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(n + 40) % classes)
    X = 1.5 * random.normal(size=(classes, columns))[y] + random.normal(size=(n + 40, columns))
    if form == "positive":
        X = np.abs(X)
    if form == "twins":
        X = np.round(X)
    if form == "texts":
        y = np.array(["one", "two", "three"])[y]
    if form == "sparse":
        X = sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    if form == "float32":
        X = X.astype(np.float32)
    return Data(X[:n], y[:n], X[n:])


def overlapping(n: int = 20_000) -> Data:
    """Make two classes of very many rows that lie over each other."""
    random = np.random.default_rng(1)
    y = np.arange(n + 40) % 2
    X = random.normal(size=(n + 40, 2)) + 0.7 * y[:, None]
    return Data(X[:n], y[:n], X[n:])


def drifting(n: int = 900, new: int = 0, classes: int = 3, form: str = "float64") -> Data:
    """Make a stream whose labels change places halfway; the class 3, if any, comes in the last `new` rows only."""
    data = clouds(n, classes, form=form)
    y = data.y.copy()
    y[n // 2 :] = (y[n // 2 :] + 1) % classes
    y[n - new :: 3] = 3 if new else y[n - new :: 3]
    return Data(data.X, y, data.test)


def model(**parameters: Any) -> Any:
    """Return a classifier with a fixed seed and one thread; GOLDEN_TOL is the tolerance of its planes."""
    solver = {"tol": float(os.environ["GOLDEN_TOL"]), "max_iter": 100_000} if "GOLDEN_TOL" in os.environ else {}
    return FBTWSVM(**{"random_state": 0, "n_jobs": 1, **solver, **parameters})


def small_stream(**parameters: Any) -> Any:
    """Return a classifier whose stream leaves its warm-up soon and has few features."""
    return model(**{"warm_up": 120, "n_components": 30, "memory": 40, "second_look": 20, **parameters})


def learn(learner: Any, chunks: list[tuple[Any, Any]], first_id: int | None = None) -> Any:
    """Give chunks to partial_fit, with numbers as ids if there is a first one."""
    for X, y in chunks:
        ids = None if first_id is None else range(first_id, first_id + len(y))
        learner.partial_fit(X, y, ids=ids)
        first_id = None if first_id is None else first_id + len(y)
    return learner


class Outcome(NamedTuple):
    """What a configuration has come to: a model, rows to answer for, and anything else worth keeping."""

    model: Any
    test: Any
    extra: dict[str, Any] = {}  # noqa: RUF012 (never changed)


FEATURES = {"n_components": 30, "gamma": 0.2}
SMALL_CHUNKS, ROW_BY_ROW = 37, 1
CONFIGURATIONS: dict[str, Callable[[], Outcome]] = {}

# name: (parameters, arguments of the data, weights of the rows or not)
BATCH: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "exact": ({}, {}, False),
    "exact-two": ({"decision": "value", "gamma": "scale"}, {"classes": 2}, True),
    "exact-distance-vote": ({"decision": "distance", "multiclass": "vote", "membership": "printed"}, {}, False),
    "exact-asked-for": ({"feature_map": "exact", "gamma": 0.5, "membership": "none"}, {}, True),
    "exact-float32": ({"mu": 0.8, "class_weight": "balanced"}, {"form": "float32"}, False),
    "exact-pairs": ({"C": (0.5, 2.0), "reg": (0.01, 0.1), "gamma": 0.3}, {"classes": 2}, False),
    "exact-texts": ({"class_weight": {"one": 2.0, "three": 0.5}, "gamma": "scale"}, {"form": "texts"}, False),
    "exact-twins": ({"tol": 1e-6}, {"form": "twins", "columns": 2}, True),
    "exact-sparse": ({"gamma": "scale"}, {"form": "sparse"}, False),
    "exact-laplacian": ({"kernel": "laplacian"}, {}, False),
    "exact-large-classes": ({"gamma": 0.3}, {"n": 1600, "classes": 2, "columns": 2}, False),
    "exact-many-classes": ({"gamma": 0.2}, {"n": 240, "classes": 28}, False),
    "nystroem": ({"n_components": 30}, {"n": 300}, False),
    "nystroem-kernel-form": ({"n_components": 120, "gamma": 0.2}, {"n": 130, "classes": 4}, False),
    "nystroem-float32": ({**FEATURES, "decision": "distance"}, {"n": 300, "form": "float32"}, True),
    "nystroem-sparse": ({**FEATURES, "decision": "value", "multiclass": "vote"}, {"n": 300, "form": "sparse"}, False),
    "nystroem-pairs": ({**FEATURES, "C": (2.0, 0.5), "class_weight": "balanced"}, {"n": 300, "classes": 2}, True),
    "nystroem-many-classes": ({**FEATURES, "n_components": 20}, {"n": 700, "classes": 26}, False),
    "nystroem-many-value-float32": (
        {**FEATURES, "n_components": 20, "decision": "value"}, {"n": 700, "classes": 26, "form": "float32"}, False
    ),
    "nystroem-many-vote": ({**FEATURES, "n_components": 20, "multiclass": "vote"}, {"n": 700, "classes": 26}, False),
    "fourier": ({**FEATURES, "feature_map": "fourier", "membership": "none"}, {"n": 300}, False),
    "fourier-laplacian": ({"kernel": "laplacian", "feature_map": "fourier", "n_components": 30}, {"n": 300}, True),
    "orthogonal-float32": ({**FEATURES, "feature_map": "orthogonal"}, {"n": 300, "form": "float32"}, False),
    "linear": ({"kernel": "linear", "membership": "printed"}, {"n": 300}, False),
    "linear-sparse": ({"kernel": "linear", "class_weight": {0: 3.0}}, {"n": 300, "form": "sparse"}, False),
    "chi2": ({"kernel": "chi2"}, {"form": "positive"}, False),
    "chi2-nystroem": ({"kernel": "chi2", "n_components": 30}, {"n": 300, "form": "positive"}, False),
    "intersection": ({"kernel": "intersection", "decision": "distance"}, {"form": "positive"}, True),
    "intersection-nystroem": ({"kernel": "intersection", "n_components": 20}, {"n": 300, "form": "positive"}, False),
    "skewed-chi2-nystroem": ({"kernel": "skewed_chi2", "n_components": 20}, {"n": 300, "form": "positive"}, False),
    "skewed-chi2": (
        {"kernel": "skewed_chi2", "feature_map": "fourier", "n_components": 30}, {"n": 300, "form": "positive"}, False
    ),
    "skewed-intersection": (
        {"kernel": "skewed_intersection", "feature_map": "fourier", "n_components": 30},
        {"n": 300, "form": "positive"},
        False,
    ),
    "own-kernel": ({"kernel": lambda A, B: (1.0 + A @ B.T) ** 2}, {}, False),
    "own-transformer": ({"feature_map": PolynomialFeatures(2)}, {"n": 300}, False),
    "grows-not": ({"gamma": "scale"}, {"n": 2400, "classes": 2}, False),
    "gamma-of-large-data": ({"n_components": 20}, {"n": 2400, "classes": 2, "form": "float32"}, False),
}  # fmt: skip

# name: (parameters, rows in a chunk, arguments of the stream)
STREAMS: dict[str, tuple[dict[str, Any], int, dict[str, Any]]] = {
    "stream-rows": ({}, ROW_BY_ROW, {"n": 420}),
    "stream-rows-half-life": ({"half_life": 80.0, "decision": "value"}, ROW_BY_ROW, {"n": 420}),
    "stream-rows-auto": ({"decay": "auto"}, ROW_BY_ROW, {"n": 300}),
    "stream-rows-all-kept": ({"accept": "all", "statistics": "kept"}, ROW_BY_ROW, {"n": 420}),
    "stream-rows-wide": ({"n_components": 100, "second_look": 0, "memory": 10}, ROW_BY_ROW, {"n": 300}),
    "stream-small": ({"forget_after": 2}, SMALL_CHUNKS, {}),
    "stream-small-half-life": ({"half_life": 150.0, "accept": "inside"}, SMALL_CHUNKS, {}),
    "stream-small-auto": ({"decay": "auto", "class_weight": "balanced"}, SMALL_CHUNKS, {"n": 600}),
    "stream-small-decay-outside": ({"decay": 0.99, "accept": "outside", "statistics": "kept"}, SMALL_CHUNKS, {}),
    "stream-small-all": ({"accept": "all", "memory": None, "membership": "none"}, SMALL_CHUNKS, {"n": 500}),
    "stream-small-inside-kept": ({"accept": "inside", "statistics": "kept", "forget_after": 1}, SMALL_CHUNKS, {}),
    "stream-small-distance": ({"decision": "distance", "multiclass": "vote", "gamma": "scale"}, SMALL_CHUNKS, {}),
    "stream-small-linear": ({"kernel": "linear", "membership": "printed"}, SMALL_CHUNKS, {}),
    "stream-small-orthogonal": ({"feature_map": "orthogonal", "class_weight": {0: 2.0, 2: 0.5}}, SMALL_CHUNKS, {}),
    "stream-small-two-auto": ({"decay": "auto"}, SMALL_CHUNKS, {"n": 400, "classes": 2}),
    "stream-small-sparse": ({}, SMALL_CHUNKS, {"form": "sparse"}),
    "stream-small-float32": ({"feature_map": "fourier", "mu": 0.8}, SMALL_CHUNKS, {"form": "float32"}),
    "stream-short-half-life": ({"half_life": 2.0, "n_components": 100}, 25, {"n": 300}),
    "stream-medium": ({"accept": "outside"}, 600, {"n": 1800}),
    "stream-medium-auto": ({"decay": "auto"}, 600, {"n": 1800}),
    "stream-large": ({}, 1500, {"n": 4600}),
    "stream-large-half-life": ({"half_life": 1000.0, "class_weight": "balanced"}, 1500, {"n": 4600}),
    "stream-large-auto": ({"decay": "auto", "accept": "outside"}, 1500, {"n": 4600}),
    "stream-new-class": ({"gamma": 0.2}, SMALL_CHUNKS, {"new": 300}),
    "stream-new-class-auto": ({"decay": "auto"}, SMALL_CHUNKS, {"n": 600, "new": 300}),
    "stream-new-class-large": ({"feature_map": "fourier", "gamma": 0.2}, 1500, {"n": 4600, "new": 1400}),
    "stream-default-features": ({"n_components": "auto", "warm_up": "auto"}, 250, {"n": 1000}),
    "warm-up": ({"warm_up": 400, "decay": "auto"}, SMALL_CHUNKS, {"n": 200}),
    "warm-up-first-rows": ({"gamma": "scale"}, 10, {"n": 30}),
    "warm-up-one-class": ({"warm_up": 20}, ROW_BY_ROW, {"n": 1}),
}


# name: (parameters, rows, rows in a chunk, rows that are taken out again, whether rows have ids)
UNLEARN: dict[str, tuple[dict[str, Any], int, int, slice, bool]] = {
    "unlearn-values": ({"accept": "all", "memory": None, "gamma": 0.2}, 500, 50, slice(200, 240), False),
    "unlearn-fourier": ({"feature_map": "fourier", "memory": 15, "gamma": 0.2}, 500, 50, slice(200, 240), False),
    "unlearn-ids": ({"half_life": 200.0, "memory": 15}, 400, 50, slice(100, 300), True),
    "unlearn-kept": ({"statistics": "kept", "memory": 15}, 400, 50, slice(100, 300), True),
    "unlearn-committee": ({"decay": "auto", "memory": 15}, 500, 50, slice(150, 250), False),
    "unlearn-warm-up": ({}, 90, 10, slice(20, 45), False),
    "unlearn-warm-up-ids": ({}, 90, 10, slice(20, 45), True),
}

# name: (parameters of the classifier, arguments of the data, parameters of the search)
SEARCHES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "search-exact": ({}, {"n": 150}, {"gamma": 2, "C": [0.5, 2.0], "reg": [0.01]}),
    "search-fourier-log-loss": (
        {"feature_map": "fourier", "n_components": 20},
        {"n": 300},
        {"gamma": [0.1, 0.3], "C": [0.5, 2.0], "reg": 2, "membership": None, "scoring": "neg_log_loss"},
    ),
    "search-separate": (
        {"n_components": 20, "gamma": 0.2},
        {"n": 300, "classes": 2},
        {"gamma": None, "C": 2, "reg": 2, "mu": [0.5, 0.8], "separate": True, "sample": 200},
    ),
}

# name: parameters; two classes of very many rows, given as chunks
CHUNKS: dict[str, dict[str, Any]] = {
    "chunks-many": {"n_components": 20, "gamma": 0.5},
    "chunks-many-fourier": {
        "feature_map": "fourier", "n_components": 20, "gamma": 0.5, "class_weight": "balanced", "decision": "distance",
    },
}  # fmt: skip


def batch(parameters: dict[str, Any], arguments: dict[str, Any], weighted: bool) -> Outcome:
    data = clouds(**arguments)
    weights = np.random.default_rng(2).integers(0, 4, size=len(data.y)) / 2.0 if weighted else None
    return Outcome(model(**parameters).fit(data.X, data.y, sample_weight=weights), data.test)


def stream(parameters: dict[str, Any], size: int, arguments: dict[str, Any]) -> Outcome:
    data = drifting(**arguments)
    return Outcome(learn(small_stream(**parameters), data.chunks(size)), data.test)


def unlearn(parameters: dict[str, Any], n: int, size: int, part: slice, named: bool) -> Outcome:
    data = drifting(n)
    learner = learn(small_stream(**parameters), data.chunks(size), first_id=0 if named else None)
    report = learner.unlearn(data.X[part], data.y[part], ids=range(n)[part] if named else None)
    learn(learner, data.chunks(size)[:1], first_id=n if named else None)
    return Outcome(learner, data.test, {"unlearned": {"removed": report.removed, "remaining": report.remaining}})


def search(parameters: dict[str, Any], arguments: dict[str, Any], options: dict[str, Any]) -> Outcome:
    data = clouds(**arguments)
    found = FBTWSVMCV(model(**parameters), random_state=0, **options).fit(data.X, data.y)
    scores = {name: np.asarray(values).tolist() for name, values in found.cv_results_.items() if "time" not in name}
    return Outcome(found.best_estimator_, data.test, {"scores": scores, "best": found.best_params_})


def chunks(**parameters: Any) -> Outcome:
    data = overlapping(12_000)
    return Outcome(model(**parameters).fit(data.chunks(5000)), data.test)


for make, table in ((batch, BATCH), (stream, STREAMS), (unlearn, UNLEARN), (search, SEARCHES)):
    CONFIGURATIONS |= {name: partial(make, *row) for name, row in table.items()}
CONFIGURATIONS |= {name: partial(chunks, **parameters) for name, parameters in CHUNKS.items()}


def configuration(function: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """Enter a function under its name."""
    CONFIGURATIONS[function.__name__.replace("_", "-")] = function
    return function


@configuration
def frozen_map() -> Outcome:
    """A map that was fitted before."""
    data = clouds(form="positive")
    frozen = FrozenEstimator(SkewedChi2Sampler(n_components=25, random_state=0).fit(data.X))
    return Outcome(model(feature_map=frozen).fit(data.X, data.y), data.test)


@configuration
def grows() -> Outcome:
    """Classes in stripes so narrow that more features than usual pay."""
    X = np.random.default_rng(3).uniform(size=(2640, 2))
    y = (np.floor(14.0 * X).sum(axis=1) % 2).astype(int)
    return Outcome(model(gamma=200.0).fit(X[:2600], y[:2600]), X[2600:])


@configuration
def many_rows() -> Outcome:
    """Classes so large that planes are solved by Newton's method."""
    data = overlapping()
    return Outcome(model(n_components=20, gamma=0.5, membership="none").fit(data.X, data.y), data.test)


@configuration
def many_rows_weighted() -> Outcome:
    """The same in float32, with weights and pairs of C and reg, and a part of the rows at the border only."""
    data = overlapping()
    X = (data.X + 3.0 * data.y[:, None]).astype(np.float32)
    weights = np.random.default_rng(2).uniform(0.5, 1.5, len(data.y))
    parameters = {"n_components": 20, "gamma": 0.5, "C": (1.0, 0.5), "reg": (0.02, 0.01), "class_weight": {1: 2.0}}
    return Outcome(model(**parameters).fit(X, data.y, sample_weight=weights), data.test.astype(np.float32))


@configuration
def chunks_few() -> Outcome:
    """Chunks given to fit that are learned as one array."""
    data = clouds(300)
    return Outcome(model(gamma="scale").fit(data.chunks(77)), data.test)


@configuration
def stream_weights() -> Outcome:
    """Weights of rows on a stream, some of them zero, in float32."""
    data = drifting(400, form="float32")
    weights = np.random.default_rng(2).integers(0, 4, size=400) / 2.0
    learner = small_stream()
    for i in range(0, 400, 50):
        part = slice(i, i + 50)
        learner.partial_fit(data.X[part], data.y[part], sample_weight=weights[part])
    return Outcome(learner, data.test)


@configuration
def stream_moves() -> Outcome:
    """A stream that moves to where the landmarks are blind, so that they are chosen anew."""
    data = clouds(900)
    chunks = [(X + 0.5 * i, y) for i, (X, y) in enumerate(data.chunks(SMALL_CHUNKS))]
    return Outcome(learn(small_stream(gamma=0.2), chunks), data.test + 11.0)


@configuration
def drift_detector() -> Outcome:
    """A detector that sees the drift."""
    data = drifting(900)
    return Outcome(learn(small_stream(drift_detector=HoeffdingDrift(1e-2)), data.chunks(SMALL_CHUNKS)), data.test)


@configuration
def settled() -> Outcome:
    """Planes that settle when asked to, and learning after that."""
    data = drifting(500)
    learner = learn(small_stream(), data.chunks(33)[:-3]).settle()
    report = str(learner.memory_report())
    return Outcome(learn(learner, data.chunks(33)[-3:]).settle(), data.test, {"memory": report})


@configuration
def unlearn_after_fit() -> Outcome:
    """Rows of a fit."""
    data = clouds(200)
    learner = small_stream().fit(data.X, data.y)
    report = learner.unlearn(data.X[20:45], data.y[20:45])
    return Outcome(learner, data.test, {"unlearned": str(report)})


@configuration
def unlearn_class() -> Outcome:
    """A class of which nothing is left."""
    data = drifting(500, new=100)
    learner = learn(small_stream(accept="all", memory=None), data.chunks(50))
    report = learner.unlearn(data.X[data.y == 3], data.y[data.y == 3])
    return Outcome(learner, data.test, {"unlearned": str(report)})


@configuration
def merged() -> Outcome:
    """Two streams that become one, and go on."""
    data = drifting(600, new=150)
    one, other = (small_stream(feature_map="fourier", gamma=0.2, memory=15) for _ in range(2))
    learn(one, data.chunks(50)[:4], first_id=0)
    learn(other, data.chunks(50)[4:10], first_id=200)
    return Outcome(learn(one.merge(other), data.chunks(50)[10:], first_id=500), data.test)


@configuration
def partial_fit_after_fit() -> Outcome:
    """A stream that goes on from a fit with landmarks."""
    data = clouds(500)
    return Outcome(learn(small_stream().fit(data.X[:300], data.y[:300]), data.chunks(50)[6:]), data.test)


@configuration
def partial_fit_after_exact_fit() -> Outcome:
    """A stream that goes on from a fit with the exact kernel."""
    data = clouds(300)
    return Outcome(learn(model(memory=40).fit(data.X[:200], data.y[:200]), data.chunks(50)[4:]), data.test)


def reopened(learner: Any) -> Any:
    """Save a model and load it again."""
    with tempfile.TemporaryDirectory() as folder:
        save(learner, Path(folder) / "model.fbt")
        return load(Path(folder) / "model.fbt")


@configuration
def saved_stream(**parameters: Any) -> Outcome:
    """A stream that is saved and loaded in the warm-up and after it, and goes on each time."""
    data = drifting(600, new=200)
    learner = small_stream(**parameters)
    for number, chunk in enumerate(data.chunks(50)):
        learner = learn(learner, [chunk], first_id=50 * number)
        learner = reopened(learner) if number % 3 == 0 else learner
    return Outcome(learner, data.test)


CONFIGURATIONS["saved-committee"] = partial(saved_stream, decay="auto")


@configuration
def saved_fit() -> Outcome:
    """A fit that is saved, loaded and goes on as a stream."""
    data = clouds(400)
    learner = reopened(small_stream(class_weight={0: 2.0}).fit(data.X[:200], data.y[:200]))
    return Outcome(learn(learner, data.chunks(50)[4:]), data.test)
