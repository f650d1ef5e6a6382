"""The decision of several members with different half-lives: log-probabilities, added up with trust as weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from .._arrays import Array
from ..model._pair_loops import LEAST_CHANCE, plain_log_chances
from ..model.decision import Decision, plane_value_tiles
from ._committee_loops import add_chances
from .first_features import used_columns, with_all_columns

RATE = 0.01  # step length of trust
_FEW = 4  # rows up to which a loop is faster than BLAS


class RecentChances:
    """The last few mapped rows that were predicted, with the log-probabilities (n, E, K) by each member."""

    def __init__(self) -> None:
        self.pair: tuple[Array, Array] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle nothing of it."""
        return (RecentChances, ())


@dataclass(frozen=True)
class CommitteeRule:
    """The decision rule of a committee, with the methods of `PairRule`."""

    least_chance: ClassVar[float] = LEAST_CHANCE

    decision: Decision
    trust: Array
    parts: Sequence[Array]
    n_columns: int
    recent: RecentChances = field(default_factory=RecentChances, compare=False)

    def scores(self, rows: Array) -> Array:
        """Return log-probabilities of the classes (n, K), up to a constant for each row."""
        n_classes = len(self.parts[0])
        total = np.zeros((len(rows), n_classes))
        if len(rows) <= _FEW:
            chances = np.empty((len(rows), len(self.parts), n_classes))
            add_chances(rows, tuple(self.parts), self.trust, chances, total)
            self.recent.pair = rows, chances
            return total
        for trust, planes in zip(self.trust, self.parts, strict=True):
            if trust > 0:
                tiles = plane_value_tiles(used_columns(rows, planes.shape[2]), planes)
                total += trust * np.concatenate([plain_log_chances(values) for values in tiles])
        return total

    def known_chances(self, rows: Array, unknown: Array) -> Array:
        """Return the log-probabilities (E, K) of one mapped row if it was predicted last, with these planes."""
        pair = self.recent.pair
        return pair[1][0] if pair is not None and pair[0] is rows else unknown

    @property
    def planes(self) -> list[Array]:
        """Planes of all members, with zeros in the columns that they do not use."""
        return [with_all_columns(part, self.n_columns) for part in self.parts]

    @property
    def shown_planes(self) -> Array:
        """Planes of the member that is trusted most."""
        return with_all_columns(self.parts[int(np.argmax(self.trust))], self.n_columns)

    def members(self) -> list[tuple[float, Array]]:
        """Return the planes of all trusted members, each with its trust."""
        return [(trust, planes) for trust, planes in zip(self.trust, self.planes, strict=True) if trust > 0]

    def winners(self, rows: Array) -> Array:
        """Return the index of the most probable class of each row."""
        return np.asarray(self.scores(rows).argmax(axis=1))

    def margins(self, rows: Array) -> Array:
        """Return the log-odds of the second of two classes."""
        scores = self.scores(rows)
        return np.asarray(scores[:, 1] - scores[:, 0])

    def probabilities(self, rows: Array) -> Array:
        """Return class probabilities (n, K)."""
        return np.asarray(softmax(self.scores(rows), axis=1))
