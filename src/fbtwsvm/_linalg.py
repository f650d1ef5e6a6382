"""The Cholesky factorisation, in one place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from ._arrays import Array


def lower_factor(matrix: Array, message: str, ridges: Sequence[float] = (0.0,)) -> Array:
    """Return the lower factor L with L L' = matrix + ridge I, in float64, for the first ridge that has one.

    The default ridge of zero overwrites the matrix.  Raises ValueError with the message if there is no factor.
    """
    for ridge in ridges:
        system = matrix
        if ridges != (0.0,):
            system = matrix.copy()
            system[np.diag_indices_from(system)] += ridge
        try:
            # The transpose of a symmetric matrix is the same matrix, in the memory order that LAPACK can overwrite.
            factor: Array = cholesky(system.T, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return factor
    raise ValueError(message)


def is_definite(matrix: Array) -> bool:
    """Whether a symmetric matrix is positive definite; overwrites the matrix."""
    try:
        lower_factor(matrix, "")
    except ValueError:
        return False
    return True
