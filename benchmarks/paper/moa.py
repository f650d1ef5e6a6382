"""The rows that the paper's synthetic streams really have: MOA's generators with Java's random numbers.

The library's own generators draw other concepts, so their accuracies cannot be compared with printed ones.  These make
the rows of RBF, HYPER and RTG with the seeds the paper used; a test compares the first 130,000 with MOA's own, of which
the authors published 13,000.
"""

import math

import numba as nb
import numpy as np

_MASK = (1 << 48) - 1


@nb.njit(cache=True)
def _next(state, bits):
    """java.util.Random: a linear congruence of 48 bits, of which the upper ones are used."""
    state[0] = (state[0] * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
    return state[0] >> (48 - bits)


@nb.njit(cache=True)
def _double(state):
    return ((_next(state, 26) << 27) + _next(state, 27)) / 9007199254740992.0


@nb.njit(cache=True)
def _integer(state, bound):
    if bound & -bound == bound:
        return (bound * _next(state, 31)) >> 31
    while True:
        bits = _next(state, 31)
        value = bits % bound
        if bits - value + (bound - 1) < 2147483648:
            return value


@nb.njit(cache=True)
def _normal(state, spare):
    """Polar method; every second number is left over from the one before."""
    if spare[0] != 0.0:
        spare[0] = 0.0
        return spare[1]
    while True:
        a, b = 2.0 * _double(state) - 1.0, 2.0 * _double(state) - 1.0
        s = a * a + b * b
        if 0.0 < s < 1.0:
            factor = math.sqrt(-2.0 * math.log(s) / s)
            spare[0], spare[1] = 1.0, b * factor
            return a * factor


def _java(seed):
    return np.array([(seed ^ 0x5DEECE66D) & _MASK], dtype=np.int64)


@nb.njit(cache=True)
def _centroids(state, centres, labels, spreads, weights, n_classes):
    for c in range(len(labels)):
        for j in range(centres.shape[1]):
            centres[c, j] = _double(state)
        labels[c] = _integer(state, n_classes)
        spreads[c] = _double(state)
        weights[c] = _double(state)


@nb.njit(cache=True)
def _rbf(state, spare, centres, labels, spreads, weights, X, y):
    total = weights.sum()
    for r in range(len(y)):
        place, c, below = _double(state) * total, 0, 0.0
        while below <= place and c < len(weights):
            below += weights[c]
            c += 1
        c -= 1
        length = 0.0
        for j in range(X.shape[1]):
            X[r, j] = 2.0 * _double(state) - 1.0
            length += X[r, j] * X[r, j]
        scale = _normal(state, spare) * spreads[c] / math.sqrt(length)
        for j in range(X.shape[1]):
            X[r, j] = centres[c, j] + X[r, j] * scale
        y[r] = labels[c]


@nb.njit(cache=True)
def _hyper(state, weights, noise, X, y):
    half = 0.5 * weights.sum()
    for r in range(len(y)):
        total = 0.0
        for j in range(X.shape[1]):
            X[r, j] = _double(state)
            total += weights[j] * X[r, j]
        above = total >= half
        if 1 + _integer(state, 100) <= noise:
            above = not above
        y[r] = 1 if above else -1


@nb.njit(cache=True)
def _grow(state, node, level, depth, low, high, columns, places, leaves):
    """Grow a tree that is numbered as a heap, down to its depth."""
    if level >= depth:
        columns[node] = -1
        leaves[node] = _integer(state, 2)
        return
    column = _integer(state, len(low))
    place = (high[column] - low[column]) * _double(state) + low[column]
    columns[node], places[node] = column, place
    upper, lower = high.copy(), low.copy()
    upper[column], lower[column] = place, place
    _grow(state, 2 * node + 1, level + 1, depth, low, upper, columns, places, leaves)
    _grow(state, 2 * node + 2, level + 1, depth, lower, high, columns, places, leaves)


@nb.njit(cache=True)
def _tree(state, columns, places, leaves, X, y):
    for r in range(len(y)):
        for j in range(X.shape[1]):
            X[r, j] = _double(state)
        node = 0
        while columns[node] >= 0:
            node = 2 * node + (1 if X[r, columns[node]] < places[node] else 2)
        y[r] = 2 * leaves[node] - 1


def blocks(name, n, size=50_000, seed=1):
    """Yield the first n rows of MOA's stream "RBF" (5 classes), "HYPER" or "RTG", so many at a time."""
    state, model, spare = _java(seed), _java(seed), np.zeros(2)
    if name == "RBF":
        parts = np.empty((50, 10)), np.empty(50, dtype=np.int64), np.empty(50), np.empty(50)
        _centroids(model, *parts, 5)
    elif name == "HYPER":
        parts = np.array([_double(state) for _ in range(10)]), 5
    elif name == "RTG":
        parts = np.empty(15, dtype=np.int64), np.empty(15), np.empty(15, dtype=np.int64)
        _grow(model, 0, 0, 3, np.zeros(10), np.ones(10), *parts)
    else:
        raise ValueError(f"There is no replica of {name!r}.")
    for first in range(0, n, size):
        X, y = np.empty((min(size, n - first), 10)), np.empty(min(size, n - first), dtype=np.int64)
        if name == "RBF":
            _rbf(state, spare, *parts, X, y)
        elif name == "HYPER":
            _hyper(state, *parts, X, y)
        else:
            _tree(state, *parts, X, y)
        yield X, y
