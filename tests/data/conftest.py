"""Fixtures of the sources' tests: rows, and the model that every source of them must give."""

import pytest

from fbtwsvm.data.generators import make
from helpers import ROWS, learned, write


@pytest.fixture(scope="module")
def rows():
    """Return rows and labels that every format can hold to the last bit."""
    X, y = make("sea", seed=7).rows(ROWS)
    X[3, 1] = 0.0
    return X, y


@pytest.fixture(scope="module")
def reference(rows, tmp_path_factory):
    """Return the model of the Parquet file."""
    return learned(write("parquet", rows, tmp_path_factory.mktemp("reference")))
