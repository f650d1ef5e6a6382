"""One-vs-one: a binary machine for each pair of classes, made when its second class appears; the vote decides."""

import math

import numba as nb
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data


@nb.njit(cache=True, fastmath=True)
def similarity(x, z, gamma):
    """Return exp(-gamma ||x - z||^2)."""
    distance = 0.0
    for j in range(x.shape[0]):
        distance += (x[j] - z[j]) ** 2
    return math.exp(-gamma * distance)


def rbf(X, Z, gamma):
    """Return the matrix of similarities, by one product."""
    squares = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2.0 * (X @ Z.T)
    return np.exp(-gamma * np.maximum(squares, 0.0))


class OneVsOne(ClassifierMixin, BaseEstimator):
    """Base of the rivals that know two classes only.

    A subclass has `_machine()`, which returns something with `learn(X, signs)`, `held()` and `decide(X)`.  A class that
    was not named in the first call gets its pairs when it appears; they begin with the rows of the other class that
    the machines still hold.
    """

    def fit(self, X, y):
        """Learn the rows in their order, once, and finish."""
        vars(self).pop("classes_", None)
        return self.partial_fit(X, y, classes=np.unique(y)).finish()

    def partial_fit(self, X, y, classes=None):
        """Learn some more rows; new classes may come at any time."""
        fresh = not hasattr(self, "classes_")
        X, y = validate_data(self, X, y, dtype=np.float64, reset=fresh)
        if fresh:
            self.classes_, self.machines_, self.seen_ = y[:0], {}, set()
        labels = np.unique(y)
        known = self.classes_.tolist()
        self.classes_ = np.union1d(self.classes_, labels if classes is None else np.union1d(classes, labels))
        earlier = {label: self._held(label) for label in known} if len(known) < len(self.classes_) else {}
        for a, label in enumerate(self.classes_.tolist()):
            for other in self.classes_[a + 1 :].tolist():
                if (label, other) not in self.machines_:
                    self.machines_[label, other] = machine = self._machine()
                    for own, sign in ((label, -1.0), (other, 1.0)):
                        if len(earlier.get(own, ())):
                            machine.learn(earlier[own], np.full(len(earlier[own]), sign))
                here = (y == label) | (y == other)
                if here.any():
                    self.machines_[label, other].learn(X[here], np.where(y[here] == other, 1.0, -1.0))
        if len(self.classes_) == 1:  # a machine of its own keeps the rows until there is a second class
            machine = self.machines_.setdefault((labels[0].item(), None), self._machine())
            machine.learn(X, np.full(len(X), -1.0))
        elif len(known) == 1:
            self.machines_.pop((known[0], None), None)
        self.seen_ |= set(labels.tolist())
        return self

    def _held(self, label):
        """Return the rows of a class that a machine holds; the one that holds most of them."""
        parts = [np.empty((0, self.n_features_in_))]
        for (a, b), machine in self.machines_.items():
            if label in (a, b):
                rows, signs = machine.held()
                parts.append(rows[signs == (1.0 if label == b else -1.0)].copy() if len(rows) else parts[0])
        return max(parts, key=len)

    def finish(self):
        """Do what is left to do after the last row."""
        for machine in self.machines_.values():
            machine.finish()
        return self

    def predict(self, X):
        """Return the class that wins most pairs; among equals, the one with the larger sum of margins."""
        check_is_fitted(self, "classes_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        votes = np.zeros((len(X), len(self.classes_)))
        for (label, other), machine in self.machines_.items():
            if other is None:
                return np.full(len(X), label)
            a, b = np.searchsorted(self.classes_, [label, other])
            if not {label, other} <= self.seen_:  # a class that has not come yet loses
                votes[:, a] += label in self.seen_
                votes[:, b] += other in self.seen_
                continue
            margins = machine.decide(X)
            share = np.tanh(margins) / (2.0 * len(self.classes_))  # all together less than one vote
            votes[:, b] += (margins > 0) + share
            votes[:, a] += (margins <= 0) - share
        return self.classes_[votes.argmax(axis=1)]

    @property
    def support_size_(self):
        """Rows with a dual variable above zero, summed over pairs."""
        return sum(machine.support_size() for machine in self.machines_.values())

    @property
    def stored_size_(self):
        """Rows stored, summed over pairs."""
        return sum(len(machine.held()[1]) for machine in self.machines_.values())
