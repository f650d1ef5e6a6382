"""Fitted feature maps on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import tiles
from .._namespace import as_float, device_of, dtype_name, like, multiply_into, namespace
from ..features import FourierFeatures, NystroemFeatures
from ..model.mapping import Mapping
from ..solver.products import width_of

_TILE_NUMBERS = 2**24  # numbers that are computed in full precision at a time
_KERNELS = ("rbf", "laplacian", "linear")


def maps_on_device(transformer: Any) -> bool:
    """Whether a map can be computed on a device."""
    if transformer is None or (isinstance(transformer, FourierFeatures) and transformer.kernel in _KERNELS):
        return True
    return isinstance(transformer, NystroemFeatures) and transformer.kernel in _KERNELS


def check_map(transformer: Any) -> None:
    """Refuse a map that cannot be computed on a device."""
    if not maps_on_device(transformer):
        raise ValueError(
            f"A device computes Nystroem and Fourier maps of the kernels {', '.join(_KERNELS)}, and the columns of a "
            f"linear kernel, not {transformer!r}: choose one of these, or give the rows as arrays of NumPy and "
            "device=None."
        )


class DeviceMap:
    """A fitted map on a device: x becomes [scale z(x), 1, 0, ...], with zeros up to an even number of bytes.

    `dtype` is that of the mapped rows; they are computed in the precision of the rows before the map.
    """

    def __init__(self, mapping: Mapping, x: Any, dtype: Any = None) -> None:
        check_map(mapping.transformer)
        self._scale = float(mapping.scale)
        self._x = x
        self.dtype = x.dtype if dtype is None else dtype
        self._function, self.n_columns = self._made(mapping)
        self.width = width_of(self.n_columns)

    def _made(self, mapping: Mapping) -> tuple[Callable[[Any, Any], None], int]:
        """Return a function that writes the features of rows, and the number of columns with the bias."""
        transformer = mapping.transformer
        if transformer is None:
            n_features = int(self._x.shape[1])
            return lambda X, out: multiply_into(X, self._scale, out), n_features + 1
        n_features = int(transformer._n_features_out)
        make = _waves if isinstance(transformer, FourierFeatures) else _similarities
        return make(transformer, self._x, self._scale), n_features + 1

    def rows(self, X: Any) -> Any:
        """Return mapped rows (n, width)."""
        xp = namespace(X)
        out = xp.empty((X.shape[0], self.width), dtype=self.dtype, device=device_of(X))
        self.write(X, out)
        return out

    def write(self, X: Any, out: Any) -> None:
        """Write mapped rows into an array (n, width)."""
        bias = self.n_columns - 1
        out[:, bias] = 1.0
        if self.width > self.n_columns:
            out[:, self.n_columns :] = 0.0
        for part in tiles(0, X.shape[0], max(1, _TILE_NUMBERS // self.width)):
            self._function(X[part, :], out[part, :bias])


def _waves(transformer: FourierFeatures, x: Any, scale: float) -> Callable[[Any, Any], None]:
    """Return the function that writes Fourier features; the phase is the frequency of a column of ones."""
    dtype = dtype_name(x)
    frequencies = like(np.vstack([transformer.frequencies_, transformer.phases_]), x, dtype)
    factor = scale * float(np.sqrt(2.0 / transformer.n_components))

    def write(X: Any, out: Any) -> None:
        xp = namespace(X)
        ones = xp.ones((X.shape[0], 1), dtype=X.dtype, device=device_of(X))
        multiply_into(xp.cos(xp.matmul(xp.concat([X, ones], axis=1), frequencies)), factor, out)

    return write


def _similarities(transformer: NystroemFeatures, x: Any, scale: float) -> Callable[[Any, Any], None]:
    """Return the function that writes Nystroem features."""
    dtype = dtype_name(x)
    landmarks = transformer.landmarks_
    landmarks = np.asarray(landmarks.toarray() if hasattr(landmarks, "toarray") else landmarks, dtype=np.float64)
    metric = np.ones(landmarks.shape[1]) if transformer.metric_ is None else np.asarray(transformer.metric_)
    # Distances do not depend on the centre, but their rounding errors do; inner products depend on both.
    is_linear = transformer.kernel == "linear"
    centre = np.zeros(landmarks.shape[1]) if is_linear else landmarks.mean(axis=0)
    anchors = like((landmarks - centre) * metric, x, dtype)
    factors, middle = like(metric, x, dtype), like(centre, x, dtype)
    normalisation = like(transformer.normalisation_, x, dtype)
    gamma = float(transformer.gamma_) if not is_linear else 0.0

    def write(X: Any, out: Any) -> None:
        xp = namespace(X)
        rows = (X - middle) * factors
        if is_linear:
            kernel = xp.matmul(rows, anchors.T)
        elif transformer.kernel == "rbf":
            squares = xp.sum(rows * rows, axis=1)[:, None] + xp.sum(anchors * anchors, axis=1)
            kernel = xp.exp(-gamma * xp.clip(squares - 2.0 * xp.matmul(rows, anchors.T), 0.0, None))
        else:
            kernel = xp.abs(rows[:, 0][:, None] - anchors[:, 0])
            for k in range(1, int(rows.shape[1])):
                kernel += xp.abs(rows[:, k][:, None] - anchors[:, k])
            kernel = xp.exp(-gamma * kernel)
        multiply_into(xp.matmul(as_float(kernel, dtype), normalisation), scale, out)

    return write
