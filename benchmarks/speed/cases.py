"""The main cases of fit: data, number of Nystroem features and gamma, all in float32."""

from types import SimpleNamespace

from sklearn.preprocessing import StandardScaler

from benchmarks.harness.data import gamma_scale, load, load_stream
from fbtwsvm import FBTWSVM

# case: (data, rows of a stream or None, features, gamma; None: half of "scale")
CASES = {
    "mnist, 1,000": ("mnist", None, 1_000, 0.02),
    "mnist, 2,400": ("mnist", None, 2_400, 0.02),
    "covtype": ("covtype", 500_000, 500, 1 / 108),
    "SEA": ("SEA_1M", 1_000_000, 300, 0.3),
    "isolet": ("isolet", None, 1_000, None),
}
QUICK_CASES = ("mnist, 1,000", "SEA")
QUICK_ROWS, QUICK_FEATURES = 1_200, 60


def load_case(case, *, quick=False):
    """Return X, y, X_test, y_test, gamma and n_components; a stream has no test part, a quick case few rows."""
    name, stream_rows, n_components, gamma = CASES[case]
    X_test = y_test = None
    if stream_rows:
        X, y = load_stream(name, stream_rows)
        X = StandardScaler().fit_transform(X)
    else:
        X, y, X_test, y_test = load(name)
    if quick:
        X, y, n_components = X[:QUICK_ROWS], y[:QUICK_ROWS], QUICK_FEATURES
    gamma = gamma or 0.5 * gamma_scale(X)
    return SimpleNamespace(X=X, y=y, X_test=X_test, y_test=y_test, gamma=gamma, n_components=n_components)


def model(data, n_jobs=1):
    """Return the unfitted model of a case."""
    shape = {"feature_map": "nystroem", "n_components": data.n_components, "gamma": data.gamma}
    return FBTWSVM(**shape, random_state=0, n_jobs=n_jobs)


def prepare_fit(case, quick):
    """Return the compiled fit of a case on one thread, to be measured in a process of its own."""
    data = load_case(case, quick=quick)
    model(data).fit(data.X, data.y)
    return lambda: model(data).fit(data.X, data.y)
