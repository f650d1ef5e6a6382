"""New landmarks for a stream whose rows have moved away from the old ones."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .._arrays import Array
from ..model.mapping import Mapping

_GROWTH = 4  # a map with fewer landmarks than it may have is renewed after so many rows for each of them
_MEMORY = 100.0  # half-life, in rows, of the running mean of the residual
_FACTOR, _MARGIN = 0.5, 0.02  # how far the residual may rise above the expected one: a share of it, plus a constant


class ResidualMonitor:
    """Compare the residual 1 - ||z(x)||^2 of new rows with that of rows like the landmarks."""

    least_age: ClassVar[int] = int(_MEMORY)  # rows since the landmarks were chosen, before the running mean is used
    share: ClassVar[float] = 0.5 ** (1.0 / _MEMORY)  # factor by which the running mean forgets with each row

    def __init__(self, mapping: Mapping, n_components: int, clock: int = 0) -> None:
        self.expected = mapping.expected_residual()
        self.residual = np.array([self.expected])  # running mean of that of new rows
        self.since = clock  # when the landmarks were chosen
        # A map that started with too few rows gets more landmarks later.
        count = mapping.transformer.landmarks_.shape[0]
        self.grows_after = _GROWTH * count if count < n_components else None
        self.limit = self.expected + min(_FACTOR * self.expected + _MARGIN, 0.5 * (1.0 - self.expected))

    def alarm_after(self, rows: Array, clock: int) -> bool:
        """Whether a block of rows needs a new map, the last one at `clock`; updates the running mean.

        The rows are mapped, without other columns than the features.
        """
        residual = 1.0 - np.einsum("ij,ij->i", rows[-int(_MEMORY) :], rows[-int(_MEMORY) :]).astype(np.float64)
        self.residual = np.array([residual.mean()])
        age = clock - self.since
        grown = self.grows_after is not None and age >= self.grows_after
        return grown or (age >= _MEMORY and self.residual[0] > self.limit)


def choose_landmarks(groups: list[Any], count: int, random: np.random.Generator) -> Any:
    """Choose at most `count` distinct rows from groups of rows, as evenly as their sizes allow."""
    rows = _share_out(groups, count, random)
    return rows if sp.issparse(rows) else np.unique(rows, axis=0)


def _share_out(groups: list[Any], count: int, random: np.random.Generator) -> Any:
    """Choose `count` rows from groups, as evenly as their sizes allow."""
    sizes = np.array([group.shape[0] for group in groups])
    shares = np.zeros(len(groups), dtype=np.int64)
    left = min(count, int(sizes.sum()))
    while left:
        open_groups = np.flatnonzero(shares < sizes)
        each = max(1, left // len(open_groups))
        for g in open_groups:
            more = min(each, int(sizes[g] - shares[g]), left)
            shares[g] += more
            left -= more
    chosen = [
        group[np.sort(random.choice(group.shape[0], share, replace=False))]
        for group, share in zip(groups, shares, strict=True)
    ]
    return sp.vstack(chosen, format="csr") if sp.issparse(chosen[-1]) else np.concatenate(chosen)
