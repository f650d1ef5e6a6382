"""One-vs-one: a binary machine for each pair of classes, made when its second class turns up; the vote decides."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class OneVsOne(ClassifierMixin, BaseEstimator):
    """Base of the rivals that know two classes only.

    A subclass has `_machine()`, which returns something with `learn(X, signs)` and `decide(X)`.  Rows of a class that
    came before its opponent are handed to the pair as soon as it exists, so that no row is lost.
    """

    def fit(self, X, y):
        """Learn the rows in their order, once, and finish."""
        vars(self).pop("classes_", None)
        return self.partial_fit(X, y).finish()

    def partial_fit(self, X, y, classes=None):
        """Learn some more rows; `classes` is not needed, new ones may come at any time."""
        fresh = not hasattr(self, "classes_")
        X, y = validate_data(self, X, y, dtype=np.float64, reset=fresh)
        if fresh:
            self.classes_, self.machines_, self._first = y[:0], {}, {}
        known = set(self.classes_.tolist())
        self.classes_ = np.union1d(self.classes_, y)
        rows = {label: X[y == label] for label in np.unique(y).tolist()}
        for label in self.classes_.tolist():
            for other in self.classes_.tolist():
                if label < other and (label in rows or other in rows):
                    self._teach(label, other, X, y, known)
        if len(self.classes_) == 1:  # nobody to tell it from yet: keep the rows
            (label,) = rows
            self._first[label] = np.concatenate([self._first.get(label, X[:0]), X])
        return self

    def _teach(self, label, other, X, y, known):
        pair = label, other
        if pair not in self.machines_:
            self.machines_[pair] = self._machine()
            for own, sign in ((label, -1.0), (other, 1.0)):
                if own in known:
                    earlier = self._earlier(own)
                    self.machines_[pair].learn(earlier, np.full(len(earlier), sign))
        here = (y == label) | (y == other)
        self.machines_[pair].learn(X[here], np.where(y[here] == other, 1.0, -1.0))

    def _earlier(self, label):
        """Return the rows of a class that the machines hold already."""
        for (a, b), machine in self.machines_.items():
            if label in (a, b):
                rows, signs = machine.held()
                if len(rows):
                    return rows[signs == (1.0 if label == b else -1.0)]
        return self._first.get(label, np.empty((0, self.n_features_in_)))

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
            a, b = np.searchsorted(self.classes_, [label, other])
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
