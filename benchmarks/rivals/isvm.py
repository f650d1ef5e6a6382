"""ISVM: the exact incremental SVM of Cauwenberghs and Poggio (NIPS 2000).

For each row g_i = sum_j Q_ij a_j + y_i b - 1 with Q_ij = y_i y_j k(x_i, x_j).  The solution is optimal when

    g_i > 0 and a_i = 0 (rest),   g_i = 0 and 0 <= a_i <= C (margin),   g_i < 0 and a_i = C (error).

To learn a row its a_c grows from 0 until its condition holds; b and the a of the margin rows move along so that every
other condition keeps holding.  All is linear in a_c until a row changes its group, and there the inverse R of the
margin rows' matrix [[0, y'], [y, Q]] is updated by rank one.  A row that comes again is stored once, with C for each
time: the sum of its dual variables is all that counts.  Removing rows, which nothing here needs, is left out.
"""

import numba as nb
import numpy as np

from .base import OneVsOne, rbf, similarity

REST, MARGIN, ERROR, MOVING = 0, 1, 2, 3
DONE, FULL, STUCK = 0, 1, 2
TINY = 1e-10  # changes below this are rounding
RIDGE = 1e-8  # on the diagonal: rows that are nearly alike must not make the margin rows' matrix singular


@nb.njit(cache=True)
def _column(X, y, n, c, gamma, out):
    for i in range(n):
        out[i] = y[i] * y[c] * similarity(X[i], X[c], gamma)
    out[c] += RIDGE


@nb.njit(cache=True)
def _sensitivities(R, Q, members, size, y, c, column, beta):
    """Write beta = -R [y_c, Q_sc]: how b and the margin rows follow a change of a_c."""
    for i in range(size + 1):
        total = R[i, 0] * y[c]
        for s in range(size):
            total += R[i, s + 1] * column[members[s]]
        beta[i] = -total


@nb.njit(cache=True)
def _enter(k, X, y, n, gamma, R, Q, members, size, group, beta):
    """Add row k to the margin rows; returns their new number."""
    _column(X, y, n, k, gamma, Q[size])
    if size == 0:
        R[0, 0], R[0, 1], R[1, 0], R[1, 1] = -Q[0, k], y[k], y[k], 0.0
    else:
        _sensitivities(R, Q, members, size, y, k, Q[size], beta)
        pivot = Q[size, k] + y[k] * beta[0]
        for s in range(size):
            pivot += Q[s, k] * beta[s + 1]
        pivot = max(pivot, TINY)
        beta[size + 1] = 1.0
        R[size + 1, : size + 2] = 0.0
        R[: size + 2, size + 1] = 0.0
        for i in range(size + 2):
            for j in range(size + 2):
                R[i, j] += beta[i] * beta[j] / pivot
    members[size] = k
    group[k] = MARGIN
    return size + 1


@nb.njit(cache=True)
def _leave(s, n, R, Q, members, size):
    if size == 1:
        return 0
    k, last = s + 1, size
    pivot = R[k, k]
    row = R[k, : size + 1].copy()
    for i in range(size + 1):
        for j in range(size + 1):
            R[i, j] -= row[i] * row[j] / pivot
    R[k, : last + 1] = R[last, : last + 1]  # the last one takes its place
    R[: last + 1, k] = R[: last + 1, last]
    R[k, k] = R[last, last]
    Q[s, :n] = Q[size - 1, :n]
    members[s] = members[size - 1]
    return size - 1


@nb.njit(cache=True)
def _shift_bias(c, y, g, n, group, scalars):
    """With no margin row only b can move: move it until a row (returned) reaches its margin."""
    step, found, way = -g[c], c, y[c]
    for i in range(n):
        slope = y[i] * way
        if group[i] == ERROR and slope > 0.0 and -g[i] < step:
            step, found = -g[i], i
        elif group[i] == REST and slope < 0.0 and g[i] < step:
            step, found = g[i], i
    step = max(step, 0.0)
    scalars[0] += way * step
    for i in range(n):
        g[i] += y[i] * way * step
    return found


