"""Cross-validated choice of the parameters, for the price of a few fits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._arrays import Array
from ..classifier import FBTWSVM
from ..features.kernels import USES_GAMMA
from .strategies import search_grid, search_tpe
from .trials import Trials

_COUNT = Interval(Integral, 1, None, closed="left")
_LISTS = ["array-like", _COUNT, None]
_FROM_EACH_CLASS = 10  # rows of every class that a sample has, if the class has them


class FBTWSVMCV(ClassifierMixin, BaseEstimator):
    """FBTWSVM with its parameters chosen by cross-validation.

    A plain grid search fits every candidate in every fold from nothing.  Here a feature map is made once for each
    gamma, and where it owes nothing to the rows (Fourier features, plain columns) all folds share it, the Gram matrices
    of a training fold being the total less the held-out part; one factor serves all values of C, and each is solved
    from the solution of the one before.  Landmarks come from the training rows of each fold alone.

    Parameters
    ----------
    estimator : FBTWSVM or None, default=None
        What is not searched for is as it is there, but that n_components="auto" grows in the last fit only; None is
        ``FBTWSVM(random_state=random_state)``.
    gamma : int, sequence of float or None, default=5
        Values to try.  A number is so many, each twice the one before, around what gamma="auto" finds on the rows of
        the search.  None leaves the estimator's own, as for all parameters below.
    n_components : int, sequence of int or None, default=None
        Values to try, or one.
    C : int, sequence of float or None, default=5
        Values to try; a number is so many powers of 4 from 1/4 on.
    reg : int, sequence of float or None, default=5
        Values to try; a number is so many, a factor of sqrt(10) apart, around 0.01.
    mu : sequence of float or None, default=None
        Values to try; in a grid those after the first are tried with the best gamma and n_components only.
    membership : sequence of str or None, default=("fuzzy", "none")
        Values to try, as those of mu.
    separate : bool, default=False
        For two classes: let each plane have a C and reg of its own, as in the paper; a search in four dimensions whose
        planes are those of the search in two.
    search : {"grid", "tpe"}, default="grid"
        All combinations, or `n_iter` candidates within the ranges of the values, chosen by tree-structured Parzen
        estimators (extra ``[tune]``).
    n_iter : int, default=60
        Candidates of "tpe".
    cv : int, splitter or iterable, default=3
        Folds, as everywhere in scikit-learn; of the rows given, not of the sample.
    scoring : str, callable or None, default=None
        What is to be large; None is accuracy, for which planes are compared by their plain values where the estimator's
        decision is "calibrated" (the offsets of that rule would cost more than the planes); any other score is that of
        the estimator as it is.
    early_stop : bool, default=True
        Leave a candidate out of further folds when it is two standard errors of its accuracy behind the best; accuracy
        only.
    sample : int or None, default=10_000
        Rows that are searched on at most, drawn at random; None is all.  The best is fitted on all rows.
    refit : bool, default=True
        Whether to fit the best on all rows.
    random_state : int, RandomState or None, default=None
        Seed of the sample and of "tpe".
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    best_params_ : dict
        The parameters with the best mean score.
    best_score_ : float
        That score.
    best_index_ : int
        Its place in `cv_results_`.
    best_estimator_ : FBTWSVM
        Fitted on all rows; only with `refit`.
    cv_results_ : dict of arrays
        As that of GridSearchCV; `stopped` marks candidates that were not scored in all folds.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    n_splits_ : int
        Number of folds.
    search_time_, refit_time_ : float
        Seconds.
    n_features_in_ : int
        Columns seen in `fit`.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : The same search without the savings.
    fbtwsvm.plot.search : A picture of the scores.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fbtwsvm import FBTWSVMCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = FBTWSVMCV(gamma=3, C=[1.0, 4.0], reg=[0.01]).fit(X, y)
    >>> sorted(search.best_params_)
    ['C', 'gamma', 'membership', 'reg']
    >>> bool(search.best_score_ > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "gamma": _LISTS,
        "n_components": _LISTS,
        "C": _LISTS,
        "reg": _LISTS,
        "mu": ["array-like", None],
        "membership": ["array-like", None],
        "separate": ["boolean"],
        "search": [StrOptions({"grid", "tpe"})],
        "n_iter": [_COUNT],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "early_stop": ["boolean"],
        "sample": [_COUNT, None],
        "refit": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: FBTWSVM | None = None,
        *,
        gamma: int | Sequence[float] | None = 5,
        n_components: int | Sequence[int] | None = None,
        C: int | Sequence[float] | None = 5,
        reg: int | Sequence[float] | None = 5,
        mu: Sequence[float] | None = None,
        membership: Sequence[str] | None = ("fuzzy", "none"),
        separate: bool = False,
        search: str = "grid",
        n_iter: int = 60,
        cv: Any = 3,
        scoring: Any = None,
        early_stop: bool = True,
        sample: int | None = 10_000,
        refit: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.gamma = gamma
        self.n_components = n_components
        self.C = C
        self.reg = reg
        self.mu = mu
        self.membership = membership
        self.separate = separate
        self.search = search
        self.n_iter = n_iter
        self.cv = cv
        self.scoring = scoring
        self.early_stop = early_stop
        self.sample = sample
        self.refit = refit
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Search, then fit the best on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in training; scores count all rows of weight above zero alike.

        Returns
        -------
        FBTWSVMCV
            The search itself.
        """
        fresh = copy(self)
        fresh._search(X, y, sample_weight)
        self.__dict__ = fresh.__dict__
        return self

    def _search(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Check what `fit` was given, search and fit the best."""
        self._validate_params()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        estimator = FBTWSVM(random_state=self.random_state) if self.estimator is None else clone(self.estimator)
        if not isinstance(estimator, FBTWSVM):
            raise TypeError(f"estimator must be an FBTWSVM, got {type(estimator).__name__}: use GridSearchCV.")
        classes = np.unique(y[weights > 0])
        if len(classes) < 2:
            raise ValueError(f"A search needs two classes or more; this data has one class: {classes.tolist()}.")
        if self.separate and len(classes) != 2:
            raise ValueError(f"separate=True is for two classes, got {len(classes)}: use separate=False.")
        begin = time.perf_counter()
        some = self._some_rows(y, weights)
        trials = Trials(
            estimator,
            X[some],
            y[some],
            weights[some],
            self._splits(X, y, some),
            None if self.scoring is None else check_scoring(estimator, self.scoring),
            early_stop=bool(self.early_stop) and self.scoring is None,
            separate=self.separate,
        )
        grid = self._grid(estimator, trials)
        if self.search == "grid":
            search_grid(trials, grid, verbose=bool(self.verbose))
        else:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            search_tpe(trials, grid, self.n_iter, seed, verbose=bool(self.verbose))
        self.classes_, self.n_splits_ = classes, len(trials.splits)
        self.cv_results_ = trials.results()
        self.best_index_ = int(np.argmin(self.cv_results_["rank_test_score"]))
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.search_time_ = time.perf_counter() - begin
        if self.refit:
            begin = time.perf_counter()
            self.best_estimator_ = clone(estimator).set_params(**self.best_params_).fit(X, y, sample_weight)
            self.refit_time_ = time.perf_counter() - begin
            if hasattr(self, "feature_names_in_"):
                self.best_estimator_.feature_names_in_ = self.feature_names_in_

    def _splits(self, X: Any, y: Array, some: Array) -> list[tuple[Array, Array]]:
        """Split all rows, then keep those that are searched on: a splitter may know rows by their place."""
        found = []
        for train, test in check_cv(self.cv, y, classifier=True).split(X, y):
            parts = []
            for part in (train, test):
                rows = np.arange(len(y))[part]
                place = np.searchsorted(some, rows)
                known = (place < len(some)) & (some[np.minimum(place, len(some) - 1)] == rows)
                parts.append(place[known])
            if not len(parts[0]) or not len(parts[1]):
                raise ValueError(
                    "A fold has no rows among those that are searched on: raise sample, or set it to None."
                )
            found.append((parts[0], parts[1]))
        return found

    def _some_rows(self, y: Array, weights: Array) -> Array:
        """Rows to search on: all that have weight, or a sample of them, that of small classes first."""
        present = np.flatnonzero(weights > 0)
        if self.sample is None or len(present) <= self.sample:
            return present
        random = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        shuffled = random.permutation(present)
        rank = np.empty(len(y), dtype=np.int64)  # place of a row among those of its class
        for label in np.unique(y[present]):
            own = shuffled[y[shuffled] == label]
            rank[own] = np.arange(len(own))
        first = shuffled[np.argsort(rank[shuffled] >= _FROM_EACH_CLASS, kind="stable")]
        return np.sort(first[: self.sample])

    def _grid(self, estimator: FBTWSVM, trials: Trials) -> dict[str, list[Any]]:
        """Return the values to try of every parameter that is searched for."""
        grid: dict[str, list[Any]] = {}
        own_map = not isinstance(estimator.feature_map, str)
        if self.gamma is not None:
            if estimator.kernel in USES_GAMMA and not own_map:
                grid["gamma"] = _several(self.gamma, lambda count: _around(trials.usual_gamma(), count, 2.0))
            elif not isinstance(self.gamma, Integral):
                raise ValueError(
                    "gamma cannot be searched for: the estimator's kernel or map has none. Use gamma=None."
                )
        if self.n_components is not None:
            if own_map:
                raise ValueError("n_components cannot be searched for with a transformer of your own.")
            grid["n_components"] = _several(self.n_components, lambda count: [count])
        if self.mu is not None:
            grid["mu"] = [float(value) for value in self.mu]
        if self.membership is not None:
            grid["membership"] = list(self.membership)
        if self.C is not None:
            grid["C"] = _several(self.C, lambda count: [0.25 * 4.0**k for k in range(count)])
        if self.reg is not None:
            grid["reg"] = _several(self.reg, lambda count: _around(0.01, count, np.sqrt(10.0)))
        for name, values in grid.items():
            if not values:
                raise ValueError(f"{name} must not be empty: give the values to try, or None for the estimator's own.")
            for value in values:
                self._check_value(estimator, name, value)
            grid[name] = list(dict.fromkeys(float(v) if name in ("gamma", "C", "reg") else v for v in values))
        return grid

    @staticmethod
    def _check_value(estimator: FBTWSVM, name: str, value: Any) -> None:
        """Refuse a value that the estimator would refuse, before any time is spent."""
        if name in ("C", "reg") and not isinstance(value, Real):
            raise ValueError(f"{name} must hold numbers, got {value!r}; separate=True gives each plane its own.")
        clone(estimator).set_params(**{name: value})._validate_params()

    def _best(self) -> FBTWSVM:
        check_is_fitted(self, "cv_results_")
        if not self.refit:
            raise AttributeError("This search did not fit the best model (refit=False): use best_params_.")
        best: FBTWSVM = self.best_estimator_
        return best

    def predict(self, X: Any) -> Array:
        """Labels of rows, by the best model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted labels.
        """
        return self._best().predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, by the best model; parameters and result as for `FBTWSVM.predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to one.
        """
        return self._best().predict_proba(X)

    def decision_function(self, X: Any) -> Array:
        """Scores whose largest is the predicted class, by the best model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            As those of `FBTWSVM.decision_function`.
        """
        return self._best().decision_function(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = (FBTWSVM() if self.estimator is None else self.estimator).__sklearn_tags__()
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.positive_only = inner.input_tags.positive_only
        return tags


def _several(values: Any, few: Callable[[int], list[Any]]) -> list[Any]:
    """Return the values themselves, or so many as a number says."""
    return few(int(values)) if isinstance(values, Integral) else list(values)


def _around(middle: float, count: int, factor: float) -> list[float]:
    """Return so many values, each a factor above the one before, around the middle."""
    return [middle * float(factor) ** (k - (count - 1) // 2) for k in range(count)]
