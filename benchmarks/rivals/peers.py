"""Learners of streams from river and CapyMOA, behind `predict` and `partial_fit` with arrays of a few rows.

CapyMOA needs Java and is not among the dependencies: pip install capymoa.
"""

from importlib.util import find_spec

import numpy as np
from river import compose, ensemble, forest, linear_model, multiclass, preprocessing

from benchmarks.rivals.methods import RiverModel


def river_forest(X, y):
    return RiverModel(forest.ARFClassifier(seed=1))


def river_bagging(X, y):
    from river import tree

    return RiverModel(ensemble.LeveragingBaggingClassifier(tree.HoeffdingTreeClassifier(), seed=1))


def river_logistic(X, y):
    learner = linear_model.LogisticRegression()
    if len(np.unique(y)) > 2:
        learner = multiclass.OneVsRestClassifier(learner)
    return RiverModel(compose.Pipeline(preprocessing.StandardScaler(), learner))


class CapyMOA:
    """A classifier of CapyMOA, with its own defaults: a hundred trees."""

    def __init__(self, name, X, y):
        from capymoa import classifier
        from capymoa.core import LabeledInstance
        from capymoa.stream import NumpyStream

        self.schema = NumpyStream(X.astype(np.float64), y).get_schema()
        self.model, self.instance = getattr(classifier, name)(schema=self.schema), LabeledInstance.from_array

    def predict(self, X):
        """Return the label of each row; -1 before anything is learned."""
        found = [self.model.predict(self.instance(self.schema, x, 0)) for x in X.astype(np.float64)]
        return np.array([-1 if label is None else label for label in found])

    def partial_fit(self, X, y, classes=None):
        """Learn each row."""
        for x, label in zip(X.astype(np.float64), y.tolist(), strict=True):
            self.model.train(self.instance(self.schema, x, label))
        return self


# peer: how it is made for a stream
PEERS = {
    "forest (river)": river_forest,
    "bagging (river)": river_bagging,
    "logistic (river)": river_logistic,
}
if find_spec("capymoa"):
    PEERS |= {
        "forest (CapyMOA)": lambda X, y: CapyMOA("AdaptiveRandomForestClassifier", X, y),
        "bagging (CapyMOA)": lambda X, y: CapyMOA("LeveragingBagging", X, y),
    }