@nb.njit(cache=True)
def _slopes(column, y, Q, size, beta, slopes):
    """Set how fast each g_i changes with a_c."""
    n = slopes.shape[0]
    for i in range(n):
        slopes[i] = column[i] + y[i] * beta[0]
    for s in range(size):
        row, factor = Q[s], beta[s + 1]
        for i in range(n):
            slopes[i] += row[i] * factor


@nb.njit(cache=True)
def _first_change(c, alpha, box, g, group, members, size, beta, slopes):
    """Return the shortest step to a change of groups, the kind of change, and which row it is."""
    step, event, who = box[c] - alpha[c], 0, c
    if slopes[c] > TINY and -g[c] / slopes[c] < step:
        step = -g[c] / slopes[c]
    for s in range(size):
        slope, value, most = beta[s + 1], alpha[members[s]], box[members[s]]
        if slope > TINY and (most - value) / slope < step:
            step, event, who = (most - value) / slope, 1, s
        elif slope < -TINY and value / -slope < step:
            step, event, who = value / -slope, 2, s
    for i in range(slopes.shape[0]):
        slope = slopes[i]
        if group[i] == ERROR and slope > TINY and -g[i] / slope < step:
            step, event, who = -g[i] / slope, 3, i
        elif group[i] == REST and slope < -TINY and g[i] / -slope < step:
            step, event, who = g[i] / -slope, 3, i
    return step, event, who


@nb.njit(cache=True)
def _move(c, gamma, X, y, box, alpha, g, n, group, members, counts, R, Q, scalars):
    """Raise a_c until row c is optimal."""
    most, patience = Q.shape[0] - 1, 1000 + 100 * n
    beta = np.zeros(Q.shape[0] + 2)
    slopes = np.zeros(n)
    column = np.empty(n)
    _column(X, y, n, c, gamma, column)
    size = counts[0]
    while True:
        if size >= most:
            counts[0] = size
            return FULL
        if g[c] >= -TINY:
            if alpha[c] > 0.0:
                size = _enter(c, X, y, n, gamma, R, Q, members, size, group, beta)
            else:
                group[c] = REST
            break
        if alpha[c] >= box[c] - TINY:
            alpha[c], group[c] = box[c], ERROR
            break
        counts[1] += 1
        patience -= 1
        if patience < 0:
            return STUCK
        if size == 0:
            found = _shift_bias(c, y, g, n, group, scalars)
            if found != c:
                g[found] = 0.0
                size = _enter(found, X, y, n, gamma, R, Q, members, size, group, beta)
            elif alpha[c] == 0.0 and not (group[:n] == MARGIN).any():
                g[c] = 0.0
                size = _enter(c, X, y, n, gamma, R, Q, members, size, group, beta)
                break
            continue
        _sensitivities(R, Q, members, size, y, c, column, beta)
        _slopes(column, y, Q, size, beta, slopes)
        step, event, who = _first_change(c, alpha, box, g, group, members, size, beta, slopes)
        step = max(step, 0.0)
        alpha[c] += step
        scalars[0] += beta[0] * step
        for s in range(size):  # the step ends where the first of them meets its bound: beyond it lies only rounding
            i = members[s]
            alpha[i] = min(max(alpha[i] + beta[s + 1] * step, 0.0), box[i])
        for i in range(n):
            if group[i] != MARGIN:
                g[i] += slopes[i] * step
        if event in (1, 2):
            left = members[who]
            alpha[left], group[left] = (box[left], ERROR) if event == 1 else (0.0, REST)
            g[left] = 0.0
            size = _leave(who, n, R, Q, members, size)
        elif event == 3:
            g[who] = 0.0
            size = _enter(who, X, y, n, gamma, R, Q, members, size, group, beta)
    counts[0] = size
    return DONE


