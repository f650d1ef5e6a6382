"""The main cases of fit: data, features and width, all in float32."""

from dataclasses import dataclass
from typing import Any

from sklearn.preprocessing import StandardScaler

from benchmarks.data import load, load_stream
from fbtwsvm import FBTWSVM

QUICK_ROWS = 1_200
QUICK_FEATURES = 60


@dataclass(frozen=True)
class Data:
    """Training rows, test rows where there is such a part, and how they are mapped."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    gamma: float
    n_components: int

    @property
    def mapped_bytes(self):
        """Bytes of all mapped rows in float32."""
        return 4 * len(self.X) * self.n_components


@dataclass(frozen=True)
class Case:
    """A data set with a number of Nystroem features; a stream has a number of rows and no test part."""

    dataset: str
    n_components: int
    gamma: float | None  # None: half of 1 / (columns x variance)
    most: float  # wanted: fit over floor on one thread
    stream_rows: int | None = None

    def load(self, *, quick=False):
        """Return the data; the quick one is the first rows of it."""
        X_test = y_test = None
        if self.stream_rows:
            X, y = load_stream(self.dataset, self.stream_rows)
            X = StandardScaler().fit_transform(X)
        else:
            X, y, X_test, y_test = load(self.dataset)
        n_components = self.n_components
        if quick:
            X, y, n_components = X[:QUICK_ROWS], y[:QUICK_ROWS], QUICK_FEATURES
        gamma = self.gamma or 0.5 / (X.shape[1] * float(X.var()))
        return Data(X, y, X_test, y_test, gamma, n_components)


CASES = {
    "mnist, 1,000": Case("mnist", 1_000, 0.02, 1.5),
    "mnist, 2,400": Case("mnist", 2_400, 0.02, 1.5),
    "covtype": Case("covtype", 500, 1 / 108, 2.0, stream_rows=500_000),
    "SEA": Case("SEA_1M", 300, 0.3, 2.0, stream_rows=1_000_000),
    "isolet": Case("isolet", 1_000, None, 2.0),
}


def model(data, n_jobs):
    """Return the unfitted model of a case."""
    return FBTWSVM(
        feature_map="nystroem",
        n_components=data.n_components,
        gamma=data.gamma,
        random_state=0,
        n_jobs=n_jobs,
    )


def prepare_fit(case, quick):
    """Return the fit of a case on one thread, ready to be measured in a process of its own."""
    data = CASES[case].load(quick=quick)
    model(data, 1).fit(data.X, data.y)  # compile what this very case needs
    return lambda: model(data, 1).fit(data.X, data.y)
