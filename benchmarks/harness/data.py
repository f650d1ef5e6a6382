"""Data sets from the folder named by FBTWSVM_DATA, or from OpenML."""

import os
from pathlib import Path

import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler

# Sets whose columns are brought to mean 0 and variance 1; pixels, spectra and coded letters stay as they are.
SCALED = ("border", "overlap", "letter", "outdoor", "coil", "higgs7k", "chest_accel_win")
# data: (which one at OpenML, training rows: the first)
OPENML = {
    "letter": ({"data_id": 6}, 16_000),
    "isolet": ({"data_id": 300}, 6_238),
    "usps": ({"data_id": 41082}, 7_291),
    "mnist": ({"data_id": 554}, 60_000),
    "gisette": ({"data_id": 41026}, 6_000),
    "susy": ({"name": "SUSY", "version": 1}, 4_500_000),
    "covtype": ({"data_id": 1596}, 581_012),
}


class Missing(SystemExit):
    """A data set that cannot be found; a script that does not expect it ends with its message."""


def find(name):
    """Return the path of NAME.npz in the data folder, its streams/, synthetic/ or tables/, or None."""
    folder = os.environ.get("FBTWSVM_DATA")
    places = [Path(folder) / part / f"{name}.npz" for part in ("", "streams", "synthetic", "tables")] if folder else []
    return next((place for place in places if place.exists()), None)


def load(name, *, scaled=False):
    """Return X_train, y_train, X_test, y_test in float32; `scaled` standardises the sets that need it."""
    place = find(name)
    if place:
        with np.load(place) as data:
            X, y, X_test, y_test = (data[key] for key in ("X_train", "y_train", "X_test", "y_test"))
    else:
        X, y = fetch(name)
        first = OPENML[name][1]
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
    mean = float(X.mean(dtype=np.float64))
    return 1.0 / float(((X - mean) ** 2).sum(axis=1).mean(dtype=np.float64))


def fetch(name):
    """Return all rows and labels of a data set from OpenML."""
    where = f"{name}.npz is not in the folder named by FBTWSVM_DATA"
    if name not in OPENML:
        raise Missing(f"{where}, and OpenML does not have it.")
    from sklearn.datasets import fetch_openml

    try:
        X, y = fetch_openml(**OPENML[name][0], return_X_y=True, as_frame=False, n_retries=1)
    except (OSError, ValueError) as error:
        raise Missing(f"{where}, and fetching it from OpenML failed: {error}") from error
    return (X.toarray() if hasattr(X, "toarray") else np.asarray(X)), np.unique(y, return_inverse=True)[1]
