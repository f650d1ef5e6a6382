"""Shared by many tests: small streams, and rows in every format that can be read."""

import gzip
import pickle
import sqlite3
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
from sklearn.datasets import dump_svmlight_file
from sklearn.frozen import FrozenEstimator

from fbtwsvm import FBTWSVM
from fbtwsvm.data.columns import Choices
from fbtwsvm.data.sources import in_chunks, open_source
from fbtwsvm.data.table_model import TableModel
from fbtwsvm.features import FourierFeatures

KEEP_ALL = {"accept": "all", "memory": None, "warm_up": 1, "decision": "value"}
FOURIER = {"feature_map": "fourier", "gamma": 0.1, "n_components": 30, "random_state": 0}


def clouds(n=240, n_classes=3, n_columns=3, seed=0, spread=1.0):
    """Return overlapping clouds in shuffled order."""
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n)
    X = random.normal(0.0, spread, size=(n, n_columns)) + random.normal(0.0, 2.0, size=(n_classes, n_columns))[y]
    return X, y


def fourier(X, n_components=25, seed=0):
    """Return a map that is the same for every model."""
    return FrozenEstimator(FourierFeatures(gamma=0.1, n_components=n_components, random_state=seed).fit(X))


def stream(model, X, y, size, **arguments):
    """Learn rows in chunks of a size; returns the model."""
    for first in range(0, len(y), size):
        chunk = slice(first, first + size)
        model.partial_fit(X[chunk], y[chunk], **{name: value[chunk] for name, value in arguments.items()})
    return model


def assert_same_answers(one, other, X):
    """Compare planes and all answers, bit for bit."""
    for method in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(one, method)(X), getattr(other, method)(X))
    np.testing.assert_array_equal(one.planes_, other.planes_)


def assert_nearly_same_answers(one, other, X):
    """Compare planes and all answers, but for rounding."""
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    for method in ("predict_proba", "decision_function"):
        np.testing.assert_allclose(getattr(one, method)(X), getattr(other, method)(X), rtol=1e-7, atol=1e-9)


def state(model):
    """Return everything a model holds, as bytes."""
    return pickle.dumps({name: vars(model)[name] for name in sorted(vars(model))})


class Every:
    """A drift detector that rings every so many rows."""

    def __init__(self, rows):
        self.rows, self.seen, self.drift_detected = rows, 0, False

    def update(self, error):
        """Count a row."""
        self.seen += 1
        self.drift_detected = self.seen % self.rows == 0


def noisy_rows(n=14_000):
    """Return rows of three classes that overlap."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4)).astype(np.float32)
    y = (X[:, 0] + np.sin(2 * X[:, 1]) > 0).astype(int) + (X[:, 2] > 1)
    flipped = random.random(len(y)) < 0.1
    y[flipped] = random.integers(0, 3, flipped.sum())
    return X, np.array(["low", "mid", "top"])[y]


class Chunks:
    """Chunks that can be read again."""

    def __init__(self, X, y, size=1000):
        self.X, self.y, self.size = X, y, size

    def __iter__(self):
        return ((self.X[i : i + self.size], self.y[i : i + self.size]) for i in range(0, len(self.X), self.size))


ROWS = 1300


def table(rows):
    X, y = rows
    return pa.table({**{f"x{j}": X[:, j] for j in range(3)}, "y": y})


def csv_text(rows, delimiter=","):
    X, y = rows
    lines = [delimiter.join(["x0", "x1", "x2", "y"])]
    lines += [delimiter.join([*map(repr, row.tolist()), str(label)]) for row, label in zip(X, y, strict=True)]
    return "\n".join(lines) + "\n"


def write(kind, rows, folder):
    """Write rows in one of the formats; returns the address."""
    X, y = rows
    path = folder / f"rows.{kind}"
    if kind in ("csv", "csv.gz", "csv.zst", "tsv"):
        text = csv_text(rows, "\t" if kind == "tsv" else ",").encode()
        if kind == "csv.gz":
            text = gzip.compress(text)
        elif kind == "csv.zst":
            with pa.CompressedOutputStream(str(path), "zstd") as sink:
                sink.write(text)
            return str(path)
        path.write_bytes(text)
    elif kind == "parquet":
        papq.write_table(table(rows), path, row_group_size=300)
    elif kind == "arrow":
        with pa.ipc.new_file(path, table(rows).schema) as sink:
            sink.write_table(table(rows), max_chunksize=170)
    elif kind == "ipc":
        with pa.ipc.new_stream(path, table(rows).schema) as sink:
            sink.write_table(table(rows), max_chunksize=170)
    elif kind == "libsvm":
        dump_svmlight_file(X, y, str(path), zero_based=False)
    elif kind == "arff":
        head = "% made by a test\n@RELATION sea\n" + "".join(f"@ATTRIBUTE x{j} REAL\n" for j in range(3))
        body = "\n".join(csv_text(rows).splitlines()[1:])
        path.write_text(f"{head}@attribute 'y' {{-1,1}}\n\n@data\n% first rows\n{body}\n")
    elif kind == "npy":
        np.save(path, np.column_stack([X, y]))
    elif kind == "npz":
        np.savez_compressed(path, X=X, y=y)
    elif kind == "part.npz":
        np.savez(path, X_train=X, y_train=y, X_test=X[:0], y_test=y[:0])
        return f"{path}:train"
    elif kind == "db":
        with closing(sqlite3.connect(path)) as base:
            base.execute("CREATE TABLE seen (number INTEGER PRIMARY KEY, x0 REAL, x1 REAL, x2 REAL, y INTEGER)")
            base.executemany("INSERT INTO seen (x0, x1, x2, y) VALUES (?, ?, ?, ?)", table_rows(rows))
            base.commit()
        return f"sqlite:///{path}?query=SELECT x0, x1, x2, y FROM seen ORDER BY number"
    return str(path)


def table_rows(rows):
    return [[*row.tolist(), int(label)] for row, label in zip(*rows, strict=True)]


def learn_table(model, table):
    """Learn a table as the command does."""
    model.learn(table)


def learned(address, target="y", drop=(), chunk=97, **options):
    """Learn a source in chunks."""
    estimator = FBTWSVM(n_components=40, warm_up=200, random_state=0)
    model = None
    for part in in_chunks(open_source(address, **options).tables(), chunk, first=200):
        model = model or TableModel.begin(part, Choices(target=target, drop=drop, precision="float64"), estimator)
        learn_table(model, part)
    return model
