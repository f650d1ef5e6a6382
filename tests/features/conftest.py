"""Fixture of the feature maps' tests."""

import numpy as np
import pytest


@pytest.fixture
def X():
    random = np.random.default_rng(0)
    rows = random.uniform(0.0, 1.0, size=(80, 5))
    rows[3] = 0.0  # an empty histogram
    rows[7] = rows[8]  # twins
    return rows
