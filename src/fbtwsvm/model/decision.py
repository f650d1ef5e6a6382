"""From plane values to an answer: the pair rule, the decision DAG or the vote, probabilities.

A pair (a, b) decides for a when  log|h.u_ab| - log|h.u_ba| <= t_ab.  The three rules are one family:
t = 0 compares plain values, t = log||w_ab|| - log||w_ba|| the distances of the paper, and a learned t
comes, with a slope for probabilities, from a logistic fit on the values that each row would get from
planes trained without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from .._arrays import Array
from . import _pair_loops

_START_SLOPE = 2.0
_STRENGTH = 1.0
_MANY_CLASSES = 24  # from here on visiting 2 (K - 1) planes beats one product with all K (K - 1)
_TILE_BYTES = 64 * 2**20  # plane values of one tile of rows


def norms(weights: Array, kernel: Array | None = None) -> Array:
    """||w|| of every plane; for coefficients c of training rows, ||w||^2 = c'Kc."""
    if kernel is None:
        return np.asarray(np.linalg.norm(weights, axis=2))
    return np.asarray(np.sqrt(np.maximum(np.einsum("abi,abi->ab", weights @ kernel, weights), 0.0)))


@dataclass(frozen=True)
class Decision:
    """The rule of every pair a < b, in upper triangles.

    `offsets` decide; `learned_offsets` and `slopes` make probabilities.
    """

    offsets: Array
    learned_offsets: Array
    slopes: Array
    multiclass: str
    calibrated: bool = False

    @classmethod
    def fit(
        cls, near: Array, far: Array, starts: Array, weights: Array, totals: Array, rule: str, multiclass: str
    ) -> Decision:
        """Learn offsets and slopes from the values that rows get from planes which do not know them.

        Rows are sorted by class; those without weight do not count.  The rows of a class stand for all of it, which
        weighs `totals`: otherwise the prior would be off where a large class is only sampled.  The offsets of the rule
        "distance" are set afterwards, from the norms of the planes.
        """
        judged = weights > 0
        sampled = np.array([weights[first:last].sum() for first, last in pairwise(starts)])
        owner = np.repeat(np.arange(len(totals)), np.diff(starts))
        weights = weights * np.divide(totals, sampled, out=np.zeros_like(sampled), where=sampled > 0)[owner]
        slope = _pair_loops.pooled_slope(near, far, owner, judged, weights, _START_SLOPE, _STRENGTH)
        learned, slopes = _pair_loops.fit_offsets(near, far, starts, judged, weights, slope, _STRENGTH)
        offsets = learned if rule == "calibrated" else np.zeros_like(learned)
        decision = cls(offsets, learned, slopes, multiclass, calibrated=rule == "calibrated")
        decision._check()
        return decision

    @classmethod
    def plain(cls, n_classes: int, multiclass: str, rule: str) -> Decision:
        """Compare plain values: what is known before there are rows to learn from."""
        zero = np.zeros((n_classes, n_classes))
        slopes = np.triu(np.full((n_classes, n_classes), _START_SLOPE), 1) + np.tril(np.ones((n_classes, n_classes)))
        return cls(zero, zero, slopes, multiclass, calibrated=rule == "calibrated")

    def with_distances(self, norms: Array) -> Decision:
        """Return the rule that decides by distances |h.u| / ||w||, the paper's rule."""
        # A plane with w = 0 has distance 0: its value, which is floored, is not divided by anything.
        log_norms = np.where(norms > 0, np.log(np.maximum(norms, _pair_loops.FLOOR)), 0.0)
        decision = replace(self, offsets=np.triu(log_norms - log_norms.T))
        decision._check()
        return decision

    def _check(self) -> None:
        if not (np.isfinite(self.offsets).all() and np.isfinite(self.slopes).all()):
            raise ValueError("The planes are not finite. Scale the columns of X, or raise reg.")


