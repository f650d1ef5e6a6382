"""Fixtures of the command's tests: rows in files, and a model of them."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from command import QUICK, called


@pytest.fixture(scope="module")
def data(tmp_path_factory):
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


@pytest.fixture(scope="module")
def model(data):
    """Return a model of the training rows, learned in chunks, with ids."""
    path = data / "model.fbt"
    called("train", data / "train.csv", "-t", "kind", "--id", "id", "-o", path, "--chunk", 100, *QUICK)
    return path
