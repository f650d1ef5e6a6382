"""Which way solves which plane."""

import numpy as np

from fbtwsvm import FBTWSVM
from helpers import noisy_rows


def test_a_sharp_tolerance_is_kept_by_the_dual():
    """Newton's method rounds the hinge, so it is not for gaps below 1e-4."""
    X, y = noisy_rows(20_000)
    fitted = FBTWSVM(kernel="linear", tol=1e-6, max_iter=100_000).fit(X.astype(np.float64), y == "low")
    assert fitted.duality_gap_.max() <= 1e-6
