"""Data sets from the folder named by FBTWSVM_DATA, or from OpenML."""

import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler

# Sets whose columns are brought to mean 0 and variance 1; pixels, spectra and coded letters stay as they are.
SCALED = ("border", "overlap", "letter", "outdoor", "coil", "higgs7k", "chest_accel_win")
# name: (which one at OpenML, rows, columns, classes, rows of the smallest and largest class, training rows: the first)
OPENML = {
    "letter": ({"data_id": 6}, 20_000, 16, 26, (734, 813), 16_000),
    "isolet": ({"data_id": 300}, 7_797, 617, 26, (298, 300), 6_238),
    "usps": ({"data_id": 41082}, 9_298, 256, 10, (708, 1_553), 7_291),
    "mnist": ({"data_id": 554}, 70_000, 784, 10, (6_313, 7_877), 60_000),
    "gisette": ({"data_id": 41026}, 7_000, 5_000, 2, (3_500, 3_500), 6_000),
    "susy": ({"name": "SUSY", "version": 1}, 5_000_000, 18, 2, (2_287_827, 2_712_173), 4_500_000),
    "covtype": ({"data_id": 1596}, 581_012, 54, 7, (2_747, 283_301), 581_012),
}


class Missing(SystemExit):
    """A data set that cannot be found; a script that does not expect it ends with its message."""


def find(name):
    """Return the path of NAME.npz in the data folder, its streams/ or its synthetic/, or None."""
    folder = os.environ.get("FBTWSVM_DATA")
    places = [Path(folder) / part / f"{name}.npz" for part in ("", "streams", "synthetic")] if folder else []
    return next((place for place in places if place.exists()), None)


def load(name, *, scaled=False):
    """Return X_train, y_train, X_test, y_test in float32; `scaled` standardises the sets that need it."""
    place = find(name)
    if place:
        with np.load(place) as data:
            X, y, X_test, y_test = (data[key] for key in ("X_train", "y_train", "X_test", "y_test"))
    else:
        X, y = fetch(name)
        first = OPENML[name][5]
        X, y, X_test, y_test = X[:first], y[:first], X[first:], y[first:]
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    if scaled and name in SCALED:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    if name == "mnist":
        X, X_test = X / np.float32(255), X_test / np.float32(255)
    return X, y, X_test, y_test


def shuffled(name, seed):
    """Return a data set with its training rows in a random order."""
    X, y, X_test, y_test = load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], X_test, y_test


def load_stream(name, limit=None):
    """Return X in float32 and y of a stream or a synthetic set, its first `limit` rows."""
    place = find(name)
    if not place:
        X, y = fetch(name)
        return X[:limit].astype(np.float32), y[:limit]
    with np.load(place) as data:
        return data["X"][:limit].astype(np.float32), data["y"][:limit]


def unit_columns(X):
    """Return X with columns in [0, 1], as the first 500 rows have them."""
    return MinMaxScaler().fit(X[:500]).transform(X).astype(np.float32)


def gamma_scale(X):
    """Return gamma="scale": 1 / (number of columns x variance)."""
    return 1.0 / (X.shape[1] * float(X.var(dtype=np.float64)))


def fetch(name):
    """Return all rows and labels of a data set from OpenML, after checking its size."""
    where = f"{name}.npz is not in the folder named by FBTWSVM_DATA"
    if name not in OPENML:
        raise Missing(f"{where}, and OpenML does not have it.")
    which, rows, columns, n_classes, extremes, _ = OPENML[name]
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A network error occurred", UserWarning)  # the exception says it
            X, y = fetch_openml(**which, return_X_y=True, as_frame=False, n_retries=1)
    except (OSError, ValueError) as error:
        raise Missing(f"{where}, and fetching it from OpenML failed: {error}") from error
    _, y, counts = np.unique(y, return_inverse=True, return_counts=True)
    found = (*X.shape, len(counts), counts.min(), counts.max())
    expected = (rows, columns, n_classes, *extremes)
    if found != expected:
        words = "{:,} rows, {:,} columns, {} classes of {:,} to {:,} rows"
        raise Missing(f"{where}, and OpenML's is another one: {words.format(*found)}, not {words.format(*expected)}.")
    return (X.toarray() if hasattr(X, "toarray") else np.asarray(X)), y
