"""A map that takes the place of another one: how sums over rows that are not kept are carried over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from .._arrays import Array
from .._linalg import inverse_of_lower, lower_factor
from .mapping import Mapping
from .standard_columns import StandardColumns

_RIDGE = 1e-3  # of the regression from old features to new ones, for each row


@dataclass(frozen=True)
class NewMap:
    """A new map, and how features of the old one turn into its own.

    mapping  the new map
    change   (D', D): h' is about change h
    missed   (D', D'): what that misses in second moments, on average for a row
    """

    mapping: Mapping
    change: Array
    missed: Array


def new_landmarks(old: Mapping, landmarks: Any, columns: StandardColumns | None) -> NewMap:
    """Return the map with other landmarks, and other standardised columns.

    The old map is z = N'k(L, x).  With it, k(L', x) of the new landmarks L' is about Z(L') z, so z' = N''Z(L') z.
    """
    transformer = old.transformer.with_landmarks(landmarks)
    mapped = replace(old, columns=None).rows(transformer.landmarks_)[:, :-1].astype(np.float64)
    features = transformer.normalisation_.astype(np.float64).T @ mapped
    mapping = replace(old, transformer=transformer, columns=columns)
    change = _with_columns(features, np.zeros(len(features)), old.columns, columns)
    return NewMap(mapping, change, np.zeros((len(change), len(change))))


def new_kernel(old: Mapping, transformer: Any, rounds: int, columns: StandardColumns | None, X: Array) -> NewMap:
    """Return a map with another kernel; the rows X, as many as there are, show how its features follow from the old."""
    mapping = replace(old, transformer=transformer, rounds=rounds, columns=columns)
    plain_old, plain_new = (replace(each, columns=None).rows(X).astype(np.float64) for each in (old, mapping))
    after, before = plain_new[:, :-1], plain_old
    ridge = _RIDGE * len(X)
    factor = lower_factor(before.T @ before, "A feature map returned NaN or infinity.", ridges=(ridge, 10.0 * ridge))
    found = cho_solve((factor, True), before.T @ after).T
    # What is missed on these rows is less than on others, by how many parameters the regression has in effect.
    n_parameters = len(factor) - ridge * float(np.square(inverse_of_lower(factor)).sum())
    share = min(0.9, n_parameters / len(X))
    apart = (after - before @ found.T) * np.sqrt((1.0 + share) / (1.0 - share))
    change = _with_columns(found[:, :-1], found[:, -1], old.columns, columns)
    missed = np.zeros((len(change), len(change)))
    # Products of what is found and what is missed do not vanish: with a ridge r, their sum is r found found'.
    missed[: len(found), : len(found)] = apart.T @ apart / len(X) + 2.0 * _RIDGE * found @ found.T
    return NewMap(mapping, change, missed)


def columns_change(old: StandardColumns, new: StandardColumns) -> Array:
    """Return the change of rows [columns, 1] to another standardisation; what was cut off stays so."""
    return _with_columns(np.zeros((0, 0)), np.zeros(0), old, new)


def _with_columns(features: Array, bias: Array, old: StandardColumns | None, new: StandardColumns | None) -> Array:
    """Return the change of whole rows [features, columns, 1] from that of the features and their bias."""
    n_new, n_old = features.shape
    n_plain = 0 if new is None else len(new)
    change = np.zeros((n_new + n_plain + 1, n_old + n_plain + 1))
    change[:n_new, :n_old], change[:n_new, -1], change[-1, -1] = features, bias, 1.0
    if new is not None and old is not None:
        factors, shifts = new.change_from(old)
        places = np.arange(n_plain)
        change[n_new + places, n_old + places], change[n_new + places, -1] = factors, shifts
    return change
