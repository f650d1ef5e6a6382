"""The decision rule: from plane values to classes (by the DAG or the vote) and probabilities.

A pair (a, b) decides for a if  log|h.u_ab| - log|h.u_ba| <= t_ab.  The three rules differ in t only.  t = 0 compares
plain values; t = log||w_ab|| - log||w_ba|| compares distances, as in the paper; "calibrated" learns t, and a slope for
probabilities, by logistic regression on left-out values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.special import softmax

from .._arrays import Array
from . import _pair_loops
from .mapping import Mapping

_STRENGTH = 1.0
_MANY_CLASSES = 24  # from so many classes on, 2 (K - 1) planes for each row are faster than a product with K (K - 1)
VERY_MANY_CLASSES, _COUPLED = 100, 32  # beyond so many classes, only the best of a row are coupled
_RECENT_VALUES = 20_000  # most values of rows that are kept mapped until they are learned
_FEW = 4  # rows up to which a loop is faster than BLAS
_TILE_BYTES = 64 * 2**20  # size of the plane values of one tile of rows


def norms(weights: Array, kernel: Array | None = None) -> Array:
    """Return ||w|| of every plane; for coefficients c of training rows, ||w||^2 = c'Kc."""
    if kernel is None:
        return np.asarray(np.linalg.norm(weights, axis=2))
    return np.asarray(np.sqrt(np.maximum(np.einsum("abi,abi->ab", weights @ kernel, weights), 0.0)))


@dataclass(frozen=True)
class Decision:
    """The offsets t_ab and slopes of all pairs a < b, in upper triangles.

    `offsets` decide; `learned_offsets` and `slopes` give probabilities.
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
        """Learn offsets and slopes from the left-out values of calibration rows.

        Rows are sorted by class; rows of weight zero are ignored.  Weights are scaled so that each class has the weight
        `totals`, that of all its rows: otherwise the prior of a class that is only sampled would be wrong.  The offsets
        of the rule "distance" are set later, from the norms of the planes.
        """
        has_weight = weights > 0
        class_weights = np.array([weights[first:last].sum() for first, last in pairwise(starts)])
        labels = np.repeat(np.arange(len(totals)), np.diff(starts))
        factors = np.divide(totals, class_weights, out=np.zeros_like(class_weights), where=class_weights > 0)
        weights = weights * factors[labels]
        slope = _pair_loops.pooled_slope(near, far, labels, has_weight, weights, _pair_loops.START_SLOPE, _STRENGTH)
        learned, slopes = _pair_loops.fit_offsets(near, far, starts, has_weight, weights, slope, _STRENGTH)
        offsets = learned if rule == "calibrated" else np.zeros_like(learned)
        decision = cls(offsets, learned, slopes, multiclass, calibrated=rule == "calibrated")
        decision._check()
        return decision

    @classmethod
    def plain(cls, n_classes: int, multiclass: str, rule: str) -> Decision:
        """Return the rule without offsets, which compares plain values."""
        zero = np.zeros((n_classes, n_classes))
        slopes = np.ones((n_classes, n_classes))
        slopes[np.triu_indices(n_classes, 1)] = _pair_loops.START_SLOPE
        return cls(zero, zero, slopes, multiclass, calibrated=rule == "calibrated")

    def with_distances(self, norms: Array) -> Decision:
        """Return the rule that compares distances |h.u| / ||w||, as in the paper."""
        # The value of a plane with w = 0 is not divided.
        log_norms = np.where(norms > 0, np.log(np.maximum(norms, _pair_loops.FLOOR)), 0.0)
        decision = replace(self, offsets=np.triu(log_norms - log_norms.T))
        decision._check()
        return decision

    def _check(self) -> None:
        if not (np.isfinite(self.offsets).all() and np.isfinite(self.slopes).all()):
            raise ValueError("The planes are not finite numbers. Scale the columns of X, or raise reg.")


class Rule(Protocol):
    """A decision rule with its planes: from mapped rows to answers."""

    def winners(self, rows: Array) -> Array:
        """Return the index of the class of each row."""

    def scores(self, rows: Array) -> Array:
        """Return scores (n, K) whose largest is the winner."""

    def margins(self, rows: Array) -> Array:
        """Return the margins (n,) of two classes: positive means the second class."""

    def probabilities(self, rows: Array) -> Array:
        """Return class probabilities (n, K)."""

    def members(self) -> list[Array]:
        """Return the planes of each member that has a part in the answer."""

    def slopes(self, logs: list[Array], winners: Array) -> list[Array]:
        """Return the slopes of the winner's probability (n, K) in the log-probabilities by each member."""

    @property
    def decision(self) -> Decision:
        """Offsets and slopes."""

    @property
    def shown_planes(self) -> Array:
        """The planes that `planes_` shows."""

    @property
    def least_chance(self) -> float:
        """Smallest log-probability that each of them gives to a class."""


