"""The decision of several members with different half-lives: log-probabilities, added up with trust as weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from .._arrays import Array
from ..model import _pair_loops
from ..model.decision import Decision, PairRule
from ._loops import add_chances
from .first_features import used_columns, with_all_columns

RATE = 0.01  # step length of trust
_FEW = 4  # rows up to which a loop is faster than BLAS


@dataclass(frozen=True)
class CommitteeRule:
    """The decision rule of a committee, with the methods of `PairRule`."""

    least_chance: ClassVar[float] = _pair_loops.LEAST_CHANCE

    decision: Decision
    trust: Array
    parts: Sequence[Array]
    n_columns: int

    def scores(self, rows: Array) -> Array:
        """Return log-probabilities of the classes (n, K), up to a constant for each row."""
        total = np.zeros((len(rows), len(self.parts[0])))
        if len(rows) <= _FEW:
            add_chances(np.ascontiguousarray(rows), tuple(self.parts), self.trust, total)
            return total
        for trust, planes in zip(self.trust, self.parts, strict=True):
            if trust > 0:
                total += trust * PairRule(self.decision, planes).log_chances(used_columns(rows, planes.shape[2]))
        return total

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


def log_chances(values: Array) -> Array:
    """Return log-probabilities of the classes from plane values (n, K, K), without offsets; overwrites the values."""
    _pair_loops.plain_margins(values)
    chances: Array = _pair_loops.log_chances(values)
    return chances