@dataclass(frozen=True)
class PairRule:
    """A decision rule with the planes that it compares."""

    decision: Decision
    planes: Array

    def winners(self, rows: Array) -> Array:
        """Index of the class that wins each row."""
        decision = self.decision
        if decision.multiclass == "dag" and len(self.planes) >= _MANY_CLASSES:
            winners: Array = _pair_loops.walk_planes(rows, self.planes, decision.offsets, decision.slopes)
            return winners
        return np.concatenate([self._winners(margins) for margins in self._tiles(rows, decision.offsets)])

    def scores(self, rows: Array) -> Array:
        """Scores (n, K) whose argmax is the winner: pairs won, and by how much.

        The DAG's winner wins every pair it plays but not always most pairs; in such a cycle it changes
        scores with the class that has won most.
        """
        return self._with_winner_first(rows, self.decision.offsets, _pair_loops.vote_scores)

    def margins(self, rows: Array) -> Array:
        """Margin of the first pair, for two classes: positive means the second class."""
        return np.concatenate([margins[:, 0, 1] for margins in self._tiles(rows, self.decision.offsets)])

    def probabilities(self, rows: Array) -> Array:
        """Class probabilities (n, K) from the learned offsets by pairwise coupling.

        When the same offsets decide, the winner is the most probable class: where coupling puts another first, which
        it does on rows whose pairs contradict each other, the two change places.
        """
        learned = self.decision.learned_offsets
        if self.decision.calibrated:
            return self._with_winner_first(rows, learned, _pair_loops.couple)
        return np.concatenate([_pair_loops.couple(margins) for margins in self._tiles(rows, learned)])

    def log_chances(self, rows: Array) -> Array:
        """Log-chances of the classes (n, K) by the closed form of coupling."""
        learned = self.decision.learned_offsets
        return np.concatenate([_pair_loops.log_chances(margins) for margins in self._tiles(rows, learned)])

    def margins_over(self, rows: Array, labels: Array) -> Array:
        """Margin (n, K) by which each class beats the row's own class; 0 for itself."""
        done, parts = 0, []
        for margins in self._tiles(rows, self.decision.learned_offsets):
            own = labels[done : done + len(margins)]
            parts.append(margins[np.arange(len(own)), own])
            done += len(margins)
        return np.concatenate(parts)

    def _winners(self, margins: Array) -> Array:
        """Index of the class that wins each row, from the margins of all pairs."""
        if self.decision.multiclass == "dag":
            return np.asarray(_pair_loops.walk_margins(margins))
        return np.asarray(_pair_loops.vote_scores(margins).argmax(axis=1))

    def _with_winner_first(self, rows: Array, offsets: Array, judge: Callable[[Array], Array]) -> Array:
        """Values of the classes by `judge`, the winner's being the largest; plane values are computed once."""
        # From many classes on the winner is found plane by plane, in `winners` too: rounding must be the same.
        one_by_one = self.decision.multiclass == "dag" and len(self.planes) >= _MANY_CLASSES
        values, winners = [], []
        for margins in self._tiles(rows, offsets):
            values.append(judge(margins))
            if not one_by_one:
                winners.append(self._winners(margins))
        first = self.winners(rows) if one_by_one else np.concatenate(winners)
        return _put_first(np.concatenate(values), first)

    def _tiles(self, rows: Array, offsets: Array) -> Iterator[Array]:
        """Yield the margins of all pairs, (rows of a tile, K, K)."""
        n_classes, n_columns = len(self.planes), self.planes.shape[2]
        flat = self.planes.reshape(-1, n_columns).T
        step = max(1, _TILE_BYTES // (8 * n_classes * n_classes))
        for first in range(0, max(len(rows), 1), step):
            values = (rows[first : first + step] @ flat).astype(np.float64).reshape(-1, n_classes, n_classes)
            _pair_loops.pair_margins(values, offsets, self.decision.slopes)
            yield values


def _put_first(values: Array, winners: Array) -> Array:
    """Let the winner of each row have its largest value, by exchange with the class that has it."""
    every, top = np.arange(len(values)), values.argmax(axis=1)
    won, best = values[every, winners], values[every, top]
    values[every, top] = won
    # Equal values must not leave the first of them ahead of the winner.
    tie = (won == best) & (top != winners)
    values[every, winners] = np.where(tie, np.nextafter(best, np.inf), best)
    return values
