"""The first pass over a collection: check every partition, and count what is in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import Array
from ..features.kernels import Kernel
from ..model.check_values import first_dtype, largest_value, spread_warning
from ..model.rows import class_factors
from .partitions import SCALE_FRAME, Partitions

Check = Callable[[Any, Any, Any], tuple[Any, Array, Array]]

_TO_ONE_SCALE = f"(X - X.mean(axis=0)) / X.std(axis=0); of a frame {SCALE_FRAME}"
_ANOTHER_ORDER = f"Dask sorts the columns where a series is subtracted from a frame: scale with {SCALE_FRAME} instead."


@dataclass(frozen=True)
class Moments:
    """Weight of the rows, mean of all their values and sum of squared differences from it, for each class."""

    weights: Array
    means: Array
    squares: Array

    @classmethod
    def zero(cls, n_classes: int) -> Moments:
        """Return the moments of no rows."""
        return cls(*np.zeros((3, n_classes)))

    @classmethod
    def of_classes(cls, X: Any, labels: Array, weights: Array, n_classes: int) -> Moments:
        """Return the moments of rows."""

        def add_up(values: Any) -> Array:
            return np.bincount(labels, weights=weights * np.asarray(values).reshape(-1), minlength=n_classes)

        totals, n_columns = np.bincount(labels, weights=weights, minlength=n_classes), X.shape[1]
        counts = n_columns * np.where(totals > 0, totals, 1.0)
        precise = X.astype(np.float64)
        means = add_up(precise.sum(axis=1)) / counts
        if sp.issparse(X):
            squares = add_up(precise.multiply(precise).sum(axis=1)) - counts * np.square(means)
            return cls(totals, means, np.maximum(squares, 0.0))
        precise -= means[labels][:, None]
        return cls(totals, means, add_up(np.einsum("ij,ij->i", precise, precise)))

    def merge(self, other: Moments, n_columns: int) -> Moments:
        """Return the moments of the rows of both."""
        weights = self.weights + other.weights
        share = np.divide(other.weights, weights, out=np.zeros_like(weights), where=weights > 0)
        difference = other.means - self.means
        squares = self.squares + other.squares + np.square(difference) * share * self.weights * n_columns
        return Moments(weights, self.means + share * difference, squares)

    def placed(self, places: Array, n_classes: int) -> Moments:
        """Return the moments with classes at other places among more classes."""
        wide = Moments.zero(n_classes)
        wide.weights[places], wide.means[places], wide.squares[places] = self.weights, self.means, self.squares
        return wide

    def of_all(self, factors: Array, n_columns: int) -> Moments:
        """Return the moments of all classes together, each multiplied by a factor."""
        total = Moments.zero(1)
        for k, factor in enumerate(factors):
            own = slice(k, k + 1)
            scaled = Moments(factor * self.weights[own], self.means[own], factor * self.squares[own])
            total = total.merge(scaled, n_columns)
        return total


@dataclass(frozen=True)
class Facts:
    """What is known of one partition: rows without weight are left out, but for `n_rows`.

    classes   labels, sorted
    counts    (n_classes,): rows of each class
    moments   of the values in each class
    low, high smallest and largest value of each column
    """

    n_rows: int
    dtype: np.dtype
    sparse: bool
    classes: Array
    counts: Array
    moments: Moments
    low: Array
    high: Array
    largest: float


@dataclass(frozen=True)
class Collected:
    """What is known of all partitions.

    counts   (n_partitions, n_classes): rows of each class in each partition, without those of weight zero
    n_rows   (n_partitions,): rows of each partition, with these
    factors  (n_classes,): factors of class_weight
    moments  of the values in each class
    """

    classes: Array
    counts: Array
    n_rows: Array
    factors: Array
    moments: Moments
    dtype: np.dtype
    sparse: bool
    n_columns: int
    warning: str | None

    def gamma_scale(self, kernel: str | Kernel) -> float:
        """Return gamma "scale" of all rows, as `features.kernels.gamma_scale` does."""
        moments = self.moments.of_all(self.factors, self.n_columns)
        mean = float(moments.means[0])
        variance = float(moments.squares[0] / (self.n_columns * moments.weights[0]))
        if variance <= (4.0 * float(np.finfo(self.dtype).eps) * mean) ** 2:  # constant data, up to rounding
            return 1.0 / self.n_columns
        return float(1.0 / (self.n_columns * (np.sqrt(variance) if kernel == "laplacian" else variance)))


def look_at(partitions: Partitions, check: Check, class_weight: Any) -> Collected:
    """Check all partitions in one pass; `check` refuses bad rows with a ValueError."""
    found: list[Facts | None] = []
    for p, facts in enumerate(partitions.map(_look, check, "check")):
        if isinstance(facts, str):
            hint = f" {_ANOTHER_ORDER}" if "must be in the same order" in facts else ""
            raise ValueError(f"Partition {p}: {facts.rstrip()}{hint}")
        found.append(facts)
    present = [facts for facts in found if facts is not None and len(facts.classes)]
    if not present:
        empty = all(facts is None for facts in found)
        raise ValueError(
            "The collection has no rows." if empty else "Every sample_weight is zero: there is no row to learn from."
        )
    texts = {isinstance(label, str | bytes) for facts in present for label in facts.classes.tolist()}
    if len(texts) > 1:
        raise ValueError("Labels must be of one kind in all partitions: some are strings, others are not.")
    classes = np.unique(np.concatenate([facts.classes for facts in present]))
    n_classes, n_columns = len(classes), len(present[0].low)
    if n_classes < 2:
        raise ValueError(f"The data holds one class only ({classes[0]}): fit needs two classes or more.")
    counts = np.zeros((len(found), n_classes), dtype=np.int64)
    moments = Moments.zero(n_classes)
    for p, facts in enumerate(found):
        if facts is not None and len(facts.classes):
            places = np.searchsorted(classes, facts.classes)
            counts[p, places] = facts.counts
            moments = moments.merge(facts.moments.placed(places, n_classes), n_columns)
    single = all(facts.dtype == np.float32 for facts in present)
    dtype = np.dtype(np.float32 if single else np.float64)
    largest = max(facts.largest for facts in present)
    low, high = (np.stack([getattr(facts, name) for facts in present]) for name in ("low", "high"))
    return Collected(
        classes=classes,
        counts=counts,
        n_rows=np.array([0 if facts is None else facts.n_rows for facts in found]),
        factors=class_factors(class_weight, classes, np.arange(n_classes), moments.weights),
        moments=moments,
        dtype=first_dtype(largest, dtype),
        sparse=any(facts.sparse for facts in present),
        n_columns=n_columns,
        warning=spread_warning(low.min(axis=0), high.max(axis=0), _TO_ONE_SCALE),
    )


def _look(p: int, X: Any, y: Any, weights: Any, check: Check) -> Facts | str | None:
    """Check a partition; return what is in it, the reason why it is refused, or None if it is empty."""
    if not X.shape[0]:
        return None if not len(y) else f"X has no rows and y has {len(y)}."
    try:
        X, y, weights = check(X, y, weights)
        n_rows, present = len(y), weights > 0
        if not present.all():
            X, y, weights = X[present], y[present], weights[present]
        classes, labels = np.unique(y, return_inverse=True)
    except (ValueError, TypeError) as error:
        return str(error)
    labels = labels.reshape(-1)
    return Facts(
        n_rows=n_rows,
        dtype=X.dtype,
        sparse=sp.issparse(X),
        classes=classes,
        counts=np.bincount(labels, minlength=len(classes)),
        moments=Moments.of_classes(X, labels, weights, len(classes)),
        low=_of_columns(X.min(axis=0)) if len(y) else np.zeros(X.shape[1]),
        high=_of_columns(X.max(axis=0)) if len(y) else np.zeros(X.shape[1]),
        largest=largest_value(X),
    )


def _of_columns(values: Any) -> Array:
    """Return values of the columns of an array or a sparse matrix as an array."""
    return np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64).reshape(-1)
