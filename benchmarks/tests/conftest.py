"""Small data sets under the names of the large ones."""

import numpy as np
import pytest


@pytest.fixture
def small_data(tmp_path, monkeypatch):
    """Return a data folder with sets of four clouds, and streams of the same rows."""
    random = np.random.default_rng(0)
    for part in ("streams", "synthetic", "tables"):
        (tmp_path / part).mkdir()
    y = random.integers(0, 4, 1_200)
    X = (random.normal(size=(1_200, 6)) + 4 * np.eye(4, 6)[y]).astype(np.float32)
    for name in ("border", "overlap", "letter", "coil", "mnist", "chest_accel_win", "tables/german_credit"):
        Z = {"mnist": 255, "coil": 0.05}.get(name, 1) * X  # for their gamma, which is fixed
        np.savez(tmp_path / f"{name}.npz", X_train=Z[:900], y_train=y[:900], X_test=Z[900:], y_test=y[900:])
    np.savez(tmp_path / "streams" / "keystroke.npz", X=X, y=y)
    np.savez(tmp_path / "streams" / "chest_accel.npz", X=X, y=y, subject=np.repeat([1, 2, 3], 400))
    np.savez(tmp_path / "synthetic" / "SEA_1M.npz", X=X[:, :3], y=y % 2)
    monkeypatch.setenv("FBTWSVM_DATA", str(tmp_path))
    return tmp_path
