"""The decision of several members with different half-lives and maps: their probabilities, combined by trust."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, tiles
from ..model._pair_loops import LEAST_CHANCE, plain_log_chances
from ..model.decision import Decision, plane_value_tiles, softmax_slopes
from ._committee_loops import SMALL, answer_chances, answer_rows
from .member_columns import used_columns, with_all_columns

_FEW = 4  # rows up to which a loop is faster than BLAS
MOST_CHANCES = 2**20  # probabilities of all members that are computed together


class RecentChances:
    """The last few mapped rows that were predicted, with the log-probabilities (n, E, K) by each member."""

    def __init__(self) -> None:
        self.pair: tuple[Array, Array] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle nothing of it."""
        return (RecentChances, ())


@dataclass(frozen=True)
class CommitteeRule:
    """The decision rule of a committee, with the methods of `PairRule`.

    weights  (2, E + 1): of the members, see `trust.Trust`
    parts    planes of each member
    firsts   (E,): the first column of mapped rows that each member uses
    """

    least_chance: ClassVar[float] = LEAST_CHANCE

    decision: Decision
    weights: Array
    parts: Sequence[Array]
    firsts: Array
    n_columns: int
    recent: RecentChances = field(default_factory=RecentChances, compare=False)

    def scores(self, rows: Array) -> Array:
        """Return log-probabilities of the classes (n, K)."""
        n_classes = len(self.parts[0])
        answer = np.empty((len(rows), n_classes))
        if len(rows) <= _FEW:
            chances = np.empty((len(rows), len(self.parts), n_classes))
            answer_rows(rows, tuple(self.parts), self.firsts, self.weights, chances, answer)
            self.recent.pair = rows, chances
            return answer
        for part in tiles(0, len(rows), max(1, MOST_CHANCES // (len(self.parts) * n_classes))):
            answer_chances(self.chances(rows[part]), self.weights, answer[part])
        return answer

    def chances(self, rows: Array) -> Array:
        """Return the log-probabilities (n, E, K) of rows by each member."""
        found = []
        for first, planes in zip(self.firsts, self.parts, strict=True):
            values = plane_value_tiles(used_columns(rows, first, planes.shape[2]), planes)
            found.append(np.concatenate([plain_log_chances(part) for part in values]))
        return np.stack(found, axis=1)

    def known_chances(self, rows: Array, unknown: Array) -> Array:
        """Return the log-probabilities (E, K) of one mapped row if it was predicted last, with these planes."""
        pair = self.recent.pair
        return pair[1][0] if pair is not None and pair[0] is rows else unknown

    @property
    def planes(self) -> list[Array]:
        """Planes of all members, with zeros in the columns that they do not use."""
        return [
            with_all_columns(part, int(first), self.n_columns)
            for first, part in zip(self.firsts, self.parts, strict=True)
        ]

    @property
    def active(self) -> Array:
        """The members that have a part in the answer."""
        return np.flatnonzero(self.weights[:, :-1].max(axis=0) > SMALL)

    def members(self) -> list[Array]:
        """Return the planes of each member that has a part in the answer."""
        planes = self.planes
        return [planes[e] for e in self.active]

    def slopes(self, logs: list[Array], winners: Array) -> list[Array]:
        """Return the slopes of the winner's probability (n, K) in the log-probabilities by each member."""
        weights, ways = self.weights[:, self.active], self.weights[:, -1] / self.weights[:, -1].sum()
        success, likelihood = np.where(weights > SMALL, weights, 0.0)
        every, n_classes = np.arange(len(winners)), logs[0].shape[1]
        is_winner = np.arange(n_classes) == winners[:, None]
        by_likelihood = softmax_slopes(np.einsum("e,enk->nk", likelihood, np.stack(logs)), winners)
        mean = np.einsum("e,enk->nk", success, np.exp(logs))
        whole = mean.sum(axis=1, keepdims=True)
        from_mean = (is_winner - (mean / whole)[every, winners][:, None]) / whole
        return [
            ways[0] * success[e] * np.exp(log) * from_mean + ways[1] * likelihood[e] * by_likelihood
            for e, log in enumerate(logs)
        ]

    @property
    def shown_planes(self) -> Array:
        """Planes of the member that is trusted most."""
        return self.planes[int(np.argmax(self.weights[0, :-1]))]

    def winners(self, rows: Array) -> Array:
        """Return the index of the most probable class of each row."""
        return np.asarray(self.scores(rows).argmax(axis=1))

    def margins(self, rows: Array) -> Array:
        """Return the log-odds of the second of two classes."""
        scores = self.scores(rows)
        return np.asarray(scores[:, 1] - scores[:, 0])

    def probabilities(self, rows: Array) -> Array:
        """Return class probabilities (n, K)."""
        return np.asarray(np.exp(self.scores(rows)))
