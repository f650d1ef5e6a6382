"""Rows that weigh so much that all others would be lost next to them in the sums of a class."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from .._arrays import Array
from ..model.rows import CheckedRows

_HEAVIEST = 1e12  # how many times as much as a usual row one may weigh; more, and digits of the others are lost


def refuse_heavy(rows: CheckedRows, heavy: Array, usual: float) -> None:
    """Raise ValueError if one of the rows weighs too much; `heavy` are their weights in the sums."""
    most = _HEAVIEST * usual
    if (heavy[0] if len(heavy) == 1 else heavy.max(initial=0.0)) <= most:  # False for NaN too
        return
    row = int(np.flatnonzero(~(heavy <= most))[0])
    values = np.abs(rows.X[[row]].toarray()[0] if sp.issparse(rows.X) else rows.X[row])
    raise ValueError(
        f"Row {row} weighs more than {_HEAVIEST:.0e} usual rows (weight {rows.weights[row]:g}, largest value "
        f"{values.max():g} in column {int(values.argmax())}): next to it, all others would be lost. Nothing was "
        "changed. Leave it out, or give it a usual weight and scale."
    )


def refuse_heavy_first_rows(rows: CheckedRows, before: CheckedRows | None, *, linear: bool) -> None:
    """Do the same in the warm-up, when there is no map yet: new rows are compared with the median of all so far."""
    heavy = _unmapped(rows, linear)
    every = heavy if before is None else np.concatenate([_unmapped(before, linear), heavy])
    present = every[every > 0]
    if len(present):
        refuse_heavy(rows, heavy, float(np.median(present)))


def _unmapped(rows: CheckedRows, linear: bool) -> Array:
    """Return the weights of rows, for the linear kernel times their squared norms."""
    weights: Array = rows.weights
    return weights * row_norms(rows.X, squared=True).astype(np.float64) if linear else weights
