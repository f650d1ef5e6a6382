"""LASVM: the online SVM of Bordes, Ertekin, Weston and Bottou (JMLR 2005), one epoch and finishing.

Coefficients a_i = y_i alpha_i lie in [min(0, C y_i), max(0, C y_i)], and g_i = y_i - sum_s a_s k(x_i, x_s) for the rows
s that are held.  A pair (i, j) with a_i < max, a_j > min and g_i - g_j > tol violates the optimum; weight goes from j
to i:

    step = min((g_i - g_j) / (k_ii + k_jj - 2 k_ij), max_i - a_i, a_j - min_j).

PROCESS takes a new row in and makes one such step with it; REPROCESS makes one with the worst pair held and lets go of
rows without weight that are far from violating.  Finishing repeats REPROCESS until no pair violates.
"""

import numba as nb
import numpy as np

from .base import OneVsOne, rbf, similarity


@nb.njit(cache=True)
def _extremes(a, g, y, size, C):
    """Return the worst pair: i with the largest g that may rise, j with the smallest g that may fall."""
    i, j = -1, -1
    for s in range(size):
        if a[s] < max(0.0, C * y[s]) and (i < 0 or g[s] > g[i]):
            i = s
        if a[s] > min(0.0, C * y[s]) and (j < 0 or g[s] < g[j]):
            j = s
    return i, j


@nb.njit(cache=True)
def _step(i, j, a, g, y, K, size, C):
    curvature = max(K[i, i] + K[j, j] - 2.0 * K[i, j], 1e-12)
    step = min((g[i] - g[j]) / curvature, max(0.0, C * y[i]) - a[i], a[j] - min(0.0, C * y[j]))
    a[i] += step
    a[j] -= step
    for s in range(size):
        g[s] -= step * (K[i, s] - K[j, s])


@nb.njit(cache=True)
def _take(x, sign, gamma, X, a, g, y, K, size):
    X[size], y[size], a[size] = x, sign, 0.0
    value = 0.0
    for s in range(size):
        K[size, s] = K[s, size] = similarity(x, X[s], gamma)
        value += a[s] * K[size, s]
    K[size, size] = 1.0
    g[size] = sign - value
    return size + 1


@nb.njit(cache=True)
def _drop(s, X, a, g, y, K, size):
    last = size - 1
    X[s], a[s], g[s], y[s] = X[last], a[last], g[last], y[last]
    K[s, :size] = K[last, :size]
    K[:size, s] = K[:size, last]
    K[s, s] = 1.0
    return last


@nb.njit(cache=True)
def _process(x, sign, C, gamma, tol, X, a, g, y, K, size):
    size = _take(x, sign, gamma, X, a, g, y, K, size)
    new = size - 1
    i, j = _extremes(a, g, y, size, C)
    if sign > 0:
        i = new
    else:
        j = new
    if i >= 0 and j >= 0 and g[i] - g[j] > tol:  # otherwise REPROCESS will see whether the row may go
        _step(i, j, a, g, y, K, size, C)
    return size


@nb.njit(cache=True)
def _reprocess(C, tol, slack, X, a, g, y, K, size, scalars):
    """Return the number of rows held and whether a pair still violates."""
    i, j = _extremes(a, g, y, size, C)
    if i < 0 or j < 0:
        return size, False
    if g[i] - g[j] > tol:
        _step(i, j, a, g, y, K, size, C)
        i, j = _extremes(a, g, y, size, C)
    high, low = g[i], g[j]
    s = 0
    while s < size:
        if a[s] == 0.0 and ((y[s] < 0.0 and g[s] >= high + slack) or (y[s] > 0.0 and g[s] <= low - slack)):
            size = _drop(s, X, a, g, y, K, size)
        else:
            s += 1
    scalars[0] = (high + low) / 2.0
    return size, high - low > tol


@nb.njit(cache=True)
def _learn(rows, signs, first, C, gamma, tol, slack, X, a, g, y, K, size, scalars):
    """Process and reprocess row after row; stops where the arrays are full."""
    for r in range(first, len(rows)):
        if size + 1 > len(y):
            return size, r
        size = _process(rows[r], signs[r], C, gamma, tol, X, a, g, y, K, size)
        size, _ = _reprocess(C, tol, slack, X, a, g, y, K, size, scalars)
    return size, len(rows)


@nb.njit(cache=True)
def _finish(C, tol, slack, X, a, g, y, K, size, scalars, most):
    for _ in range(most):
        size, more = _reprocess(C, tol, slack, X, a, g, y, K, size, scalars)
        if not more:
            break
    return size


class OnlineMachine:
    """One binary problem."""

    def __init__(self, C, gamma, tol, slack, columns):
        self.C, self.gamma, self.tol, self.slack = float(C), float(gamma), float(tol), float(slack)
        self.X, self.K, self.size = np.empty((8, columns)), np.empty((8, 8)), 0
        self.a, self.g, self.y = np.empty(8), np.empty(8), np.empty(8)
        self._scalars = np.zeros(1)

    def learn(self, X, signs):
        """Process rows, one after another."""
        done = 0
        while done < len(X):
            held = (self.X, self.a, self.g, self.y, self.K)
            self.size, done = _learn(
                X, signs, done, self.C, self.gamma, self.tol, self.slack, *held, self.size, self._scalars
            )
            if done < len(X):
                self._grow()

    def finish(self):
        """Step until no pair violates; at most 100 steps a row held, plus 10,000."""
        held = (self.X, self.a, self.g, self.y, self.K)
        most = 100 * self.size + 10_000
        self.size = _finish(self.C, self.tol, self.slack, *held, self.size, self._scalars, most)

    def decide(self, X):
        """Return sum_s a_s k(x_s, x) + b."""
        return rbf(X, self.X[: self.size], self.gamma) @ self.a[: self.size] + self._scalars[0]

    def _grow(self):
        most, size = 2 * len(self.y), self.size
        X, K = np.empty((most, self.X.shape[1])), np.empty((most, most))
        X[:size], K[:size, :size] = self.X[:size], self.K[:size, :size]
        self.X, self.K = X, K
        for name in ("a", "g", "y"):
            setattr(self, name, np.concatenate([getattr(self, name)[:size], np.empty(most - size)]))


class LASVM(OneVsOne):
    """Online SVM with the kernel exp(-gamma ||x - z||^2) and coefficients up to C.

    `tol` is the violation that counts as none. `slack` is how far a row without weight must be from violating to be
    dropped: 0 is the paper's rule, which drops rows that would violate again later and ends up to 10 % below the
    optimum after one epoch; 1 comes within 1 %.
    """

    def __init__(self, C=1.0, gamma=1.0, tol=1e-3, slack=1.0):
        self.C = C
        self.gamma = gamma
        self.tol = tol
        self.slack = slack

    def _machine(self, columns):
        return OnlineMachine(self.C, self.gamma, self.tol, self.slack, columns)
