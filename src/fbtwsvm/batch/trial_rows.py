"""The rows on which kernels are tried: at most a hundred classes, no rows that were made of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._arrays import Array
from ..features.kernels import Kernel, gamma_scale
from ..model.rows import TrainingRows, distinct_rows
from .hold_out import FOLDS, sample_rows
from .oversampled import without_oversampled
from .ridge import landmark_count

_MOST_CLASSES = 100
_MOST_COPIES = 2**31  # that are drawn from; larger weights make no difference


@dataclass(frozen=True)
class TrialSample:
    """Rows in their order, and the groups of these rows, if the user gives groups.

    They are the distinct rows of each class.  But where new rows will be copies, a row is there several times, each
    time with a part of its copies; `row` is then its number, the same in all classes.
    """

    rows: TrainingRows
    groups: Array | None
    row: Array | None = None

    def landmarks(self, random: np.random.Generator, most: int | None = None) -> tuple[Array, Array]:
        """Draw landmarks; return their numbers, and which rows can be judged.

        A landmark has a feature of its own, which a new row has only if it is a copy.
        """
        n = self.rows.n
        drawn = random.permutation(n if self.row is None else np.unique(self.row, return_index=True)[1])
        landmarks, judged = drawn[: landmark_count(n, most)][:most], np.ones(n, dtype=bool)
        judged[landmarks] = self.row is not None
        return landmarks, judged


class TrialRows:
    """The rows from which samples for trials are drawn: all training rows, or a first sample of large data.

    `groups` are the numbers of the groups of the rows as given.  The trials of small data do not depend on the seed.
    `scale`, for large data, returns gamma "scale" of all training rows for a kernel.  `copies`, if few distinct rows
    stand for many, is how many given rows each stands for: new rows will be copies, too, so some of the copies of a row
    are held out, others not.
    """

    def __init__(
        self,
        rows: TrainingRows,
        groups: Array | None,
        seed: int,
        scale: Callable[[str | Kernel], float] | None = None,
        copies: Array | None = None,
    ) -> None:
        self.all, self.given_groups, self._copies = rows, groups, copies
        self.seed = 0 if rows.small else seed
        self._scale = scale

    def gamma_scale(self, kernel: str | Kernel, metric: Array | None) -> float:
        """Return gamma "scale"; in a metric, that of the sample of large data."""
        rows = self.all
        if self._scale is not None and metric is None:
            return self._scale(kernel)
        if rows.small:  # sorted, so that rounding does not depend on the order of the rows
            return gamma_scale(rows.X[rows.index], kernel, rows.weights, metric)
        return gamma_scale(rows.X, kernel, rows.given_weights, metric)

    @property
    def small(self) -> bool:
        """Whether the data is small."""
        return self.all.small

    @property
    def n(self) -> int:
        """Number of rows that samples are drawn from."""
        return self._candidates.rows.n

    @property
    def n_classes(self) -> int:
        """Number of their classes."""
        return self._candidates.rows.n_classes

    def sample(self, size: int, random: np.random.Generator) -> TrialSample:
        """Draw about `size` rows; equal rows of a class become one, with the sum of their weights."""
        rows, groups, row = self._candidates.rows, self._candidates.groups, self._candidates.row
        chosen, weights = _without_copies(rows, sample_rows(rows.starts, size, random))
        sample = replace(rows.subset(chosen, drop_empty=True), weights=weights)
        return TrialSample(sample, None if groups is None else groups[chosen], None if row is None else row[chosen])

    @cached_property
    def _candidates(self) -> TrialSample:
        """The rows that samples are drawn from; groups tell which rows belong together better than their values do."""
        groups = None if self.given_groups is None else _groups_of(self.all, self.given_groups)
        found = _some_classes(TrialSample(self.all, groups))
        if groups is not None or self._scale is not None:  # a sample of large data holds few rows made of others
            return found
        if self._copies is not None and found.rows is self.all:
            return _in_parts(self.all, self._copies, self.seed)
        return TrialSample(without_oversampled(found.rows, self.seed), None)


def _groups_of(rows: TrainingRows, groups: Array) -> Array:
    """Return the group of each sorted row; equal rows that were merged have the first of their groups."""
    if not len(rows.source):  # very many rows: none are merged
        return groups[rows.index]
    found, present = np.full(rows.n, groups.max()), rows.source >= 0
    np.minimum.at(found, rows.source[present], groups[present])
    return found


def _in_parts(rows: TrainingRows, copies: Array, seed: int) -> TrialSample:
    """Return every row several times, with a random part of its copies each time."""
    whole = np.clip(np.rint(copies), 1, _MOST_COPIES).astype(np.int64)
    counts = np.random.default_rng(seed).multinomial(whole, [1.0 / FOLDS] * FOLDS)
    weights = rows.weights[:, None] * counts / counts.sum(axis=1, keepdims=True)
    chosen, part = np.nonzero(counts)
    return TrialSample(replace(rows.subset(chosen), weights=weights[chosen, part]), None, rows.numbers()[chosen])


def _without_copies(rows: TrainingRows, chosen: Array) -> tuple[Array, Array]:
    """Return the numbers of the chosen rows without equal ones of a class, and the sums of the weights of these."""
    weights, sample = rows.weights[chosen], rows.X[rows.index[chosen]]
    if rows.small or len(np.unique(np.asarray(sample.sum(axis=1)))) == len(chosen):
        return chosen, weights
    first, number = distinct_rows(sample, rows.labels_of(chosen))
    order = np.argsort(first)
    return chosen[first[order]], np.bincount(number, weights=weights)[order]


def _some_classes(sample: TrialSample) -> TrialSample:
    """Restrict rows and their groups to a hundred classes, evenly spaced; more would need too many rows."""
    rows, groups = sample.rows, sample.groups
    if rows.n_classes <= _MOST_CLASSES:
        return sample
    classes = np.linspace(0, rows.n_classes - 1, _MOST_CLASSES).astype(np.int64)
    chosen = np.flatnonzero(np.isin(rows.labels, classes))
    return TrialSample(rows.subset(chosen, drop_empty=True), None if groups is None else groups[chosen])
