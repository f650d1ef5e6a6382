"""The main cases of fit: data, number of Nystroem features and gamma, all in float32."""

from dataclasses import dataclass
from typing import Any

from sklearn.preprocessing import StandardScaler

from benchmarks.harness.data import gamma_scale, load, load_stream
from fbtwsvm import FBTWSVM

QUICK_ROWS, QUICK_FEATURES = 1_200, 60


@dataclass(frozen=True)
class Data:
    """Training rows, test rows if there are any, and the map."""

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
    """A data set with a number of features; a stream has a number of rows and no test part."""

    dataset: str
    n_components: int
    gamma: float | None  # None: half of "scale"
    stream_rows: int | None = None

    def load(self, *, quick=False):
        """Return the data; the quick one is its first rows."""
        X_test = y_test = None
        if self.stream_rows:
            X, y = load_stream(self.dataset, self.stream_rows)
            X = StandardScaler().fit_transform(X)
        else:
            X, y, X_test, y_test = load(self.dataset)
        n_components = self.n_components
        if quick:
            X, y, n_components = X[:QUICK_ROWS], y[:QUICK_ROWS], QUICK_FEATURES
        return Data(X, y, X_test, y_test, self.gamma or 0.5 * gamma_scale(X), n_components)


CASES = {
    "mnist, 1,000": Case("mnist", 1_000, 0.02),
    "mnist, 2,400": Case("mnist", 2_400, 0.02),
    "covtype": Case("covtype", 500, 1 / 108, stream_rows=500_000),
    "SEA": Case("SEA_1M", 300, 0.3, stream_rows=1_000_000),
    "isolet": Case("isolet", 1_000, None),
}
QUICK_CASES = ("mnist, 1,000", "SEA")


def model(data, n_jobs=1):
    """Return the unfitted model of a case."""
    shape = {"feature_map": "nystroem", "n_components": data.n_components, "gamma": data.gamma}
    return FBTWSVM(**shape, random_state=0, n_jobs=n_jobs)


def prepare_fit(case, quick):
    """Return the fit of a case on one thread, compiled, to be measured in a process of its own."""
    data = CASES[case].load(quick=quick)
    model(data).fit(data.X, data.y)
    return lambda: model(data).fit(data.X, data.y)
