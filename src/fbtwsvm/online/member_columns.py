"""The columns of mapped rows that a member of a committee uses: some features in a row, and the bias at the end."""

from __future__ import annotations

import numpy as np

from .._arrays import Array


def used_columns(rows: Array, first: int, n_columns: int) -> Array:
    """Return the columns of mapped rows that a member uses: features from `first` on, and the bias."""
    if rows.shape[1] == n_columns:
        return rows
    used = np.empty((len(rows), n_columns), dtype=rows.dtype)
    used[:, :-1], used[:, -1] = rows[:, first : first + n_columns - 1], rows[:, -1]
    return used


def with_all_columns(planes: Array, first: int, n_columns: int) -> Array:
    """Return planes with all columns of mapped rows: zero in features that are not used."""
    n_own = planes.shape[2] - 1
    if n_own + 1 == n_columns:
        return planes
    every = np.zeros((*planes.shape[:2], n_columns), dtype=planes.dtype)
    every[..., first : first + n_own], every[..., -1] = planes[..., :-1], planes[..., -1]
    return every
