"""What the rivals written from papers share: one pass over rows, one-vs-one, and the RBF kernel."""

import math
from itertools import combinations

import numba as nb
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class OnePass(ClassifierMixin, BaseEstimator):
    """Base of classifiers that learn in one pass; the first call names all classes.

    A subclass has `_start(X)`, `_learn(X, labels)` and `_winners(X)`, where labels are places in `classes_`.
    """

    def fit(self, X, y):
        """Learn the rows in their order, once."""
        vars(self).pop("classes_", None)
        return self.partial_fit(X, y, classes=np.unique(y)).finish()

    def partial_fit(self, X, y, classes=None):
        """Learn more rows."""
        first = not hasattr(self, "classes_")
        X, y = validate_data(self, X, y, dtype=np.float64, reset=first)
        if first:
            if classes is None:
                raise ValueError("The first call of partial_fit needs `classes`, all labels that will come.")
            self.classes_ = np.unique(classes)
            self._start(X)
        if not np.isin(y, self.classes_).all():
            raise ValueError("y has labels that were not in `classes`.")
        self._learn(X, np.searchsorted(self.classes_, y))
        return self

    def finish(self):
        """Do what is left after the last row."""
        return self

    def predict(self, X):
        """Return the labels of rows."""
        check_is_fitted(self, "classes_")
        return self.classes_[self._winners(validate_data(self, X, dtype=np.float64, reset=False))]


class OneVsOne(OnePass):
    """A binary machine for each pair of classes; most votes win.

    A subclass has `_machine(columns)`, which returns something with `learn(X, signs)`, `finish()` and `decide(X)`.
    """

    def _start(self, X):
        pairs = combinations(range(len(self.classes_)), 2)
        self.machines_ = {pair: self._machine(X.shape[1]) for pair in pairs}
        self.known_ = np.zeros(len(self.classes_), dtype=bool)

    def _learn(self, X, labels):
        self.known_[labels] = True
        for (a, b), machine in self.machines_.items():
            own = (labels == a) | (labels == b)
            if own.any():
                machine.learn(X[own], np.where(labels[own] == b, 1.0, -1.0))

    def finish(self):
        """Finish all machines."""
        for machine in self.machines_.values():
            machine.finish()
        return self

    def _winners(self, X):
        """Return the class that wins most pairs; among equals, the one with the larger sum of margins."""
        votes = np.zeros((len(X), len(self.classes_)))
        for (a, b), machine in self.machines_.items():
            if not (self.known_[a] and self.known_[b]):  # a class that has not come yet loses
                votes[:, [a, b]] += self.known_[[a, b]]
                continue
            margins = machine.decide(X)
            share = np.tanh(margins) / (2.0 * len(self.classes_))  # all together less than one vote
            votes[:, b] += (margins > 0) + share
            votes[:, a] += (margins <= 0) - share
        return votes.argmax(axis=1)


@nb.njit(cache=True, fastmath=True)
def squared_distance(x, z):
    total = 0.0
    for j in range(x.shape[0]):
        total += (x[j] - z[j]) ** 2
    return total


@nb.njit(cache=True)
def similarity(x, z, gamma):
    return math.exp(-gamma * squared_distance(x, z))


def rbf(X, Z, gamma):
    """Return the matrix of similarities, by one product."""
    squares = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2.0 * (X @ Z.T)
    return np.exp(-gamma * np.maximum(squares, 0.0))


@nb.njit(cache=True)
def set_seed(seed):
    np.random.seed(seed)
