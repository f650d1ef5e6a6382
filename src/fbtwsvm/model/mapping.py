"""The fitted feature map with its scale and the bias column."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator

from .._arrays import Array, tiles
from .._threads import Threads, each_in
from ..features._map_loops import RowLoop
from ..features.base import FeatureMap
from ..features.exact import ExactKernel
from ..features.fourier import FourierFeatures
from ..features.gradients import is_sampler, sampler_gradient
from ..features.kernels import Kernel, is_normalised
from ..features.nystroem import NystroemFeatures
from .rows import TrainingRows
from .standard_columns import StandardColumns

_TILE = 4096  # rows mapped at a time
_FEW = 4  # rows up to which a loop is faster than BLAS


def _fits_in_given_order(transformer: Any, rows: TrainingRows) -> bool:
    """Whether a map is fitted on the rows in the order given, without a sorted copy.

    The exact kernel is not: its columns are the training rows in sorted order.
    """
    return not isinstance(transformer, ExactKernel) and not rows.small and rows.n == rows.X.shape[0]


def _is_skewed_sampler(transformer: Any) -> bool:
    """Whether a map is scikit-learn's SkewedChi2Sampler."""
    from sklearn.kernel_approximation import SkewedChi2Sampler  # slow to import

    return isinstance(transformer, SkewedChi2Sampler)


def _has_normalised_kernel(transformer: Any, kernel: Any) -> bool:
    """Whether k(x, x) is 1 for all rows, up to the error of the map."""
    known = isinstance(transformer, (ExactKernel, FourierFeatures, NystroemFeatures)) or _is_skewed_sampler(transformer)
    return known and is_normalised(getattr(transformer, "kernel", kernel))


def _readable(transformer: Any, X: Any) -> Any:
    """Return the rows dense if the transformer, scikit-learn's SkewedChi2Sampler, takes no sparse ones."""
    return X.toarray() if sp.issparse(X) and _is_skewed_sampler(transformer) else X


