"""Several machines of different half-lives that decide together: log-chances of the classes, added up by trust."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import softmax

from .._arrays import Array
from ..model import _pair_loops
from ..model.decision import Decision, PairRule

RATE = 0.01  # how fast trust moves


@dataclass(frozen=True)
class CommitteeRule:
    """The decision rule of a committee; its methods are those of `PairRule`."""

    decision: Decision
    trust: Array
    planes: Sequence[Array]

    def scores(self, rows: Array) -> Array:
        """Log-chances of the classes (n, K)."""
        total = np.zeros((len(rows), len(self.planes[0])))
        for trust, planes in zip(self.trust, self.planes, strict=True):
            if trust > 0:
                total += trust * PairRule(self.decision, planes).log_chances(rows)
        return total

    def winners(self, rows: Array) -> Array:
        """Index of the class with the best chance."""
        return np.asarray(self.scores(rows).argmax(axis=1))

    def margins(self, rows: Array) -> Array:
        """Log-odds of the second of two classes."""
        scores = self.scores(rows)
        return np.asarray(scores[:, 1] - scores[:, 0])

    def probabilities(self, rows: Array) -> Array:
        """Chances of the classes."""
        return np.asarray(softmax(self.scores(rows), axis=1))


def log_chances(values: Array) -> Array:
    """Log-chances of the classes from plane values (n, K, K), compared as they are; the values are used up."""
    plain = _plain(values.shape[1])
    _pair_loops.pair_margins(values, plain.offsets, plain.slopes)
    chances: Array = _pair_loops.log_chances(values)
    return chances


@cache
def _plain(n_classes: int) -> Decision:
    """Return the rule that compares plain values."""
    return Decision.plain(n_classes, "vote", "value")
