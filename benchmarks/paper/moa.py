"""The rows that the paper's synthetic streams really have: MOA's generators with Java's random numbers.

The library's own generators draw other concepts, so their accuracies cannot be compared with printed ones. These make
the rows of RBF, HYPER and RTG with the seeds of the paper; a test compares them with MOA's own.
"""

import math

import numba as nb
import numpy as np


def _java(seed):
    """Return the state of java.util.Random: 48 bits."""
    return np.array([(seed ^ 0x5DEECE66D) & ((1 << 48) - 1)], dtype=np.int64)


@nb.njit(cache=True)
def _next(state, bits):
    """Step the linear congruence and return its upper bits."""
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
def _tree(state, columns, places, leaves, X, y):
    for r in range(len(y)):
        for j in range(X.shape[1]):
            X[r, j] = _double(state)
        node = 0
        while columns[node] >= 0:
            node = 2 * node + (1 if X[r, columns[node]] < places[node] else 2)
        y[r] = 2 * leaves[node] - 1


def _centroids(state):
    """Return centres, labels, spreads and weights of 50 centroids of five classes in ten columns."""
    rows = [
        ([_double(state) for _ in range(10)], _integer(state, 5), _double(state), _double(state)) for _ in range(50)
    ]
    centres, labels, spreads, weights = zip(*rows, strict=True)
    return np.array(centres), np.array(labels), np.array(spreads), np.array(weights)


def _grow(state, tree, node, level, low, high):
    """Grow a tree of depth three that is numbered as a heap: columns, thresholds and classes of leaves."""
    columns, places, leaves = tree
    if level == 3:
        columns[node], leaves[node] = -1, _integer(state, 2)
        return tree
    column = columns[node] = _integer(state, 10)
    place = places[node] = (high[column] - low[column]) * _double(state) + low[column]
    inside = np.arange(10) == column
    _grow(state, tree, 2 * node + 1, level + 1, low, np.where(inside, place, high))
    return _grow(state, tree, 2 * node + 2, level + 1, np.where(inside, place, low), high)


def blocks(name, n, size=50_000, seed=1):
    """Yield the first n rows of MOA's stream "RBF" (5 classes), "HYPER" or "RTG", so many at a time."""
    state = _java(seed)
    if name == "RBF":
        fill, parts = _rbf, (np.zeros(2), *_centroids(_java(seed)))
    elif name == "HYPER":
        fill, parts = _hyper, (np.array([_double(state) for _ in range(10)]), 5)
    else:
        tree = np.empty(15, np.int64), np.empty(15), np.empty(15, np.int64)
        fill, parts = _tree, _grow(_java(seed), tree, 0, 0, np.zeros(10), np.ones(10))
    for first in range(0, n, size):
        X, y = np.empty((min(size, n - first), 10)), np.empty(min(size, n - first), dtype=np.int64)
        fill(state, *parts, X, y)
        yield X, y
