"""Shared fixtures: data sets from the folder named by FBTWSVM_DATA, and small problems."""

import os
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from hypothesis import settings

matplotlib.use("Agg")
settings.register_profile("fbtwsvm", deadline=None)  # the first call of a compiled function compiles it
settings.load_profile("fbtwsvm")


@pytest.fixture
def data_folder():
    """Folder with the data sets; without one the test is skipped, or fails where it must run."""
    folder = os.environ.get("FBTWSVM_DATA")
    if not folder:
        if os.environ.get("FBTWSVM_REQUIRE_DATA"):
            pytest.fail("FBTWSVM_DATA is not set, and FBTWSVM_REQUIRE_DATA says that these tests must run")
        pytest.skip("FBTWSVM_DATA is not set: point it to the folder with the data sets")
    return Path(folder)


@pytest.fixture
def dataset(data_folder):
    """Return a loader (name -> X_train, y_train, X_test, y_test) in float32."""

    def load(name):
        with np.load(data_folder / f"{name}.npz") as data:
            parts = [data[key] for key in ("X_train", "y_train", "X_test", "y_test")]
        return parts[0].astype(np.float32), parts[1], parts[2].astype(np.float32), parts[3]

    return load


@pytest.fixture
def blobs():
    """Three overlapping clouds of unequal size in four columns."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(3, 4))
    X = np.concatenate([random.normal(c, 0.8, size=(n, 4)) for c, n in zip(centres, (60, 45, 30), strict=True)])
    y = np.repeat(["ant", "bee", "cat"], (60, 45, 30))
    order = random.permutation(len(X))
    return X[order], y[order]


def _address(variable):
    """Return the address of a server, or skip; where servers are required, fail."""
    address = os.environ.get(variable)
    if not address:
        if os.environ.get("FBTWSVM_REQUIRE_SERVERS"):
            pytest.fail(f"{variable} is not set, and FBTWSVM_REQUIRE_SERVERS says that these tests must run")
        pytest.skip(f"{variable} is not set: start the servers with .ci/servers start")
    return address


@pytest.fixture(scope="session")
def postgres():
    """Address of a running PostgreSQL server."""
    return _address("FBTWSVM_TEST_POSTGRES")


@pytest.fixture(scope="session")
def redis_server():
    """Address of a running Redis server."""
    return _address("FBTWSVM_TEST_REDIS")