class ExactMachine:
    """The solution of one binary problem, exact after each row."""

    def __init__(self, C, gamma, columns):
        self.C, self.gamma, self.n = C, gamma, 0
        self.X, self.y, self.alpha = np.empty((0, columns)), np.empty(0), np.empty(0)
        self.g, self.box, self.group = np.empty(0), np.empty(0), np.empty(0, dtype=np.int8)
        self.members, self._R, self._Q = np.empty(8, dtype=np.int64), np.zeros((9, 9)), np.zeros((8, 0))
        self._places = {}  # row and sign -> place
        self._counts = np.zeros(2, dtype=np.int64)  # margin rows; changes of groups
        self._scalars = np.zeros(1)  # b

    def learn(self, X, signs):
        """Add rows, one after another."""
        self._reserve(self.n + len(X))
        for x, sign in zip(X, signs, strict=True):
            c = self._places.setdefault((x.tobytes(), sign), self.n)
            if c < self.n:  # met before
                self.box[c] += self.C
                if self.group[c] == ERROR:
                    self.group[c] = MOVING
                    self._run(c)
                continue
            self.n += 1
            self.X[c], self.y[c], self.box[c], self.alpha[c], self.group[c] = x, sign, self.C, 0.0, MOVING
            self.g[c] = sign * (self.decide(x[None])[0]) - 1.0
            self._Q[: self._counts[0], c] = self._similar(self.members[: self._counts[0]], c)
            self._run(c)

    def decide(self, X):
        """Return sum_j a_j y_j k(x_j, x) + b."""
        used = np.flatnonzero(self.alpha[: self.n] > 0.0)
        values = rbf(X, self.X[used], self.gamma) @ (self.alpha[used] * self.y[used])
        return values + self._scalars[0]

    def finish(self):
        """Nothing is left to do: the solution is exact."""

    def _run(self, c):
        while True:
            state = (self.X, self.y, self.box, self.alpha, self.g, self.n, self.group, self.members, self._counts)
            status = _move(c, self.gamma, *state, self._R, self._Q, self._scalars)
            if status == STUCK:
                raise RuntimeError("Groups change without end.")
            if status == DONE:
                break
            self._reserve_margin(2 * len(self._Q))
        if not np.isfinite(self.alpha[: self.n]).all():
            raise RuntimeError("Rounding has ruined the solution: too many rows change their group at once.")
        if self._counts[1] > 2000:
            self._renew()

    def _renew(self):
        """Compute R, g and b again, against rounding."""
        self._counts[1] = 0
        size = self._counts[0]
        held = self.members[:size]
        if size:
            matrix = np.zeros((size + 1, size + 1))
            matrix[0, 1:] = matrix[1:, 0] = self.y[held]
            matrix[1:, 1:] = self._Q[:size][:, held]
            self._R[: size + 1, : size + 1] = np.linalg.inv(matrix)
        values = self.decide(self.X[: self.n]) - self._scalars[0]
        if size:
            self._scalars[0] = np.mean(self.y[held] - values[held])
        self.g[: self.n] = self.y[: self.n] * (values + self._scalars[0]) - 1.0
        self.g[held] = 0.0

    def _similar(self, rows, c):
        products = rbf(self.X[rows], self.X[c][None], self.gamma)[:, 0]
        return self.y[rows] * self.y[c] * products

    def _reserve(self, rows):
        if rows <= len(self.y):
            return
        extra = max(rows, 2 * len(self.y), 16) - len(self.y)
        self.X = np.concatenate([self.X, np.zeros((extra, self.X.shape[1]))])
        for name in ("y", "alpha", "g", "box"):
            setattr(self, name, np.concatenate([getattr(self, name), np.zeros(extra)]))
        self.group = np.concatenate([self.group, np.zeros(extra, dtype=np.int8)])
        self._Q = np.concatenate([self._Q, np.zeros((len(self._Q), extra))], axis=1)

    def _reserve_margin(self, most):
        size = self._counts[0]
        R, Q = np.zeros((most + 1, most + 1)), np.zeros((most, self._Q.shape[1]))
        R[: size + 1, : size + 1], Q[:size] = self._R[: size + 1, : size + 1], self._Q[:size]
        self._R, self._Q, self.members = R, Q, np.concatenate([self.members, np.zeros(most, dtype=np.int64)])[:most]


class ISVM(OneVsOne):
    """Incremental SVM with the kernel exp(-gamma ||x - z||^2), exact after every row; C bounds the dual variables."""

    def __init__(self, C=1.0, gamma=1.0):
        self.C = C
        self.gamma = gamma

    def _machine(self, columns):
        return ExactMachine(self.C, self.gamma, columns)
