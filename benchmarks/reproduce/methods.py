"""The methods of the tables by name: how each is made, whether it learns in one pass, and what it holds in the end.

A maker takes what was chosen for the data set (`settings.py`), the number of classes and a seed.
"""

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, LinearSVC

from benchmarks.reproduce.published import READ_AS, SETTINGS
from benchmarks.rivals import ILVQ, ISVM, LASVM, ORF
from fbtwsvm import FBTWSVM

ONE_PASS = ("ISVM", "LASVM", "ORF", "ILVQ", "Fourier + SGD", "ARF", "AMF")
BATCH = ("SVC", "Nystroem + LinearSVC")
LARGE = ("susy",)  # where ours has a time limit too
WITHOUT_PASS = (*BATCH, "FBTWSVM, batch")  # these see all rows at once


def features_for(n_rows):
    """Return the number of features of our own settings and of the rivals' maps: 20 sqrt(n), at most 2,000."""
    return int(min(2000, max(100, 20 * np.sqrt(n_rows))))


def papers_settings(name, X, **changes):
    """Return the paper's parameters of a data set, in this library's words.

    The paper's features are not normalised, ours are: its ridge is divided by their mean square norm.
    """
    setting = SETTINGS[name]._replace(**READ_AS.get(name, {}))
    shared = {"C": setting.box, "mu": 0.1, "decision": "distance"}
    if setting.features is None:
        norm = float(np.einsum("ij,ij->", X, X, dtype=np.float64)) / len(X)
        return {**shared, "kernel": "linear", "reg": setting.ridge / norm, **changes}
    return {
        **shared,
        "feature_map": "fourier",
        "n_components": setting.features,
        "gamma": setting.gamma,
        "reg": setting.ridge / setting.features,
        **changes,
    }


class Mapped:
    """A map and a linear classifier, learned in one pass: the map from the first rows, the rest goes on."""

    def __init__(self, features, classifier):
        self.features, self.classifier = features, classifier

    def partial_fit(self, X, y, classes=None):
        """Learn some more rows."""
        if not hasattr(self, "started"):
            self.features.fit(X)
            self.started = True
        self.classifier.partial_fit(self.features.transform(X), y, classes=classes)
        return self

    def fit(self, X, y):
        """Learn all rows at once."""
        self.classifier.fit(self.features.fit_transform(X), y)
        return self

    def predict(self, X):
        """Return the labels of rows."""
        return self.classifier.predict(self.features.transform(X))


class River:
    """A river classifier that takes arrays, row by row as it is made to."""

    def __init__(self, model):
        self.model = model

    def partial_fit(self, X, y, classes=None):
        """Learn some more rows."""
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(enumerate(x)), label)
        return self

    def predict(self, X):
        """Return the labels of rows; what it does not know yet is -1."""
        found = (self.model.predict_one(dict(enumerate(x))) for x in X.tolist())
        return np.array([-1 if label is None else label for label in found])


def _arf(chosen, n_rows, seed):
    from river.forest import ARFClassifier

    return River(ARFClassifier(seed=seed))


def _amf(chosen, n_rows, seed):
    from river.forest import AMFClassifier

    return River(AMFClassifier(seed=seed))


def _sgd(chosen, n_rows, seed):
    features = RBFSampler(gamma=chosen["svc"]["gamma"], n_components=features_for(n_rows), random_state=seed)
    return Mapped(features, SGDClassifier(random_state=seed, **chosen["sgd"]))


def _nystroem(chosen, n_rows, seed):
    features = Nystroem(gamma=chosen["svc"]["gamma"], n_components=features_for(n_rows), random_state=seed)
    return Mapped(features, LinearSVC(random_state=seed, **chosen["linear"]))


RIVALS = {
    "ISVM": lambda chosen, n_rows, seed: ISVM(**chosen["svc"]),
    "LASVM": lambda chosen, n_rows, seed: LASVM(**chosen["svc"]),
    "ORF": lambda chosen, n_rows, seed: ORF(random_state=seed, **chosen["orf"]),
    "ILVQ": lambda chosen, n_rows, seed: ILVQ(random_state=seed, **chosen["ilvq"]),
    "Fourier + SGD": _sgd,
    "ARF": _arf,
    "AMF": _amf,
    "SVC": lambda chosen, n_rows, seed: SVC(cache_size=1000, **chosen["svc"]),
    "Nystroem + LinearSVC": _nystroem,
}
# what a method needs to have been chosen before
NEEDS = {
    "FBTWSVM, ours": ("ours",),
    "ISVM": ("svc",),
    "LASVM": ("svc",),
    "ORF": ("orf",),
    "ILVQ": ("ilvq",),
    "Fourier + SGD": ("svc", "sgd"),
    "SVC": ("svc",),
    "Nystroem + LinearSVC": ("svc", "linear"),
}


def make(method, name, *, chosen, d, seed, share, X, y):
    """Return an unfitted model for the training rows X, y of a data set.

    `method` is one of the rivals, or "FBTWSVM" with what follows the comma saying how: "paper" is the paper's own
    procedure with its settings, "ours" the settings of our rule, and "batch" all rows at once with the paper's.
    """
    if method in RIVALS:
        return RIVALS[method](chosen, len(y), seed)
    if method == "FBTWSVM, batch":
        return FBTWSVM(random_state=seed, **papers_settings(name, X))
    if method == "FBTWSVM, paper":
        changes = {"statistics": "kept", "accept": "inside", "second_look": 0, "memory": None, "forget_after": d}
        return FBTWSVM(random_state=seed, warm_up=SETTINGS[name].first, **papers_settings(name, X, **changes))
    if method == "FBTWSVM, all rows in the sums":  # the same with our statistics and our rule of acceptance
        changes = {"second_look": 0, "memory": None, "forget_after": d}
        return FBTWSVM(random_state=seed, warm_up=SETTINGS[name].first, **papers_settings(name, X, **changes))
    if method == "FBTWSVM, ours":
        return FBTWSVM(random_state=seed, **limits(share, len(y), len(np.unique(y))), **chosen["ours"])
    raise ValueError(f"There is no method {method!r}.")


def limits(share, n_rows, n_classes):
    """Return the memory that keeps at most this share of the training rows, a quarter of it for second looks.

    However many rows there are, 20,000 are enough.
    """
    each = int(min(20_000, share * n_rows) / n_classes)
    second_look = each // 4
    return {"memory": max(1, each - second_look), "second_look": second_look}
