"""Members of a committee that use the first features of a nested map only, and the bias, which is the last column."""

from __future__ import annotations

import numpy as np

from .._arrays import Array


def used_columns(rows: Array, n_columns: int) -> Array:
    """Return the columns of mapped rows that a member with so many columns uses: the first features, and the bias."""
    if rows.shape[1] == n_columns:
        return rows
    used = np.empty((len(rows), n_columns), dtype=rows.dtype)
    used[:, :-1], used[:, -1] = rows[:, : n_columns - 1], rows[:, -1]
    return used


def with_all_columns(planes: Array, n_columns: int) -> Array:
    """Return planes with so many columns: zero in features that are not used."""
    if planes.shape[2] == n_columns:
        return planes
    every = np.zeros((*planes.shape[:2], n_columns), dtype=planes.dtype)
    every[..., : planes.shape[2] - 1], every[..., -1] = planes[..., :-1], planes[..., -1]
    return every
