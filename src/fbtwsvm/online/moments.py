"""Sums of mapped rows of each class: count, sum, Gram matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array
from .._linalg import is_definite
from ..solver.factors import gram_matrix
from . import axes

_MOST_WAITING = 64  # rows of a class that are not yet added to its Gram matrix


class Grams:
    """The Gram matrices of the classes, as a list.

    A few new rows of a class wait until its matrix is read: to add one row takes as long as to add many.  A matrix is
    replaced, never changed, so that copies share it.
    """

    def __init__(self, matrices: Iterable[Array]) -> None:
        self._matrices = list(matrices)
        self._waiting: list[tuple[tuple[Array, Array], ...]] = [()] * len(self._matrices)  # rows and weights

    def __len__(self) -> int:
        return len(self._matrices)

    def __getitem__(self, k: int) -> Array:
        if self._waiting[k]:
            rows, weights = (np.concatenate(parts) for parts in zip(*self._waiting[k], strict=True))
            gram = gram_matrix(rows, weights)
            gram += self._matrices[k]
            self[k] = gram
        return self._matrices[k]

    def __setitem__(self, k: int, gram: Array) -> None:
        self._matrices[k], self._waiting[k] = gram, ()

    def __iter__(self) -> Iterator[Array]:
        return (self[k] for k in range(len(self)))

    def copy(self) -> Grams:
        """Return a list to change; the matrices are shared."""
        clone = Grams(self._matrices)
        clone._waiting = self._waiting.copy()
        return clone

    def add(self, k: int, rows: Array, weights: Array) -> None:
        """Add rows to the matrix of class k."""
        self._waiting[k] = (*self._waiting[k], (rows, weights))
        if sum(len(some) for _, some in self._waiting[k]) >= _MOST_WAITING:
            self[k]

    def insert(self, k: int, gram: Array) -> None:
        """Insert the matrix of a new class."""
        self._matrices.insert(k, gram)
        self._waiting.insert(k, ())

    def __delitem__(self, k: int) -> None:
        del self._matrices[k], self._waiting[k]


class Moments:
    """Weighted sums of every class, in float64: count, sum of rows, Gram matrix.

    Sums can be added, scaled and subtracted, so models can be merged, rows can fade and rows can be unlearned.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
        Sum of the weights.
    sums : ndarray of shape (n_classes, n_columns)
        Sum of w_i h_i.
    grams : Grams
        Sum of w_i h_i h_i' of each class, (n_columns, n_columns).
    """

    CLASS_AXES: ClassVar[dict[str, tuple[int, ...]]] = {"counts": (0,), "sums": (0,)}
    NEW_CLASS: ClassVar[dict[str, Any]] = {}

    def __init__(self, n_classes: int, n_columns: int) -> None:
        self.counts: Array = np.zeros(n_classes)
        self.sums: Array = np.zeros((n_classes, n_columns))
        self.grams = Grams(np.zeros((n_columns, n_columns)) for _ in range(n_classes))

    @property
    def means(self) -> Array:
        """Mean of every class; zero for a class without weight."""
        means: Array = self.sums / np.where(self.counts > 0, self.counts, 1.0)[:, None]
        return means

    def __deepcopy__(self, memo: dict[int, Any]) -> Moments:
        """Return sums to change; the matrices are shared."""
        clone = Moments(0, 0)
        clone.counts, clone.sums, clone.grams = self.counts.copy(), self.sums.copy(), self.grams.copy()
        return clone

    def add(self, k: int, rows: Array, weights: Array, sign: float = 1.0) -> None:
        """Add rows to class k, or subtract them if `sign` is -1."""
        self.counts[k] += sign * weights.sum()
        self.sums[k] += sign * (weights @ rows.astype(np.float64))
        self.add_gram(k, rows, weights, sign)

    def add_gram(self, k: int, rows: Array, weights: Array, sign: float = 1.0) -> None:
        """Add rows to the Gram matrix of class k only; its count and sum contain them already."""
        if sign > 0:
            self.grams.add(k, rows, weights)
        else:
            self.grams[k] = self.grams[k] - gram_matrix(rows, weights)

    def scale(self, factor: float, k: int | None = None) -> None:
        """Multiply the sums of class k, or of all classes."""
        for one in range(len(self.grams)) if k is None else [k]:
            self.counts[one] *= factor
            self.sums[one] *= factor
            self.grams[one] = self.grams[one] * factor

    def insert_class(self, k: int) -> None:
        """Insert a new class at index k."""
        axes.insert_class(self, k)
        n_columns = self.sums.shape[1]
        self.grams.insert(k, np.zeros((n_columns, n_columns)))

    def delete_class(self, k: int) -> None:
        """Remove class k."""
        axes.delete_class(self, k)
        del self.grams[k]

    def definite(self, k: int, slack: float) -> bool:
        """Whether the Gram matrix of class k has no eigenvalue below -slack."""
        system = self.grams[k] + slack * np.eye(self.sums.shape[1])
        return is_definite(system)
