"""Training rows for a device: rows that are there already, or that go there tile by tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from .._arrays import Array, tiles
from .._namespace import (
    as_float,
    dtype_name,
    free_bytes,
    is_foreign,
    like,
    namespace,
    on_device,
    rows_at,
    to_numpy,
    zeros,
)
from ..features.kernels import Kernel
from ..model.rows import NO_ROWS, TooFewClasses, TrainingRows, present_classes, weights_by_name

_BLOCK = 2**20  # rows that go to the device at a time
_SHARE_OF_ROWS = 0.25  # of the free memory of the device: rows that take less go there at once, to stay


@dataclass(frozen=True)
class Piece:
    """Rows of one class on the device, before the map: class, numbers, rows, and weights (None: all are one)."""

    label: int
    numbers: slice
    X: Any
    weights: Any


@dataclass(frozen=True)
class DeviceRows:
    """Training rows, sorted by class and numbered in that order.

    X             the given rows, on the device or here (an array of NumPy, a memory map)
    place         an empty array on the device, in the precision of the rows
    codes         (n_given,), on the device: class index of each given row, -1 if its weight is zero
    given_weights (n_given,), on the device, in float64, with the factors of class_weight; None if all are one
    classes       labels, sorted
    starts        where each class starts, and where the last one ends
    factors       (n_classes,): factors of class_weight
    """

    X: Any
    place: Any
    codes: Any
    given_weights: Any
    classes: Array
    starts: Array
    factors: Array

    small = False  # as `model.rows.Extent` asks for
    sparse = False

    @property
    def n(self) -> int:
        """Number of rows with a weight."""
        return int(self.starts[-1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def n_columns(self) -> int:
        """Number of columns before the map."""
        return int(self.X.shape[1])

    @property
    def dtype(self) -> str:
        """The precision of the rows."""
        return dtype_name(self.place)

    @cached_property
    def order(self) -> Any:
        """For each sorted row, the given row: (n,), on the device."""
        order = namespace(self.codes).argsort(self.codes, stable=True)
        return order[int(order.shape[0]) - self.n :]

    @cached_property
    def weights(self) -> Any:
        """Weights of the sorted rows, on the device; None if all are one."""
        if self.given_weights is None:
            return None
        return namespace(self.codes).take(self.given_weights, self.order)

    @cached_property
    def class_weights(self) -> Array:
        """Sum of the weights of each class."""
        if self.weights is None:
            return np.diff(self.starts).astype(np.float64)
        xp = namespace(self.codes)
        return np.array([float(xp.sum(self.weights[first:last])) for first, last in pairwise(self.starts.tolist())])

    def with_factors(self, factors: Array) -> DeviceRows:
        """Return the rows with a factor on the weights of each class, beside those that they have."""
        xp = namespace(self.codes)
        by_row = xp.take(like(factors, self.place, np.float64), xp.clip(self.codes, 0, None))
        weights = by_row if self.given_weights is None else self.given_weights * by_row
        return replace(self, given_weights=weights, factors=self.factors * factors)

    def labels_of(self, numbers: Array) -> Array:
        """Return the class indices of rows."""
        return np.searchsorted(self.starts, numbers, side="right") - 1

    def given_numbers(self, numbers: Array) -> Array:
        """Return the numbers, among the given rows, of sorted rows."""
        return to_numpy(rows_at(self.order, numbers))

    def weights_of(self, numbers: Array) -> Array:
        """Return the weights of some rows, here."""
        return np.ones(len(numbers)) if self.weights is None else to_numpy(rows_at(self.weights, numbers))

    def take(self, numbers: Array) -> Any:
        """Return some rows, on the device."""
        given = self.given_numbers(numbers)
        if is_foreign(self.X):
            return as_float(rows_at(self.X, given), self.dtype)
        return like(self.X[given], self.place, self.dtype)

    def take_here(self, numbers: Array) -> Array:
        """Return some rows as an array of NumPy."""
        given = self.given_numbers(numbers)
        rows = to_numpy(rows_at(self.X, given)) if is_foreign(self.X) else self.X[given]
        return np.asarray(rows, dtype=self.dtype)

    def subset(self, numbers: Array) -> TrainingRows:
        """Return some rows as training rows, here."""
        every, weights = np.arange(len(numbers)), self.weights_of(numbers)
        starts = np.searchsorted(numbers, self.starts)
        return TrainingRows(self.take_here(numbers), every, weights, starts, every, weights, small=False)

    def pieces(self, classes: Sequence[int] | None = None, size: int = _BLOCK) -> Iterator[Piece]:
        """Yield the rows of some classes (None: all) on the device, at most so many at a time."""
        wanted = range(self.n_classes) if classes is None else classes
        return self._from_device(wanted, size) if is_foreign(self.X) else self._from_here(wanted, size)

    def _from_device(self, classes: Sequence[int], size: int) -> Iterator[Piece]:
        xp = namespace(self.X)
        for k in classes:
            for part in tiles(self.starts[k], self.starts[k + 1], size):
                rows = as_float(xp.take(self.X, self.order[part], axis=0), self.dtype)
                yield Piece(k, part, rows, None if self.weights is None else self.weights[part])

    def _from_here(self, classes: Sequence[int], size: int) -> Iterator[Piece]:
        """Read the given rows in their order, and sort each block by class on the device."""
        xp = namespace(self.codes)
        done = self.starts[:-1].copy()
        for block in tiles(0, self.X.shape[0], size):
            rows, codes = like(self.X[block], self.place, self.dtype), self.codes[block]
            for k in classes:
                (own,) = xp.nonzero(codes == k)
                if not own.shape[0]:
                    continue
                numbers = slice(int(done[k]), int(done[k]) + int(own.shape[0]))
                done[k] = numbers.stop
                weights = None if self.weights is None else self.weights[numbers]
                yield Piece(k, numbers, xp.take(rows, own, axis=0), weights)

    def gamma_scale(self, kernel: str | Kernel) -> float:
        """Return gamma "scale" of all rows, as `features.kernels.gamma_scale` does."""
        total, moments = self.class_weights.sum() * self.n_columns, []
        mean = 0.0
        for power in (1, 2):  # the second moment about the mean, so that nothing cancels
            sums = zeros((1,), self.place)
            for piece in self.pieces():
                xp = namespace(piece.X)
                values = xp.sum((as_float(piece.X, "float64") - mean) ** power, axis=1)
                sums += xp.sum(values if piece.weights is None else values * piece.weights)
            moments.append(float(sums[0]) / float(total))
            mean = moments[0]
        variance = moments[1]
        if variance <= (4.0 * float(np.finfo(self.dtype).eps) * mean) ** 2:
            return 1.0 / self.n_columns
        return float(1.0 / (self.n_columns * (np.sqrt(variance) if kernel == "laplacian" else variance)))


def sent(X: Any, device: str) -> Any:
    """Return rows of NumPy, a memory map or a temporary file on a device if they may stay there; or as they are."""
    place = on_device(X[:0], device)
    if X.shape[0] * X.shape[1] * X.dtype.itemsize > _SHARE_OF_ROWS * free_bytes(place):
        return X
    if type(X) is np.ndarray:
        return on_device(X, device)
    return namespace(place).concat([on_device(X[part], device) for part in tiles(0, X.shape[0], _BLOCK)], axis=0)


def arrange_on_device(
    X: Any, y: Any, weights: Any, class_weight: Any, place: Any, known: Array | None = None
) -> DeviceRows:
    """Sort checked rows by class, on the device of `place`; `known` are classes that there may be besides."""
    xp = namespace(place)
    if weights is not None and not bool(xp.any(weights > 0)):
        raise TooFewClasses(NO_ROWS)
    classes, codes = _coded(y, weights, place, known)
    if weights is not None:
        codes = xp.where(weights > 0, codes, xp.full_like(codes, -1))
    counts = np.array([int(xp.sum(xp.astype(codes == k, xp.int64))) for k in range(len(classes))])
    factors = np.ones(len(classes))
    if isinstance(class_weight, dict):
        factors = weights_by_name(class_weight, classes)
    elif class_weight == "balanced":
        sums = counts.astype(np.float64)
        if weights is not None:
            sums = np.array([float(xp.sum(xp.where(codes == k, weights, 0.0 * weights))) for k in range(len(classes))])
        factors = sums.sum() / (len(sums) * sums)
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows = DeviceRows(X, place, codes, weights, classes, starts, np.ones(len(classes)))
    return rows if class_weight is None else rows.with_factors(factors)


def _coded(y: Any, weights: Any, place: Any, known: Array | None) -> tuple[Array, Any]:
    """Return the classes, known ones or of rows with a weight, and the class index of every row, on the device."""
    xp = namespace(place)
    if not is_foreign(y):
        present = np.ones(len(y), dtype=bool) if weights is None else to_numpy(weights) > 0
        names = np.unique(y[present])
        classes = present_classes(names)[0] if known is None else np.union1d(known, names)
        return classes, like(np.minimum(np.searchsorted(classes, y), len(classes) - 1), place, np.int64)
    present = y if weights is None else y[weights > 0]
    numbers = xp.astype(y, xp.int64, copy=False) if y.dtype == xp.bool else y
    names = to_numpy(xp.unique_values(present))
    classes = present_classes(names)[0] if known is None else np.union1d(known, names)
    every = like(classes.astype(np.int64) if classes.dtype == np.bool_ else classes, place)
    if len(classes) == 2:
        return classes, xp.astype(numbers == every[1], xp.int64)
    return classes, xp.clip(xp.searchsorted(every, numbers), 0, len(classes) - 1)
