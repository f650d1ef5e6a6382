"""The fitted feature map as the solver sees it: scaled, with the bias column."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import SkewedChi2Sampler

from .._arrays import Array, tiles
from .._threads import Threads, each_in
from ..features.base import FeatureMap
from ..features.exact import ExactKernel
from ..features.fourier import FourierFeatures
from ..features.kernels import Kernel, is_normalised
from ..features.nystroem import NystroemFeatures
from .rows import TrainingRows

_TILE = 4096  # rows mapped at a time
_NORMALISED = (ExactKernel, FourierFeatures, NystroemFeatures, SkewedChi2Sampler)


def _goes_in_whole(transformer: Any, rows: TrainingRows) -> bool:
    """Whether a map is fitted on the rows as they were given, without a copy in sorted order.

    The exact kernel is not: its columns are the training rows, in the order that the planes know them by.
    """
    return not isinstance(transformer, ExactKernel) and not rows.small and rows.n == rows.X.shape[0]


def _readable(transformer: Any, X: Any) -> Any:
    """Rows as the transformer can read them: scikit-learn's sampler of the skewed chi2 kernel takes no sparse ones."""
    return X.toarray() if isinstance(transformer, SkewedChi2Sampler) and sp.issparse(X) else X


def _same(one: Any, other: Any) -> bool:
    """Whether two attributes of maps are the same in every number."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if sp.issparse(one) and sp.issparse(other):
        return one.shape == other.shape and _same(one.toarray(), other.toarray())
    return pickle.dumps(one) == pickle.dumps(other)


@dataclass
class Mapping:
    """A fitted map with its scale: rows [scale z(x), 1] in one precision.

    Kernels with k(x, x) = 1 need no scale; every other map is scaled so that the mean of ||z||^2 over the
    training rows is 1, which gives C and reg the same meaning for all.
    """

    transformer: Any
    scale: float
    dtype: np.dtype
    frozen: bool = False  # given as fitted: never fitted again, nor renewed

    @property
    def exact(self) -> bool:
        """Whether planes are coefficients of training rows rather than of features."""
        return isinstance(self.transformer, ExactKernel)

    @classmethod
    def fit(
        cls,
        transformer: Any,
        rows: TrainingRows,
        y: Array,
        kernel: str | Kernel,
        threads: Threads | None = None,
        known: Callable[[Mapping], Array | None] | None = None,
    ) -> tuple[Mapping, Array]:
        """Fit the map; return it with the mapped training rows (or their kernel matrix, without bias).

        `y` are the labels of the given rows, for transformers that want them.  `known` may have all given rows mapped
        already, by a map that is the same in every number but not yet scaled; otherwise it returns None.
        """
        if transformer is not None:
            whole = _goes_in_whole(transformer, rows)
            given, labels = (rows.X, y) if whole else (rows.X[rows.index], y[rows.index])
            transformer.fit(_readable(transformer, given), labels)
        frozen = isinstance(transformer, FrozenEstimator)
        mapping = cls(transformer.estimator if frozen else transformer, 1.0, rows.X.dtype, frozen)
        transformer = mapping.transformer
        if mapping.exact:  # in float32 the matrix would not be positive definite, nor its large coefficients exact
            mapping.dtype = np.dtype(np.float64)
        there = None if known is None else known(mapping)
        mapped = mapping.rows(rows.X, rows.index, threads) if there is None else there[rows.index]
        if not (isinstance(transformer, _NORMALISED) and is_normalised(getattr(transformer, "kernel", kernel))):
            plain = mapped[:, :-1]
            squares = np.diag(plain) if mapping.exact else np.einsum("ij,ij->i", plain, plain)
            mean = float(np.average(squares, weights=rows.weights))
            # For the exact kernel a column is an inner product, so it takes the square of the scale.
            mapping.scale = 1.0 if mean <= 0 else (1.0 / mean if mapping.exact else 1.0 / np.sqrt(mean))
            plain *= mapped.dtype.type(mapping.scale)
        return mapping, (np.ascontiguousarray(mapped[:, :-1]) if mapping.exact else mapped)

    @property
    def data_independent(self) -> bool:
        """Whether the map owes nothing to the rows it was fitted on, given its width."""
        return self.frozen or isinstance(self.transformer, FourierFeatures)

    @property
    def renewable(self) -> bool:
        """Whether the map is made of landmarks that can be replaced, and shows how well it fits a row."""
        landmarks = isinstance(self.transformer, NystroemFeatures) and is_normalised(self.transformer.kernel)
        return landmarks and not self.frozen

    def expected_residual(self) -> float:
        """Return the mean of 1 - ||z||^2 over landmarks, each left out of the map in turn: 1 / [K^-1]_ii."""
        return float(np.mean(1.0 / np.square(self.transformer.normalisation_.astype(np.float64)).sum(axis=1)))

    def renewed(self, landmarks: Any) -> tuple[Mapping, Array]:
        """Return the map with other landmarks, and the matrix that carries rows of the old one over to it.

        With z = N'k(L, x), and k(L', x) seen by the old map as Z(L') z(x):  z' = N''Z(L') z.
        """
        transformer = self.transformer.with_landmarks(landmarks)
        seen = self.rows(landmarks)[:, :-1].astype(np.float64)
        change = np.eye(transformer.normalisation_.shape[1] + 1, seen.shape[1] + 1)
        change[:-1, :-1] = transformer.normalisation_.astype(np.float64).T @ seen
        change[-1, :-1], change[:-1, -1], change[-1, -1] = 0.0, 0.0, 1.0
        return Mapping(transformer, self.scale, self.dtype), change

    def is_landmark(self, X: Any) -> Array:
        """Mark the rows that the map itself holds."""
        held = getattr(self.transformer, "landmarks_", None)
        if held is None:
            return np.zeros(X.shape[0], dtype=bool)
        held, X = (part.toarray() if sp.issparse(part) else part for part in (held, X.astype(held.dtype)))
        known = {row.tobytes() for row in np.ascontiguousarray(held)}
        return np.array([row.tobytes() in known for row in np.ascontiguousarray(X)], dtype=bool)

    def same_as(self, other: Mapping) -> bool:
        """Whether two maps are the same in every number."""
        mine, theirs = self.transformer, other.transformer
        if type(mine) is not type(theirs) or (self.scale, self.dtype) != (other.scale, other.dtype):
            return False
        return mine is None or _same(vars(mine), vars(theirs))

    def landmark_places(self, rows: TrainingRows) -> Array:
        """Which of the given rows the map was built from."""
        sorted_places = rows.index[self.landmarks(rows)]
        return np.asarray(sorted_places)

    def landmarks(self, rows: TrainingRows) -> Array:
        """Which sorted rows the map was built from."""
        if self.frozen:  # fitted elsewhere, perhaps on some of these rows
            return self.is_landmark(rows.X)[rows.index]
        marked = np.zeros(rows.n, dtype=bool)
        indices = getattr(self.transformer, "landmark_indices_", None)
        if indices is not None:
            marked[rows.source[indices] if _goes_in_whole(self.transformer, rows) else indices] = True
        return marked

    @property
    def threaded(self) -> bool:
        """Whether rows may be mapped in several threads: code that is not ours may not expect that."""
        return isinstance(self.transformer, FeatureMap) and not callable(self.transformer.kernel)

    def rows(self, X: Any, index: Array | None = None, threads: Threads | None = None) -> Array:
        """Map the rows (those of `index`, in its order) tile by tile and append the bias column.

        `threads` are for the tiles; None leaves all threads to BLAS.
        """
        n = X.shape[0] if index is None else len(index)

        def mapped(part: slice) -> Array:
            return self._transform(X[part] if index is None else X[index[part]])

        first = mapped(slice(0, min(n, _TILE)))
        out = np.empty((n, first.shape[1] + 1), dtype=self.dtype)

        def put(part: slice) -> None:
            tile = first if part.start == 0 else mapped(part)
            np.multiply(tile, self.dtype.type(self.scale), out=out[part, :-1])
            out[part, -1] = 1.0

        each_in(threads if self.threaded else None, put, tiles(0, n, _TILE))
        return out

    def _transform(self, X: Any) -> Array:
        X = X.astype(self.dtype, copy=False)
        if self.transformer is None:
            mapped = X
        elif isinstance(self.transformer, FeatureMap):  # the rows have been checked
            mapped = self.transformer.map(X)
        else:
            mapped = self.transformer.transform(_readable(self.transformer, X))
        return mapped.toarray() if sp.issparse(mapped) else np.asarray(mapped)
