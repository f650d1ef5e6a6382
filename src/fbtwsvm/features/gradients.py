"""Gradients in closed form: how a weighted sum of similarities, or of features of an additive map, changes with x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import Array
from .kernels import SKEW, Kernel, scaled, similarity

# Slopes of a similarity k(x, y) in one column, from k, x and y.
_OF_COLUMN: dict[str, Callable[[Array, Array, Array], Array]] = {
    "laplacian": lambda k, x, y: -k * np.sign(x - y),
    "chi2": lambda k, x, y: 2.0 * np.square(np.divide(y, x + y, out=np.zeros_like(k), where=x + y > 0)),
    "intersection": lambda k, x, y: 0.5 * (1.0 + np.sign(y - x)),
    "skewed_chi2": lambda k, x, y: -0.5 * k * np.tanh(0.5 * np.log((x + SKEW) / (y + SKEW))) / (x + SKEW),
    "skewed_intersection": lambda k, x, y: -0.5 * k * np.sign(x - y) / (x + SKEW),
}


def kernel_gradient(
    kernel: str | Kernel, gamma: float, X: Array, Y: Any, weights: Array, similarities: Array | None = None
) -> Array:
    """Return the gradients of sum_j weights_ij k(x, y_j) at the rows x_i, (n, n_columns).

    `similarities` are k(x_i, y_j), if they are known.  Where a kernel has a kink, x_d = y_d, the slope is the mean of
    those on both sides.
    """
    if callable(kernel):
        raise ValueError("A kernel that is given as a function has no gradient: use one that is given by name.")
    if kernel == "linear":
        return np.asarray(weights @ Y)
    if similarities is None:
        similarities = similarity(kernel, gamma)(X, Y)
    if kernel == "rbf":
        pulls = weights * similarities
        gradient: Array = 2.0 * gamma * (np.asarray(pulls @ Y) - pulls.sum(axis=1)[:, None] * X)
        return gradient
    dense, slope = Y.toarray() if sp.issparse(Y) else Y, _OF_COLUMN[kernel]
    factor = gamma if kernel == "laplacian" else 1.0
    columns = [(weights * slope(similarities, X[:, [d]], dense[:, d])).sum(axis=1) for d in range(X.shape[1])]
    return np.asarray(factor * np.stack(columns, axis=1))


def scaled_kernel_gradient(transformer: Any, anchors: Any, X: Array, weights: Array) -> Array:
    """Return the same for the kernel, gamma and metric of a fitted map, with similarities to `anchors`."""
    rows, others = scaled(X, transformer.metric_), scaled(anchors, transformer.metric_)
    slopes = kernel_gradient(transformer.kernel, transformer.gamma_, rows, others, weights)
    return np.asarray(scaled(slopes, transformer.metric_))


def additive_gradient(X: Array, weights: Array, spectrum: Array, interval: float) -> Array:
    """Return the gradients of weights_i.z(x) for the map of an additive kernel.

    Each column x has the feature sqrt(x s_0) and, for each further value s_j of the spectrum, sqrt(2 x s_j) times
    cosine and sine of j interval log(x).  Where x = 0 the features have no slope: the gradient is zero there.
    """
    present = X > 0
    root = np.sqrt(np.where(present, X, 1.0))
    parts = np.split(weights, 2 * len(spectrum) - 1, axis=1)
    gradient = 0.5 * np.sqrt(spectrum[0]) * parts[0]
    for j, value in enumerate(spectrum[1:], start=1):
        frequency, angle = j * interval, 2.0 * j * interval * np.log(root)
        cosine, sine = np.cos(angle), np.sin(angle)
        slopes = parts[2 * j - 1] * (0.5 * cosine - frequency * sine) + parts[2 * j] * (0.5 * sine + frequency * cosine)
        gradient = gradient + np.sqrt(2.0 * value) * slopes
    return np.where(present, gradient / root, 0.0)


def wave_gradient(X: Array, weights: Array, frequencies: Array, phases: Array, shift: float | None) -> Array:
    """Return the gradients of weights_i.z(x) for the cosines of frequencies.x, or of frequencies.log(x + shift)."""
    arguments = X if shift is None else np.log(X + shift)
    waves = -np.sqrt(2.0 / len(phases)) * np.sin(arguments @ frequencies + phases)
    gradient: Array = (weights * waves) @ frequencies.T
    return gradient if shift is None else gradient / (X + shift)


def is_sampler(transformer: Any) -> bool:
    """Whether a map is one of scikit-learn's, whose gradient is known."""
    from sklearn.kernel_approximation import AdditiveChi2Sampler, SkewedChi2Sampler  # slow to import

    return isinstance(transformer, AdditiveChi2Sampler | SkewedChi2Sampler)


def sampler_gradient(transformer: Any, X: Array, weights: Array) -> Array:
    """Return the gradients of weights_i.z(x) for a map of scikit-learn, or refuse a map that is not known."""
    from sklearn.kernel_approximation import AdditiveChi2Sampler  # slow to import

    if not is_sampler(transformer):
        raise ValueError(f"The map {type(transformer).__name__} has no gradient: use a kernel that is given by name.")
    if isinstance(transformer, AdditiveChi2Sampler):
        interval = {1: 0.8, 2: 0.5, 3: 0.4}.get(transformer.sample_steps, 0.0)
        interval = interval if transformer.sample_interval is None else transformer.sample_interval
        spectrum = interval / np.cosh(np.pi * interval * np.arange(transformer.sample_steps))
        return additive_gradient(X, weights, spectrum, interval)
    frequencies, phases = transformer.random_weights_, transformer.random_offset_
    return wave_gradient(X, weights, frequencies, phases, float(transformer.skewedness))
