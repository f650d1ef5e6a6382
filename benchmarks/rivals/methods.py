"""Rivals from PyPI: linear classifiers on explicit features, and river's forests behind scikit-learn's interface."""

from itertools import product

import numpy as np
from river import forest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from fbtwsvm import FBTWSVM

OURS, LINEAR = "FBTWSVM", "Nystroem + LinearSVC"


class Mapped(ClassifierMixin, BaseEstimator):
    """A feature map and a linear classifier; on a stream the first chunk fits the map."""

    def __init__(self, features, classifier):
        self.features = features
        self.classifier = classifier

    def partial_fit(self, X, y, classes=None):
        """Learn more rows; the first call names all classes."""
        if not hasattr(self, "classes_"):
            self.features.fit(X)
            self.classes_ = classes
        self.classifier.partial_fit(self.features.transform(X), y, classes=self.classes_)
        return self

    def fit(self, X, y):
        """Learn all rows at once."""
        self.classifier.fit(self.features.fit_transform(X), y)
        self.classes_ = self.classifier.classes_
        return self

    def predict(self, X):
        """Return the labels of rows."""
        return self.classifier.predict(self.features.transform(X))


class RiverModel:
    """A river classifier that takes arrays and passes them on row by row."""

    def __init__(self, model):
        self.model = model

    def partial_fit(self, X, y, classes=None):
        """Learn more rows."""
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(enumerate(x)), label)
        return self

    def predict(self, X):
        """Return the labels of rows; -1 before anything is learned."""
        found = (self.model.predict_one(dict(enumerate(x))) for x in X.tolist())
        return np.array([-1 if label is None else label for label in found])


def arf(seed):
    return RiverModel(forest.ARFClassifier(seed=seed))


def nystroem_fbtwsvm(gamma, n_components, seed, **settings):
    shape = {"feature_map": "nystroem", "n_components": n_components, "gamma": gamma}
    return FBTWSVM(**shape, random_state=seed, n_jobs=1, **settings)


def nystroem_svc(gamma, n_components, seed, **settings):
    features = Nystroem(gamma=gamma, n_components=n_components, random_state=seed)
    return Mapped(features, LinearSVC(random_state=seed, **settings))


def fourier_sgd(gamma, n_components, seed, **settings):
    features = RBFSampler(gamma=gamma, n_components=n_components, random_state=seed)
    return Mapped(features, SGDClassifier(random_state=seed, **settings))


ALPHAS = [{"alpha": 10.0**power} for power in range(-7, -1)]
ONE_PASS_ALPHAS = [{**alpha, "max_iter": 1, "tol": None} for alpha in ALPHAS]
PRICES = [{"C": C, "reg": reg} for C, reg in product((0.25, 1.0, 4.0, 16.0), (0.001, 0.01, 0.1))]
# method: how it is made, the settings to choose from, and its bytes per mapped value in `fit`
# LinearSVC copies the mapped rows (4 bytes a value) in float64 (8) and again for liblinear, with an index each (16).
METHODS = {
    OURS: (nystroem_fbtwsvm, PRICES, 8),
    LINEAR: (nystroem_svc, [{"C": 10.0**power} for power in range(-2, 4)], 28),
    "Fourier + SGD, one pass": (fourier_sgd, ONE_PASS_ALPHAS, 8),
    "Fourier + SGD, converged": (fourier_sgd, ALPHAS, 8),
}


def largest_gap(model):
    """Return the largest duality gap of our models, None for others."""
    gaps = getattr(model, "duality_gap_", None)
    return None if gaps is None else float(gaps.max())
