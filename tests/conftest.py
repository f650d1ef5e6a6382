"""Shared fixtures: data sets from the folder named by FBTWSVM_DATA, and small problems."""

import os
from pathlib import Path

import matplotlib
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from hypothesis import settings

import fbtwsvm
from command import QUICK, called
from fbtwsvm import FBTWSVM
from fbtwsvm.data.generators import make
from fbtwsvm.solver import choose
from helpers import ROWS, clouds, learned, write

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


@pytest.fixture(name="X")
def unit_rows():
    """Return rows for feature maps: in the unit cube, with an empty histogram and twins."""
    random = np.random.default_rng(0)
    rows = random.uniform(0.0, 1.0, size=(80, 5))
    rows[3] = 0.0  # an empty histogram
    rows[7] = rows[8]  # twins
    return rows


@pytest.fixture
def newton_for_all(monkeypatch):
    """Send every plane of an ordinary fit through a sample and Newton's method; return the planes it was given."""
    for name, value in {
        "MANY_ROWS": 0, "_MOST_KERNEL_ROWS": 0, "_CROWDED": -1, "_SAMPLED": 4, "_SMALLEST_SAMPLE": 2,
        "_ROWS_OF_COLUMN": 0,
    }.items():  # fmt: skip
        monkeypatch.setattr(choose, name, value)
    solved, solve = [], choose.solve_newton

    def counted(task, solution):
        solved.append(task.start.todo)
        return solve(task, solution)

    monkeypatch.setattr(choose, "solve_newton", counted)
    return solved


@pytest.fixture(scope="session", name="rows")
def sea_rows():
    """Return rows and labels that every format can hold to the last bit."""
    X, y = make("sea", seed=7).rows(ROWS)
    X[3, 1] = 0.0
    return X, y


@pytest.fixture(scope="session")
def reference(rows, tmp_path_factory):
    """Return the model of the Parquet file."""
    return learned(write("parquet", rows, tmp_path_factory.mktemp("reference")))


@pytest.fixture(scope="module", name="data")
def command_data(tmp_path_factory):
    """Return a folder with rows: numbers, categories, ids and a label in words."""
    folder = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(0)
    n = 1500
    size, colour = random.normal(size=n), random.choice(["red", "green", "blue"], size=n)
    kind = np.where(size + (colour == "red") + 0.3 * random.normal(size=n) > 0.5, "yes", "no")
    table = pa.table(
        {"id": np.arange(n), "size": 10 * size, "colour": colour, "weight": random.normal(size=n), "kind": kind}
    )
    for name, part in (("train", slice(0, 1000)), ("more", slice(1000, 1250)), ("test", slice(1250, n))):
        pacsv.write_csv(table.slice(part.start, part.stop - part.start), folder / f"{name}.csv")
    return folder


@pytest.fixture(scope="module", name="model")
def command_model(data):
    """Return a model of the training rows, learned in chunks, with ids."""
    path = data / "model.fbt"
    called("train", data / "train.csv", "-t", "kind", "--id", "id", "-o", path, "--chunk", 100, *QUICK)
    return path


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Return a small model, and the bytes of its file."""
    X, y = clouds(600, n_columns=4)
    model = FBTWSVM(n_components=15, warm_up=60, memory=20, second_look=5, gamma=0.3, random_state=0)
    for first in range(0, 300, 10):
        model.partial_fit(X[first : first + 10], y[first : first + 10], ids=range(first, first + 10))
    path = tmp_path_factory.mktemp("good") / "model.fbt"
    fbtwsvm.save(model, path)
    return model, path.read_bytes()
