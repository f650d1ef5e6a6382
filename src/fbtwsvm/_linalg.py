"""The Cholesky factorisation and triangular systems, in one place, for arrays of NumPy and of other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.linalg.lapack import dtrtri

from ._arrays import Array
from ._namespace import device_of, is_foreign, library_of, namespace

_SMALL = 48  # columns up to which a triangular matrix is inverted by LAPACK
_BATCHED = 512  # columns up to which a device factors several matrices at once


def lower_factor(matrix: Array, message: str, ridges: Sequence[Any] = (0.0,)) -> Array:
    """Return the lower factor L with L L' = matrix + ridge I, in float64, for the first ridge that has one.

    The default ridge of zero overwrites the matrix.  Raises ValueError with the message if there is no factor.
    """
    if is_foreign(matrix):
        return cast(Array, _foreign_factor(matrix, message, ridges))
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


def _foreign_factor(matrix: Any, message: str, ridges: Sequence[Any]) -> Any:
    """Return the same for a matrix on a device, or for a stack of them; nothing is overwritten."""
    xp, errors = namespace(matrix), np.linalg.LinAlgError
    if library_of(matrix) == "torch":
        import torch

        errors = torch.linalg.LinAlgError
    for ridge in ridges:
        system = matrix + ridge * xp.eye(matrix.shape[-1], dtype=matrix.dtype, device=device_of(matrix))
        try:
            factor = xp.linalg.cholesky(system)
        except errors:
            continue
        if bool(xp.all(xp.isfinite(factor))):  # CuPy does not tell otherwise
            return factor
    raise ValueError(message)


def at_once(n_columns: int) -> bool:
    """Whether a device factors several matrices with so many columns faster at once than one after the other."""
    return n_columns <= _BATCHED


def solve_lower(factor: Any, right: Any, *, transposed: bool = False) -> Any:
    """Return L^-1 b, or L'^-1 b if `transposed`, for a lower triangular matrix; b is a vector or has columns.

    On a device there may be a stack of matrices, with a vector or columns for each of them.
    """
    if not is_foreign(factor):
        return solve_triangular(factor, right, lower=True, trans="T" if transposed else "N", check_finite=False)
    xp, is_vector = namespace(factor), right.ndim < factor.ndim
    columns = right[..., None] if is_vector else right
    system = xp.matrix_transpose(factor) if transposed else factor
    if library_of(factor) == "torch":
        import torch

        solved = torch.linalg.solve_triangular(system, columns, upper=transposed)
    elif library_of(factor) == "cupy" and factor.ndim == 2:
        from cupyx.scipy.linalg import solve_triangular as solve_on_device

        solved = solve_on_device(factor, columns, lower=True, trans="T" if transposed else "N")
    else:
        solved = xp.linalg.solve(system, columns)
    return solved[..., 0] if is_vector else solved


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