def _same(one: Any, other: Any) -> bool:
    """Whether two attributes of maps are exactly equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if sp.issparse(one) and sp.issparse(other):
        return one.shape == other.shape and _same(one.toarray(), other.toarray())
    return pickle.dumps(one) == pickle.dumps(other)


@dataclass
class Mapping:
    """A fitted map with its scale, which turns x into [scale z(x), 1], or [scale z(x), standardised x, 1].

    Kernels with k(x, x) = 1 need no scale.  Every other map is scaled so that the mean of ||z||^2 over the training
    rows is 1; C and reg then mean the same for all maps.
    """

    transformer: Any
    scale: float
    dtype: np.dtype
    frozen: bool = False  # given by the user as fitted: never fitted again or renewed
    rounds: int = 0  # in which the metric was learned from the rows; 0 if it was not
    columns: StandardColumns | None = None  # features of the linear members of a committee

    @property
    def exact(self) -> bool:
        """Whether planes are coefficients of training rows rather than of features."""
        return isinstance(self.transformer, ExactKernel)

    @property
    def metric(self) -> Array | None:
        """Factors of the columns; None if all count alike."""
        return getattr(self.transformer, "metric_", None)

    @property
    def differentiable(self) -> bool:
        """Whether the map has a gradient."""
        return self.transformer is None or self.threaded or is_sampler(self.transformer)

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

        `y` are the labels of the given rows, for transformers that use them.  For `known` see `scaled_rows`.
        """
        mapping = cls.fitted(transformer, rows, y)
        return mapping, mapping.scaled_rows(rows, kernel, threads, known)

    @classmethod
    def fitted(cls, transformer: Any, rows: TrainingRows, y: Array) -> Mapping:
        """Fit the map, without its scale; `y` are the labels of the given rows, for transformers that use them."""
        if transformer is not None:
            in_order = _fits_in_given_order(transformer, rows)
            given, labels = (rows.X, y) if in_order else (rows.X[rows.index], y[rows.index])
            transformer.fit(_readable(transformer, given), labels)
        frozen = isinstance(transformer, FrozenEstimator)
        mapping = cls(transformer.estimator if frozen else transformer, 1.0, rows.X.dtype, frozen)
        if mapping.exact:  # float32 would not be precise enough for a positive definite matrix
            mapping.dtype = np.dtype(np.float64)
        return mapping

    def scaled_rows(
        self,
        rows: TrainingRows,
        kernel: str | Kernel,
        threads: Threads | None = None,
        known: Callable[[Mapping], Array | None] | None = None,
    ) -> Array:
        """Return the mapped training rows (or their kernel matrix, without bias), and set the scale.

        `known` may return all given rows mapped by an equal map that is not yet scaled, if they were computed before;
        otherwise it returns None.
        """
        known_rows = None if known is None else known(self)
        mapped = self.rows(rows.X, rows.index, threads) if known_rows is None else known_rows[rows.index]
        if self.needs_scale(kernel):
            plain = mapped[:, :-1]
            squares = np.diag(plain) if self.exact else np.einsum("ij,ij->i", plain, plain)
            self.set_scale(float(np.average(squares, weights=rows.weights)))
            plain *= mapped.dtype.type(self.scale)
        return np.ascontiguousarray(mapped[:, :-1]) if self.exact else mapped

    def needs_scale(self, kernel: str | Kernel) -> bool:
        """Whether the map has a scale that is found from the training rows."""
        return not _has_normalised_kernel(self.transformer, kernel)

    def set_scale(self, mean: float) -> None:
        """Set the scale, from the mean of ||z||^2 without it."""
        # A column of the exact kernel is an inner product, so its scale is the square of that of a feature.
        self.scale = 1.0 if mean <= 0 else (1.0 / mean if self.exact else 1.0 / np.sqrt(mean))

    @property
    def landmark_rows(self) -> Any:
        """The landmarks, which are rows as they were given, or such means of rows; None if the map has none."""
        return getattr(self.transformer, "landmarks_", None)

    @property
    def data_independent(self) -> bool:
        """Whether the map depends on gamma and the seed only, not on the rows that it was fitted on."""
        return self.frozen or isinstance(self.transformer, FourierFeatures)

    @property
    def renewable(self) -> bool:
        """Whether the map has landmarks that can be replaced, and a residual 1 - ||z||^2 that tells when to do so."""
        return isinstance(self.transformer, NystroemFeatures) and self.bounded and not self.frozen

    @property
    def nested(self) -> bool:
        """Whether the first m features are those of a good map with m features: landmarks in the order of pivots."""
        if not isinstance(self.transformer, NystroemFeatures):
            return False
        pivots = np.diag(self.transformer.normalisation_)  # 1 / L_ii, which grows in that order, up to rounding
        return bool((pivots >= 0.5 * np.maximum.accumulate(pivots)).all())

    @property
    def bounded(self) -> bool:
        """Whether no row is mapped far out, however large its values are."""
        landmarks = isinstance(self.transformer, NystroemFeatures) and is_normalised(self.transformer.kernel)
        return landmarks or isinstance(self.transformer, FourierFeatures)

    def expected_residual(self) -> float:
        """Return the mean of 1 - ||z||^2 over the landmarks, each left out of the map in turn: 1 / [K^-1]_ii."""
        return float(np.mean(1.0 / np.square(self.transformer.normalisation_.astype(np.float64)).sum(axis=1)))

    @property
    def n_plain(self) -> int:
        """Number of standardised columns beside the features of the map."""
        return 0 if self.columns is None else len(self.columns)

    def is_landmark(self, X: Any) -> Array:
        """Mark the rows that are equal to a landmark of the map."""
        landmarks = getattr(self.transformer, "landmarks_", None)
        if landmarks is None:
            return np.zeros(X.shape[0], dtype=bool)
        pair = (landmarks, X.astype(landmarks.dtype))
        landmarks, X = (part.toarray() if sp.issparse(part) else part for part in pair)
        keys = {row.tobytes() for row in np.ascontiguousarray(landmarks)}
        return np.array([row.tobytes() in keys for row in np.ascontiguousarray(X)], dtype=bool)

    def same_as(self, other: Mapping) -> bool:
        """Whether two maps are exactly equal."""
        one, two = self.transformer, other.transformer
        if type(one) is not type(two) or (self.scale, self.dtype) != (other.scale, other.dtype):
            return False
        if self.n_plain != other.n_plain:
            return False
        return one is None or _same(vars(one), vars(two))

    def same_metric(self, other: Mapping) -> bool:
        """Whether the columns have equal factors in two maps."""
        return _same(self.metric, other.metric)

    def landmarks(self, rows: TrainingRows) -> Array:
        """Mark the sorted rows that are landmarks."""
        if self.frozen:  # fitted by the user, perhaps on some of these rows
            return self.is_landmark(rows.X)[rows.index]
        marked = np.zeros(rows.n, dtype=bool)
        indices = getattr(self.transformer, "landmark_indices_", None)
        if indices is not None:
            marked[rows.source[indices] if _fits_in_given_order(self.transformer, rows) else indices] = True
        return marked

    @property
    def threaded(self) -> bool:
        """Whether rows may be mapped in several threads: a transformer or kernel of the user may not allow it."""
        return isinstance(self.transformer, FeatureMap) and not callable(self.transformer.kernel)

    def rows(self, X: Any, index: Array | None = None, threads: Threads | None = None) -> Array:
        """Return the rows (those of `index`, in its order) mapped tile by tile, with the bias column.

        `threads` work on the tiles; None leaves all threads to BLAS.
        """
        n = X.shape[0] if index is None else len(index)
        if n == 0:  # a transformer of the user may refuse that
            return self.rows(np.zeros((1, X.shape[1]), dtype=self.dtype))[:0]
        if n <= _FEW and index is None and (few := self._few_rows(X)) is not None:
            return few

        def mapped(part: slice) -> Array:
            return self._transform(X[part] if index is None else X[index[part]])

        first = mapped(slice(0, min(n, _TILE)))
        n_features = first.shape[1]
        out = np.empty((n, n_features + self.n_plain + 1), dtype=self.dtype)

        def put(part: slice) -> None:
            tile = first if part.start == 0 else mapped(part)
            np.multiply(tile, self.dtype.type(self.scale), out=out[part, :n_features])
            if self.columns is not None:
                self.columns.write(X[part] if index is None else X[index[part]], out[part, n_features:-1])
            out[part, -1] = 1.0

        each_in(threads if self.threaded else None, put, tiles(0, n, _TILE))
        return out

    @cached_property
    def _loop(self) -> RowLoop | None:
        """The compiled loop for a few dense rows; None if there is none for this map."""
        transformer = self.transformer
        return transformer.row_loop() if isinstance(transformer, (NystroemFeatures, FourierFeatures)) else None

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the arrays of the loop, which follow from the rest."""
        return {name: value for name, value in vars(self).items() if name != "_loop"}

    def _few_rows(self, X: Any) -> Array | None:
        """Return a few mapped rows by a compiled loop; None if there is none for these."""
        loop = self._loop
        if loop is None or type(X) is not np.ndarray or X.dtype != self.dtype or not X.flags.c_contiguous:
            return None
        n_features = self.transformer._n_features_out
        out = np.empty((len(X), n_features + self.n_plain + 1), dtype=self.dtype)
        loop(X, out)
        if self.scale != 1.0:
            out *= self.dtype.type(self.scale)
        if self.columns is not None:
            self.columns.write(X, out[:, n_features:-1])
        out[:, -1] = 1.0
        return out

    def gradient(self, X: Array, weights: Array) -> Array:
        """Return the gradients of weights_i.(scale z(x)) at dense rows x_i, (n, n_columns); `weights` have no bias."""
        X = X.astype(np.float64, copy=False)
        if self.columns is not None:
            own = weights.shape[1] - len(self.columns)
            plain = self.columns.gradient(X, weights[:, own:])
            return plain + replace(self, columns=None).gradient(X, weights[:, :own])
        weights = self.scale * weights
        if self.transformer is None:
            return weights
        if isinstance(self.transformer, FeatureMap):
            return self.transformer.gradient(X, weights)
        return sampler_gradient(self.transformer, X, weights)

    def _transform(self, X: Any) -> Array:
        X = X.astype(self.dtype, copy=False)
        if self.transformer is None:
            mapped = X
        elif isinstance(self.transformer, FeatureMap):  # `map` skips the checks, which were done before
            mapped = self.transformer.map(X)
        else:
            mapped = self.transformer.transform(_readable(self.transformer, X))
        return mapped.toarray() if sp.issparse(mapped) else np.asarray(mapped)
