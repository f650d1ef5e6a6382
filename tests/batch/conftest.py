"""Fixture of the tests of fits on many rows."""

import pytest

from helpers import noisy_rows


@pytest.fixture(scope="module")
def rows():
    """Return 7,000 rows of three classes that overlap."""
    return noisy_rows(7000)
