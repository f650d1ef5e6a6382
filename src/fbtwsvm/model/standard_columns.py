"""The columns themselves, standardised, as further features beside those of a map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import Array, compiled

_MOST = 5.0  # standard deviations: values farther out are cut off, so that no row is long


@dataclass(frozen=True)
class StandardColumns:
    """Turn x into (x - centre) factor, cut off at five standard deviations; the mean of its squared norm is one.

    centre, factor  (F,): mean of each column, and one over its standard deviation times sqrt(F)
    """

    centre: Array
    factor: Array

    @classmethod
    def of(cls, X: Any) -> StandardColumns:
        """Return the standardisation that some rows give."""
        rows = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
        centre, spread = rows.mean(axis=0), rows.std(axis=0)
        spread = np.where(spread > 1e-9 * np.abs(centre), spread, 1.0)  # constant columns are not scaled
        return cls(centre, 1.0 / (spread * np.sqrt(rows.shape[1])))

    def __len__(self) -> int:
        return len(self.centre)

    @property
    def most(self) -> float:
        """The largest value of a standardised column."""
        return _MOST / float(np.sqrt(len(self)))

    def write(self, X: Any, out: Array) -> None:
        """Write the standardised columns of rows into `out` (n, F)."""
        rows = X.toarray() if sp.issparse(X) else X
        if isinstance(rows, np.ndarray) and rows.flags.c_contiguous:
            _standardise(rows, self.centre, self.factor, self.most, out)
        else:
            out[:] = np.clip((rows - self.centre) * self.factor, -self.most, self.most)

    def gradient(self, X: Array, weights: Array) -> Array:
        """Return the gradients of weights_i.(standardised x_i) at rows x_i: zero in columns that are cut off."""
        inside = np.abs((X - self.centre) * self.factor) < self.most
        slopes: Array = weights * self.factor * inside
        return slopes

    def change_from(self, other: StandardColumns) -> tuple[Array, Array]:
        """Return factors and shifts that turn columns standardised by `other` into those standardised by this one."""
        factors = self.factor / other.factor
        return factors, (other.centre - self.centre) * self.factor


@compiled
def _standardise(rows, centre, factor, most, out):
    """Write (x - centre) factor, cut off at `most`, for each row."""
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            out[i, k] = min(max((rows[i, k] - centre[k]) * factor[k], -most), most)
