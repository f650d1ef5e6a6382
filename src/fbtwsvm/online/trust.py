"""The trust in the members of a committee, by two ways to combine their answers, and what else follows their success.

By success: a member's weight falls by a constant factor with each row that it classifies wrongly, and all weights move
a little towards each other with each row, so that none is ever lost; the answer is the weighted mean of the
probabilities.  This follows the best member, also when another one becomes the best.

By likelihood: the answer is proportional to the product of the probabilities, each to the power of its weight, and the
weights take a gradient step of the log-likelihood with each row.  Together, members can so be better than each alone.

The probabilities of the committee are the mean of both ways, weighted by their success in the same manner.
"""

from __future__ import annotations

from copy import copy
from typing import ClassVar

import numpy as np

from .._arrays import Array
from ._committee_loops import IDLE_ROWS
from .undo import Undo

RATE = 0.01  # step length of the weights by likelihood
REST = 4  # an idle member is re-solved after so many times as many rows


class Trust:
    """What is known about the success of E members.

    weights   (2, E + 1): weight of each member by success and by likelihood, and at the end that of the way itself
    slopes    (E,): running mean squares of the gradients
    errors    (E, 4): counts of the detector of a rising error rate, see `drift`
    again     (E,): of members that are to start again, rows since their error rate began to rise; 0 for others
    idle      (E,): rows since a member last had more than a small share in the answer
    """

    ARRAYS: ClassVar[tuple[str, ...]] = ("weights", "slopes", "errors", "again", "idle")

    def __init__(self, n_members: int) -> None:
        self.weights = np.full((2, n_members + 1), 1.0 / n_members)
        self.weights[:, -1] = 0.5
        self.slopes = np.full(n_members, 0.1)
        self.errors = np.zeros((n_members, 4), dtype=np.int64)
        self.again = np.zeros(n_members, dtype=np.int64)
        self.idle = np.zeros(n_members, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.slopes)

    def copy(self) -> Trust:
        """Return a copy to change."""
        clone = copy(self)
        for name in self.ARRAYS:
            setattr(clone, name, getattr(self, name).copy())
        return clone

    def remember(self, undo: Undo, *, in_place: bool = True) -> None:
        """Save all of it in `undo`; if nothing changes `in_place`, the arrays stay the same."""
        undo.keep(self, *(self.ARRAYS if in_place else ()))

    @property
    def shares(self) -> Array:
        """The share of each member in the answer; all sum to 1."""
        success, likelihood = self.weights[:, :-1]
        total = float(likelihood.sum())
        ways: Array = self.weights[:, -1] / self.weights[:, -1].sum()
        return np.asarray(ways[0] * success + ways[1] * (likelihood / total if total > 0 else success))

    def rests(self, e: int) -> bool:
        """Whether member `e` has had no share in the answer for long: it is then re-solved less often."""
        return bool(self.idle[e] >= IDLE_ROWS)

    def merged(self, other: Trust, share: float) -> Trust:
        """Return the mean of two, of which this one has a share."""
        clone = self.copy()
        clone.weights = share * self.weights + (1.0 - share) * other.weights
        return clone
