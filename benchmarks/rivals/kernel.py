"""The RBF kernel for the compiled loops of the rivals."""

import math

import numba as nb
import numpy as np


@nb.njit(cache=True, fastmath=True)
def similarity(x, z, gamma):
    """Return exp(-gamma ||x - z||^2)."""
    distance = 0.0
    for j in range(x.shape[0]):
        distance += (x[j] - z[j]) ** 2
    return math.exp(-gamma * distance)


def rbf(X, Z, gamma):
    """Return the matrix of similarities, by one product."""
    squares = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2.0 * (X @ Z.T)
    return np.exp(-gamma * np.maximum(squares, 0.0))