class RecentRows:
    """The last few rows that were predicted, as given and mapped: on a stream they are often learned next."""

    def __init__(self) -> None:
        self.pair: tuple[Array, Array] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle nothing of it."""
        return (RecentRows, ())


def _same_rows(one: Array, X: Any) -> bool:
    """Whether rows are equal, to the last bit."""
    return type(X) is np.ndarray and one.shape == X.shape and one.dtype == X.dtype and bool((one == X).all())


@dataclass(frozen=True)
class Answers:
    """All that a prediction reads; never changed while somebody has it, so that no prediction sees half of a change."""

    classes: Array
    mapping: Mapping
    rule: Rule
    recent: RecentRows = field(default_factory=RecentRows)

    def mapped(self, X: Any) -> Array:
        """Map rows; a few rows that were mapped just before are not mapped again."""
        pair = self.recent.pair
        if pair is not None and _same_rows(pair[0], X):
            return pair[1]
        rows = self.mapping.rows(X)
        if type(X) is np.ndarray and X.size <= _RECENT_VALUES:
            self.recent.pair = X.copy(), rows
        return rows


@dataclass(frozen=True)
class AnswersOnly:
    """A model that only answers: a part of another one, which may go on learning."""

    answers: Answers

    @property
    def classes(self) -> Array:
        """Labels."""
        return self.answers.classes


@dataclass(frozen=True)
class PairRule:
    """A decision rule and its planes."""

    decision: Decision
    planes: Array

    def winners(self, rows: Array) -> Array:
        """Return the index of the class that wins each row."""
        decision = self.decision
        if decision.multiclass == "dag" and len(self.planes) >= _MANY_CLASSES:
            winners: Array = _pair_loops.walk_planes(rows, self.planes, decision.offsets, decision.slopes)
            return winners
        return np.concatenate([self._winners(margins) for margins in self._tiles(rows, decision.offsets)])

    def scores(self, rows: Array) -> Array:
        """Return scores (n, K), the number of pairs won and a part for the margins; the winner has the largest.

        The winner of the DAG wins every pair that it plays, but another class may win more pairs.  These two then
        exchange their scores.
        """
        return self._with_winner_first(rows, self.decision.offsets, _pair_loops.vote_scores)

    def margins(self, rows: Array) -> Array:
        """Return the margins (n,) of two classes: positive means the second class."""
        return np.concatenate([margins[:, 0, 1] for margins in self._tiles(rows, self.decision.offsets)])

    def probabilities(self, rows: Array) -> Array:
        """Return class probabilities (n, K) from the learned offsets, by pairwise coupling.

        If the same offsets decide, the winner is the most probable class.  Where the pairs of a row contradict each
        other, coupling may prefer another class; these two then exchange their probabilities.  Of very many classes,
        those that come nearest to the winner are coupled.
        """
        learned = self.decision.learned_offsets
        if len(self.planes) > VERY_MANY_CLASSES:
            slopes = self.decision.slopes
            winners = _pair_loops.walk_planes(rows, self.planes, learned, slopes)
            chances = _pair_loops.couple_best(rows, self.planes, learned, slopes, winners, _COUPLED)
            return put_first(chances, self.winners(rows)) if self.decision.calibrated else chances
        if self.decision.calibrated:
            return self._with_winner_first(rows, learned, _pair_loops.couple)
        return np.concatenate([_pair_loops.couple(margins) for margins in self._tiles(rows, learned)])

    least_chance: ClassVar[float] = -np.inf

    @property
    def shown_planes(self) -> Array:
        """The planes."""
        return self.planes

    def members(self) -> list[Array]:
        """Return the planes."""
        return [self.planes]

    def slopes(self, logs: list[Array], winners: Array) -> list[Array]:
        """Return the slopes of the winner's probability (n, K) in the log-probabilities."""
        return [softmax_slopes(logs[0], winners)]

    def _winners(self, margins: Array) -> Array:
        """Return the index of the class that wins each row, from the margins of all pairs."""
        if self.decision.multiclass == "dag":
            return np.asarray(_pair_loops.walk_margins(margins))
        return np.asarray(_pair_loops.vote_scores(margins).argmax(axis=1))

    def _with_winner_first(self, rows: Array, offsets: Array, score: Callable[[Array], Array]) -> Array:
        """Return what `score` makes of the margins, with the largest value for the winner."""
        # With many classes `winners` compares plane by plane; do the same here, so that rounding is the same.
        one_by_one = self.decision.multiclass == "dag" and len(self.planes) >= _MANY_CLASSES
        values, winners = [], []
        for margins in self._tiles(rows, offsets):
            values.append(score(margins))
            if not one_by_one:
                winners.append(self._winners(margins))
        first = self.winners(rows) if one_by_one else np.concatenate(winners)
        return put_first(np.concatenate(values), first)

    def _tiles(self, rows: Array, offsets: Array) -> Iterator[Array]:
        """Yield the margins of all pairs (n_tile, K, K), tile by tile."""
        for values in plane_value_tiles(rows, self.planes):
            _pair_loops.pair_margins(values, offsets, self.decision.slopes)
            yield values


def softmax_slopes(scores: Array, winners: Array) -> Array:
    """Return the slopes of the probability of each row's winner in its scores (n, K)."""
    chances, every = softmax(scores, axis=1), np.arange(len(scores))
    slopes: Array = -chances * chances[every, winners][:, None]
    slopes[every, winners] += chances[every, winners]
    return slopes


def plane_value_tiles(rows: Array, planes: Array) -> Iterator[Array]:
    """Yield the values of rows in all planes (n_tile, K, K), tile by tile."""
    n_classes, n_columns = len(planes), planes.shape[2]
    if len(rows) <= _FEW:
        values = np.empty((len(rows), n_classes, n_classes))
        _pair_loops.plane_values(rows, planes, values)
        yield values
        return
    flat = planes.reshape(-1, n_columns).T
    step = max(1, _TILE_BYTES // (8 * n_classes * n_classes))
    for first in range(0, len(rows), step):
        yield (rows[first : first + step] @ flat).astype(np.float64).reshape(-1, n_classes, n_classes)


def put_first(values: Array, winners: Array) -> Array:
    """Give the largest value of each row to its winner, in exchange for the winner's own value."""
    every, top = np.arange(len(values)), values.argmax(axis=1)
    winner_value, best = values[every, winners], values[every, top]
    values[every, top] = winner_value
    # If both values are equal, argmax must still find the winner.
    tie = (winner_value == best) & (top != winners)
    values[every, winners] = np.where(tie, np.nextafter(best, np.inf), best)
    return values
