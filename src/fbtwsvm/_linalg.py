"""The Cholesky factorisation and triangular systems, in one place, for arrays of NumPy and of other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.linalg.lapack import dtrtri

from ._arrays import Array
from ._namespace import is_foreign, namespace

_SMALL = 48  # columns up to which a triangular matrix is inverted by LAPACK


def lower_factor(matrix: Array, message: str, ridges: Sequence[float] = (0.0,)) -> Array:
    """Return the lower factor L with L L' = matrix + ridge I, in float64, for the first ridge that has one.

    The default ridge of zero overwrites the matrix.  Raises ValueError with the message if there is no factor.
    """
    if is_foreign(matrix):
        return _foreign_factor(matrix, message, ridges)
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


def _foreign_factor(matrix: Any, message: str, ridges: Sequence[float]) -> Any:
    """Return the same for a matrix on a device, which is never overwritten."""
    xp = namespace(matrix)
    for ridge in ridges:
        system = matrix + ridge * xp.eye(matrix.shape[0], dtype=matrix.dtype, device=matrix.device)
        try:
            factor = xp.linalg.cholesky(system)
        except (RuntimeError, np.linalg.LinAlgError):  # Torch and CuPy have errors of their own
            continue
        if bool(xp.all(xp.isfinite(factor))):  # CuPy does not tell otherwise
            return factor
    raise ValueError(message)


def solve_lower(factor: Any, right: Any, *, transposed: bool = False) -> Any:
    """Return L^-1 b, or L'^-1 b if `transposed`, for a lower triangular matrix; b is a vector or has columns."""
    if not is_foreign(factor):
        return solve_triangular(factor, right, lower=True, trans="T" if transposed else "N", check_finite=False)
    xp = namespace(factor)
    columns = right[:, None] if right.ndim == 1 else right
    system = factor.T if transposed else factor
    if type(factor).__module__.startswith("torch"):
        import torch

        solved = torch.linalg.solve_triangular(system, columns, upper=transposed)
    elif type(factor).__module__.startswith("cupy"):
        from cupyx.scipy.linalg import solve_triangular as solve_on_device

        solved = solve_on_device(factor, columns, lower=True, trans="T" if transposed else "N")
    else:
        solved = xp.linalg.solve(system, columns)
    return solved[:, 0] if right.ndim == 1 else solved


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
