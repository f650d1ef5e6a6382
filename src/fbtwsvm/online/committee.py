"""The decision of several members with different half-lives: log-probabilities, added up with trust as weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from .._arrays import Array
from ..model import _pair_loops
from ..model.decision import Decision, PairRule

RATE = 0.01  # step length of trust


@dataclass(frozen=True)
class CommitteeRule:
    """The decision rule of a committee, with the methods of `PairRule`."""

    least_chance: ClassVar[float] = _pair_loops.LEAST_CHANCE

    decision: Decision
    trust: Array
    planes: Sequence[Array]

    def scores(self, rows: Array) -> Array:
        """Return log-probabilities of the classes (n, K), up to a constant for each row."""
        total = np.zeros((len(rows), len(self.planes[0])))
        for trust, planes in self.members():
            total += trust * PairRule(self.decision, planes).log_chances(rows)
        return total

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
    plain = _plain(values.shape[1])
    _pair_loops.pair_margins(values, plain.offsets, plain.slopes)
    chances: Array = _pair_loops.log_chances(values)
    return chances


@cache
def _plain(n_classes: int) -> Decision:
    """Return the rule without offsets."""
    return Decision.plain(n_classes, "vote", "value")
