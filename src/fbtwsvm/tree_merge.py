"""Merge many models into one, pair by pair."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from .classifier import FBTWSVM


def merge(models: Iterable[FBTWSVM]) -> FBTWSVM:
    """Merge models that have learned other rows with the same map; the models are left as they are.

    Neighbours are merged, then their results, and so on: each model is part of about log2(n) merges rather than of n.

    Parameters
    ----------
    models : iterable of FBTWSVM
        Models that `FBTWSVM.merge` can merge: same parameters, same map, no row in two of them.

    Returns
    -------
    FBTWSVM
        A model that knows the rows of all of them.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from fbtwsvm import FBTWSVM, merge
    >>> X, y = load_digits(return_X_y=True)
    >>> X = X / 16.0
    >>> def learn(part):
    ...     model = FBTWSVM(feature_map="fourier", gamma=0.05, n_components=300, random_state=0, warm_up=100)
    ...     return model.partial_fit(X[part::4], y[part::4])
    >>> together = merge(learn(part) for part in range(4))
    >>> together.inspect().seen == len(X)
    True
    """
    given = list(models)
    if not given:
        raise ValueError("merge was given no models.")
    for model in given:
        if not isinstance(model, FBTWSVM):
            raise TypeError(f"merge takes models of type FBTWSVM, got {type(model).__name__}.")
    level = [copy(model) for model in given]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        odd = level[-1:] if len(level) % 2 else []
        level = [one.merge(other) for one, other in pairs] + odd
    return level[0]
