"""The one Cholesky factorisation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from ._arrays import Array


def lower_factor(matrix: Array, message: str, ridges: Sequence[float] = (0.0,)) -> Array:
    """Return L with L L' = matrix, in float64; with several ridges the first of matrix + ridge I that has a factor.

    A single ridge of zero uses the matrix up.  Raises ValueError with the message where there is no factor.
    """
    for ridge in ridges:
        system = matrix if ridges == (0.0,) else matrix + ridge * np.eye(len(matrix))
        try:
            # The transpose of a symmetric matrix is itself, in the order that LAPACK can overwrite.
            factor: Array = cholesky(system.T, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return factor
    raise ValueError(message)


def is_definite(matrix: Array) -> bool:
    """Whether a symmetric matrix is positive definite; it is used up."""
    try:
        lower_factor(matrix, "")
    except ValueError:
        return False
    return True
