"""The methods that are raced: a map and a linear classifier on it, all with the same width and number of features."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from fbtwsvm import FBTWSVM

OURS = "FBTWSVM"
LINEAR, ONE_PASS, CONVERGED = "Nystroem + LinearSVC", "Fourier + SGD, one pass", "Fourier + SGD, converged"
ALPHAS = [{"alpha": 10.0**power} for power in range(-7, -1)]


@dataclass(frozen=True)
class Method:
    """How a method is made, what may be chosen on training rows, and bytes per mapped value while it fits."""

    make: Callable[..., Any]
    choices: list[dict[str, float]]
    bytes_per_value: int


def _ours(gamma, n_components, seed, **settings):
    return FBTWSVM(
        feature_map="nystroem", n_components=n_components, gamma=gamma, random_state=seed, n_jobs=1, **settings
    )


def _linear(gamma, n_components, seed, **settings):
    features = Nystroem(gamma=gamma, n_components=n_components, random_state=seed)
    return make_pipeline(features, LinearSVC(random_state=seed, **settings))


def _one_pass(gamma, n_components, seed, **settings):
    features = RBFSampler(gamma=gamma, n_components=n_components, random_state=seed)
    return make_pipeline(features, SGDClassifier(max_iter=1, tol=None, random_state=seed, **settings))


def _converged(gamma, n_components, seed, **settings):
    features = RBFSampler(gamma=gamma, n_components=n_components, random_state=seed)
    return make_pipeline(features, SGDClassifier(max_iter=1000, random_state=seed, **settings))


# LinearSVC copies the mapped rows (4 bytes a value) in float64 (8) and again for liblinear, with an index each (16).
METHODS = {
    OURS: Method(_ours, [{"C": C, "reg": reg} for C, reg in product((0.25, 1.0, 4.0, 16.0), (0.001, 0.01, 0.1))], 8),
    LINEAR: Method(_linear, [{"C": 10.0**power} for power in range(-2, 4)], 28),
    ONE_PASS: Method(_one_pass, ALPHAS, 8),
    CONVERGED: Method(_converged, ALPHAS, 8),
}


def at_edge(method, settings):
    """Return the names of what was chosen at an end of its grid: a wider one might have done better."""
    ends = {name: [choice[name] for choice in METHODS[method].choices] for name in settings}
    return [name for name, values in ends.items() if settings[name] in (min(values), max(values))]


def fit_noting(model, X, y):
    """Fit; return the model and whether it warned that it had not converged (which is noted, not shown)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    for warning in caught:
        if not issubclass(warning.category, ConvergenceWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return model, any(issubclass(warning.category, ConvergenceWarning) for warning in caught)


def gap(model):
    """Return the largest duality gap of our models, None of others."""
    gaps = getattr(model, "duality_gap_", None)
    return None if gaps is None else float(gaps.max())
