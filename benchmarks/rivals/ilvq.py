"""ILVQ: incremental learning vector quantisation, as described by Losing, Hammer and Wersing (IJCNN 2015).

Prototypes move by the gradient of generalised LVQ (Sato and Yamada 1996): with d the squared distance to the nearest
prototype of the row's own class (+) and of any other class (-), a row costs

    phi((d+ - d-) / (d+ + d-)),   phi(m) = 1 / (1 + exp(-m)).

Whenever so many rows were classified wrongly, one prototype is added: of some rows drawn from a window of recent ones,
the place that makes the cost of the whole window least.
"""

import math

import numba as nb
import numpy as np

from .base import OnePass, set_seed, squared_distance


@nb.njit(cache=True)
def cost(own, other):
    if own == other:
        return 0.5
    if np.isinf(other):
        return 1.0 / (1.0 + math.e)
    if np.isinf(own):
        return 1.0 / (1.0 + 1.0 / math.e)
    return 1.0 / (1.0 + math.exp(-(own - other) / (own + other)))


@nb.njit(cache=True)
def _nearest(x, label, W, labels, size):
    own, other, near, far = -1, -1, np.inf, np.inf
    for p in range(size):
        distance = squared_distance(x, W[p])
        if labels[p] == label:
            if distance < near:
                own, near = p, distance
        elif distance < far:
            other, far = p, distance
    return own, other, near, far


@nb.njit(cache=True)
def attract_and_repel(x, own, other, near, far, W, rate):
    """Move both prototypes down the gradient of the row's cost."""
    total = near + far
    if total == 0.0:
        return
    value = 1.0 / (1.0 + math.exp(-(near - far) / total))
    slope = value * (1.0 - value)
    pull, push = rate * slope * 4.0 * far / total**2, rate * slope * 4.0 * near / total**2
    for j in range(x.shape[0]):
        W[own, j] += pull * (x[j] - W[own, j])
        W[other, j] -= push * (x[j] - W[other, j])


@nb.njit(cache=True)
def best_place(window, window_labels, near, far, candidates):
    """Return which candidate, as a new prototype of its own class, makes the cost of the window least."""
    best, least = -1, np.inf
    for c in candidates:
        total = 0.0
        for r in range(len(window)):
            distance = squared_distance(window[r], window[c])
            if window_labels[r] == window_labels[c]:
                total += cost(min(near[r], distance), far[r])
            else:
                total += cost(near[r], min(far[r], distance))
        if total < least:
            best, least = c, total
    return best


@nb.njit(cache=True)
def _learn(X, y, rate, most_errors, n_candidates, W, labels, size, window, window_labels, state):
    """Return the number of prototypes; state holds the errors since the last insertion and the rows seen so far."""
    length = len(window)
    for r in range(len(X)):
        x, label = X[r], y[r]
        place = state[1] % length
        window[place], window_labels[place] = x, label
        state[1] += 1
        own, other, near, far = _nearest(x, label, W, labels, size)
        if own < 0:  # the first row of a class is its first prototype
            W[size], labels[size] = x, label
            size += 1
            continue
        if other < 0:
            continue
        if far < near:
            state[0] += 1
        attract_and_repel(x, own, other, near, far, W, rate)
        if state[0] >= most_errors:
            state[0] = 0
            filled = min(state[1], length)
            rows, row_labels = window[:filled], window_labels[:filled]
            nears, fars = np.empty(filled), np.empty(filled)
            for i in range(filled):
                _, _, nears[i], fars[i] = _nearest(rows[i], row_labels[i], W, labels, size)
            chosen = best_place(rows, row_labels, nears, fars, np.random.permutation(filled)[:n_candidates])
            W[size], labels[size] = rows[chosen], row_labels[chosen]
            size += 1
    return size


class ILVQ(OnePass):
    """Incremental learning vector quantisation.

    `rate` is the learning rate in units of the columns' variance in the first call; a prototype is added after
    `most_errors` wrong answers, at the best of so many `candidates` among the last `window` rows.
    """

    def __init__(self, rate=0.1, most_errors=5, window=500, candidates=20, random_state=0):
        self.rate = rate
        self.most_errors = most_errors
        self.window = window
        self.candidates = candidates
        self.random_state = random_state

    def _start(self, X):
        self._W, self._labels, self.n_prototypes_ = np.zeros((0, X.shape[1])), np.zeros(0, dtype=np.int64), 0
        self._window, self._window_labels = np.zeros((self.window, X.shape[1])), np.zeros(self.window, np.int64)
        self._state = np.zeros(2, dtype=np.int64)
        self._step = self.rate * float(X.var(axis=0).sum())
        set_seed(np.random.RandomState(self.random_state).randint(2**31 - 1))

    def _learn(self, X, labels):
        known = self.n_prototypes_
        self._W = np.concatenate([self._W[:known], np.zeros_like(X)])  # room for as many as there are rows
        self._labels = np.concatenate([self._labels[:known], np.zeros_like(labels)])
        parts = (self._W, self._labels, known, self._window, self._window_labels, self._state)
        self.n_prototypes_ = _learn(X, labels, self._step, self.most_errors, self.candidates, *parts)

    def _winners(self, X):
        W = self._W[: self.n_prototypes_]
        return self._labels[((W**2).sum(axis=1) - 2.0 * X @ W.T).argmin(axis=1)]
