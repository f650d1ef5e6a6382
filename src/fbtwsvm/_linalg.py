"""The Cholesky factorisation, in one place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dtrtri

from ._arrays import Array

_SMALL = 48  # columns up to which a triangular matrix is inverted by LAPACK


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


def inverse_of_lower(lower: Array) -> Array:
    """Return the inverse of a lower triangular matrix, by halves: LAPACK's own routine is several times slower."""
    n = len(lower)
    if n <= _SMALL:
        return np.asarray(dtrtri(lower, lower=True)[0])
    half = n // 2
    inverse = np.zeros_like(lower, order="C")
    inverse[:half, :half] = inverse_of_lower(lower[:half, :half])
    inverse[half:, half:] = inverse_of_lower(lower[half:, half:])
    inverse[half:, :half] = -inverse[half:, half:] @ (lower[half:, :half] @ inverse[:half, :half])
    return inverse


def is_definite(matrix: Array) -> bool:
    """Whether a symmetric matrix is positive definite; overwrites the matrix."""
    try:
        lower_factor(matrix, "")
    except ValueError:
        return False
    return True
