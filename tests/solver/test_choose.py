"""Which way solves which plane."""

import numpy as np

from fbtwsvm import FBTWSVM


def test_a_sharp_tolerance_is_kept_by_the_dual(rows):
    """Newton's method rounds the hinge, so it is not for gaps below 1e-4."""
    X, y = rows
    X, y = np.tile(X[:N].astype(np.float64), (2, 1))[:20_000], np.tile(y[:N] == "low", 2)[:20_000]
    fitted = FBTWSVM(kernel="linear", tol=1e-6, max_iter=100_000).fit(X, y)
    assert fitted.duality_gap_.max() <= 1e-6
