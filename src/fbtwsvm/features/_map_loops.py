"""The compiled loops that map a few rows: for one row, each call of NumPy would take longer than the work itself."""

from __future__ import annotations

import numpy as np

from .._arrays import compiled


@compiled
def rbf_features(rows, landmarks, squared_metric, gamma, normalisation, out):
    """Write z = N'k(L, x) of an rbf kernel into the first columns of `out`."""
    n_landmarks, n_features = normalisation.shape
    # Work space of their own, so that the compiler knows that nothing overlaps.
    similarities, mapped = np.empty(n_landmarks, dtype=rows.dtype), np.empty(n_features, dtype=rows.dtype)
    for i in range(rows.shape[0]):
        row = rows[i]
        for m in range(n_landmarks):
            distance = rows.dtype.type(0.0)
            for k in range(rows.shape[1]):
                apart = row[k] - landmarks[m, k]
                distance += squared_metric[k] * apart * apart
            similarities[m] = -gamma * distance
        for m in range(n_landmarks):
            similarities[m] = np.exp(similarities[m])
        mapped[:] = 0.0
        for m in range(n_landmarks):
            similarity = similarities[m]
            for k in range(n_features):  # from m on would do, and is slower
                mapped[k] += similarity * normalisation[m, k]
        for k in range(n_features):
            out[i, k] = mapped[k]


@compiled
def wave_features(rows, frequencies, phases, scale, out):
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
