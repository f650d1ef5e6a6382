"""Data sets from the folder named by FBTWSVM_DATA, and small helpers that all benchmarks share."""

import os
import sys
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler


def load(name, *, standardise=False):
    """Return X_train, y_train, X_test, y_test in float32; scaling is fitted on the training part."""
    folder = os.environ.get("FBTWSVM_DATA")
    if not folder:
        sys.exit("Set FBTWSVM_DATA to the folder with the data sets (border.npz and so on).")
    with np.load(Path(folder) / f"{name}.npz") as data:
        X, y, X_test, y_test = (data[key] for key in ("X_train", "y_train", "X_test", "y_test"))
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    if standardise:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    if name == "mnist":
        X, X_test = X / np.float32(255), X_test / np.float32(255)
    return X, y, X_test, y_test


def load_stream(name, limit=None):
    """Return X in float32 and y of a stream (or of a synthetic set), its first `limit` rows."""
    folder = os.environ.get("FBTWSVM_DATA")
    if not folder:
        sys.exit("Set FBTWSVM_DATA to the folder with the data sets (streams/elec2.npz and so on).")
    place = next(path for part in ("streams", "synthetic") if (path := Path(folder) / part / f"{name}.npz").exists())
    with np.load(place) as data:
        return data["X"][:limit].astype(np.float32), data["y"][:limit]


def table(header, rows):
    """Print rows as a Markdown table with aligned columns."""
    cells = [list(map(str, row)) for row in [header, *rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(header))]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    print("\n".join(lines), flush=True)


def progress(message):
    """Say on the error stream what is being done, so that tables stay clean."""
    print(f"... {message}", file=sys.stderr, flush=True)
