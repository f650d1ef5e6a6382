"""The compiled loops that map a few rows: for one row, each call of NumPy would take longer than the work itself."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .._arrays import Array, compiled


class RowLoop(Protocol):
    """Maps a few dense rows, in the precision of the map, into the first columns of `out`."""

    def __call__(self, rows: Array, out: Array) -> None:
        """Map the rows."""


class RbfLoop:
    """The loop of Nystroem features with an rbf kernel, and its arrays in the order in which it reads them."""

    def __init__(self, landmarks: Array, metric: Array | None, gamma: float, normalisation: Array) -> None:
        dtype, n_columns = normalisation.dtype, landmarks.shape[1]
        self.columns = np.ascontiguousarray(landmarks.T, dtype=dtype)
        squares = np.ones(n_columns) if metric is None else np.square(np.asarray(metric, dtype=np.float64))
        self.factors = (gamma * squares).astype(dtype)
        self.inverse = np.ascontiguousarray(normalisation.T)

    def __call__(self, rows: Array, out: Array) -> None:
        """Map the rows."""
        _rbf_features(rows, self.columns, self.factors, self.inverse, out)


class WaveLoop:
    """The loop of Fourier features."""

    def __init__(self, frequencies: Array, phases: Array) -> None:
        self.frequencies, self.phases = frequencies, phases
        self.scale = phases.dtype.type(np.sqrt(2.0 / len(phases)))

    def __call__(self, rows: Array, out: Array) -> None:
        """Map the rows."""
        _wave_features(rows, self.frequencies, self.phases, self.scale, out)


@compiled
def _rbf_features(rows, columns, factors, inverse, out):
    """Write z = L^-1 k(landmarks, x) into the first columns of `out`; column k of the landmarks is columns[k]."""
    n, zero = inverse.shape[0], rows.dtype.type(0.0)
    similarities = np.empty(n, dtype=rows.dtype)  # work space of its own, so that the compiler knows nothing overlaps
    for i in range(rows.shape[0]):
        for m in range(n):
            similarities[m] = zero
        for k in range(columns.shape[0]):
            value, factor, column = rows[i, k], factors[k], columns[k]
            for m in range(n):
                apart = value - column[m]
                similarities[m] -= factor * apart * apart
        for m in range(n):
            similarities[m] = np.exp(similarities[m])
        k = 0
        while k + 4 <= n:  # four rows of the triangular matrix at a time: each similarity is read once for all four
            first, second, third, fourth = inverse[k], inverse[k + 1], inverse[k + 2], inverse[k + 3]
            a, b, c, d = zero, zero, zero, zero
            for m in range(k + 4):
                similarity = similarities[m]
                a += similarity * first[m]
                b += similarity * second[m]
                c += similarity * third[m]
                d += similarity * fourth[m]
            out[i, k], out[i, k + 1], out[i, k + 2], out[i, k + 3] = a, b, c, d
            k += 4
        while k < n:
            last, a = inverse[k], zero
            for m in range(k + 1):
                a += similarities[m] * last[m]
            out[i, k] = a
            k += 1


@compiled
def _wave_features(rows, frequencies, phases, scale, out):
    """Write scale cos(x W + phases) into the first columns of `out`."""
    for i in range(rows.shape[0]):
        row, mapped = rows[i], out[i]
        for k in range(phases.shape[0]):
            mapped[k] = phases[k]
        for j in range(rows.shape[1]):
            value, frequency = row[j], frequencies[j]
            for k in range(phases.shape[0]):
                mapped[k] += value * frequency[k]
        for k in range(phases.shape[0]):
            mapped[k] = scale * np.cos(mapped[k])
