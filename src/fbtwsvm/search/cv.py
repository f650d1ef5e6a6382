"""FBTWSVMCV: parameters chosen by cross-validation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._arrays import Array
from .._namespace import check_device, is_foreign, on_device, rows_at, to_numpy
from ..batch.hold_out import group_numbers, sample_rows
from ..classifier import FBTWSVM, collected_rows, model_of
from ..cluster.fit import gather
from ..cluster.partitions import is_collection
from ..device.check import checked_labels, checked_rows, checked_weights
from ..model.check_values import as_labels, check_labels, clear_errors
from ..model.rows import LARGE, CheckedRows
from ..model.summary import Summarised, summary
from .device_folds import DeviceFolds
from .folds import Folds
from .grid import steps, values_to_try
from .strategies import search_grid, search_tpe
from .trials import Trials

_COUNT = Interval(Integral, 1, None, closed="left")
_LISTS = ["array-like", _COUNT, None]
_FROM_EACH_CLASS = 10  # rows of each class that a sample has at least, if the class has them


class FBTWSVMCV(ClassifierMixin, Summarised):
    """FBTWSVM with its parameters chosen by cross-validation.

    A plain grid search fits every candidate in every fold from scratch.  This search maps the rows once for each gamma
    and fold, and only once for each gamma if the map does not depend on the training rows (Fourier features, plain
    columns); the Gram matrix of a training fold is then that of all rows minus that of the test rows.  All values of C
    share one factorisation, and each is solved from the solution of the value before.  Such a warm start is not used
    where a class has more than 8,192 rows.  Landmarks are chosen from the training rows of each fold.

    Parameters
    ----------
    estimator : FBTWSVM or None, default=None
        The classifier, with the parameters that are not searched; None is ``FBTWSVM(random_state=random_state)``.  With
        n_components="auto" the number of features grows in the last fit only.
    gamma : int, sequence of float or None, default=5
        Values to try.  An int is the number of values, each twice the one before, around the value that gamma="auto"
        takes on the rows of the search; beside them the value of gamma="scale" and eight times that, if they lie
        outside.  None, here and below, keeps the value of the estimator.  If gamma, C or reg
        is an int of 3 or more, a grid search also tries the neighbours of its best value that are missing from the
        list, up to four values for each of the three.  Not with `separate`.
    n_components : int, sequence of int or None, default=None
        Value or values to try.
    metric : sequence of {"auto", "columns", "none"} or None, default=None
        Values to try.  A metric is learned once on the training rows of each fold, with gamma="auto", and used with all
        values of gamma.  If gamma is an int, its values lie around gamma="auto" in each metric.  None is the metric of
        the estimator, "auto" by default.
    C : int, sequence of float or None, default=5
        Values to try.  An int is the number of values, powers of 4 from 1/4 on: C=10 tries ten values, C=[10.0] tries
        the value 10.
    reg : int, sequence of float or None, default=5
        Values to try.  An int is the number of values, around 0.01 and a factor of sqrt(10) apart.
    mu : sequence of float or None, default=None
        Values to try.  In a grid, all values but the first are tried only with the best gamma, n_components and metric.
    membership : sequence of str or None, default=("fuzzy", "none")
        Values to try, in the same way as those of mu.
    separate : bool, default=False
        Whether each plane has its own C and reg, as in the paper; for two classes only.  This search has four
        dimensions instead of two, but solves no more planes.
    search : {"grid", "tpe"}, default="grid"
        "grid" tries all combinations.  "tpe" tries `n_iter` candidates within the ranges of the values, chosen by
        tree-structured Parzen estimators (extra ``[tune]``).
    n_iter : int, default=60
        Number of candidates of "tpe".
    cv : int, splitter or iterable, default=3
        Cross-validation splitting strategy, as in scikit-learn.  It splits all rows, not the sample.
    scoring : str, callable or None, default=None
        Scoring; None is accuracy.  During the search, decision="calibrated" then learns from at most 100 rows of each
        class.
    early_stop : bool, default=True
        Whether a candidate that is two standard errors behind the best skips the remaining folds.  If all candidates of
        a map (gamma, n_components and metric) with the middle value of reg are so far behind, its other values of reg
        are skipped too.  Only if the score is accuracy.
    error_score : "raise" or float, default=np.nan
        Score of a fold that cannot be fitted or scored, such as one with a single class; a `FitFailedWarning` says so.
        Means are over the folds whose score is not NaN.  "raise" raises the error.
    sample : int or None, default=10_000
        Maximum number of rows used in the search, drawn at random; None uses all.  The best candidate is fitted on all
        rows in any case.
    refit : bool, default=True
        Whether to fit the best candidate on all rows.
    n_jobs : int or None, default=None
        Number of threads of the search and of the last fit; the result does not depend on it.  None is that of the
        estimator.
    random_state : int, RandomState or None, default=None
        Seed of the sample and of "tpe".
    verbose : int, default=0
        If 1, show a progress bar, on a terminal (extra ``tune``).

    Attributes
    ----------
    best_params_ : dict
        The parameters with the best mean score.  A metric that was learned is not one of them: to learn with the same
        settings, clone `best_estimator_`.
    best_metric_ : str or tuple of float
        The metric of `best_estimator_`: the factors of the columns, where gamma was searched and a metric was learned
        on all rows of the search; otherwise what the candidate or the estimator says.
    n_rounds_ : int
        Number of rounds in which these factors were learned.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Importance of each column for `best_estimator_`; all sum to 1.
    best_score_ : float
        The best mean score.
    best_index_ : int
        Index of the best candidate in `cv_results_`.
    best_estimator_ : FBTWSVM
        The best candidate, fitted on all rows; only with `refit`.
    cv_results_ : dict of arrays
        Scores as in GridSearchCV, without times; `stopped` marks candidates that were not tried in all folds: sort by
        `rank_test_score`, where they come last.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    scorer_ : callable or None
        What `scoring` stands for; None for accuracy.
    n_splits_ : int
        Number of folds.
    search_time_, refit_time_ : float
        Seconds of the search and of the last fit.
    n_features_in_ : int
        Number of columns seen in `fit`.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : A search that fits every candidate from scratch.
    fbtwsvm.evaluate.plot.search : Plot of the scores.

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

    _computed_from = "best_estimator_"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "gamma": _LISTS,
        "n_components": _LISTS,
        "metric": ["array-like", None],
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
        "error_score": [StrOptions({"raise"}), Real],
        "sample": [_COUNT, None],
        "refit": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: FBTWSVM | None = None,
        *,
        gamma: int | Sequence[float] | None = 5,
        n_components: int | Sequence[int] | None = None,
        metric: Sequence[str] | None = None,
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
        error_score: float | str = np.nan,
        sample: int | None = 10_000,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.gamma = gamma
        self.n_components = n_components
        self.metric = metric
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
        self.error_score = error_score
        self.sample = sample
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Search for the best parameters, then fit the best candidate on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame, Dask collection} of shape (n_samples, n_features)
            Training rows.  `sample` rows of a Dask collection are brought together for the search, and `cv` splits
            these; the best candidate is fitted on the collection.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in training.  Scores count all rows with a weight above zero equally.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, for a `cv` that splits by group, and for gamma="auto" as in `FBTWSVM.fit`.  With an
            int as `cv`, whole groups are held out (`StratifiedGroupKFold`).

        Returns
        -------
        FBTWSVMCV
            The fitted search.
        """
        fresh = copy(self)
        if is_collection(X):
            fresh._search_collection(X, y, sample_weight, groups)
        else:
            fresh._search(X, y, sample_weight, groups)
            if self.refit:
                fresh._refit(X, y, sample_weight, groups)
        self.__dict__ = fresh.__dict__
        return self

    def _search_collection(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Search on a sample of a Dask collection, and fit the best candidate on all of it."""
        if groups is not None:
            raise ValueError("groups cannot be given beside a Dask collection: search on an array.")
        self._validate_params()
        if self.sample is None:
            raise ValueError("sample=None needs all rows in memory: give a number of rows for a Dask collection.")
        rows, columns = collected_rows(self._unfitted(), X, y, sample_weight)
        if rows.n <= self.sample:
            found = gather(rows)
        else:
            numbers = sample_rows(rows.starts, self.sample, np.random.default_rng(self._seed()))
            chosen, labels, weights = rows.in_order(numbers, "sample of the search")
            found = CheckedRows.unnamed(chosen, rows.facts.classes[labels], weights)
        self._search(found.X, found.y, found.weights, None)
        for name, value in columns.items():
            setattr(self, name, value)
        if self.refit:
            self._refit(X, y, sample_weight, None)

    def _unfitted(self) -> FBTWSVM:
        """Return the estimator whose parameters are searched."""
        estimator = FBTWSVM(random_state=self.random_state) if self.estimator is None else clone(self.estimator)
        if not isinstance(estimator, FBTWSVM):
            raise TypeError(f"estimator must be an FBTWSVM, got {type(estimator).__name__}: use GridSearchCV.")
        return estimator if self.n_jobs is None else estimator.set_params(n_jobs=self.n_jobs)

    def _refit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Fit the best candidate on all rows."""
        begin = time.perf_counter()
        best = self._unfitted().set_params(**{**self.best_params_, "metric": self.best_metric_})
        self.best_estimator_ = best.fit(X, y, sample_weight, groups=groups)
        note_rounds(best, self)
        self.refit_time_ = time.perf_counter() - begin

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Check the arguments of `fit`, and search."""
        for name in ("metric", "mu", "membership"):
            value = getattr(self, name)
            if isinstance(value, str | Real):
                raise ValueError(f"{name}={value!r}: give a list of values. To try one value, use [{value!r}].")
        if isinstance(self.error_score, bool) or self.error_score in (np.inf, -np.inf):
            raise ValueError(f"error_score={self.error_score!r}: give 'raise', np.nan or a finite number.")
        for name in ("gamma", "C", "reg"):
            value = getattr(self, name)
            if isinstance(value, bool) or (isinstance(value, Real) and not isinstance(value, Integral)):
                raise ValueError(f"{name}={value!r}: an int is a number of values. To try one value, use [{value!r}].")
        self._validate_params()
        estimator = self._unfitted()
        if self._searches_on_device(estimator, X):
            X, y, weights = self._checked_on_device(estimator, X, y, sample_weight, groups)
        else:
            X, y, sample_weight = (to_numpy(part) if is_foreign(part) else part for part in (X, y, sample_weight))
            y = as_labels(y)
            with clear_errors(y):
                X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
                check_labels(y)
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if groups is not None:
            groups = group_numbers(groups, X)
        self.classes_ = np.unique(y[weights > 0])
        if len(self.classes_) < 2:
            raise ValueError(f"A search needs two classes or more; this data has one class: {self.classes_.tolist()}.")
        if self.separate and len(self.classes_) != 2:
            raise ValueError(f"separate=True is for two classes, got {len(self.classes_)}: use separate=False.")
        begin = time.perf_counter()
        trials = self._try_candidates(estimator, X, y, weights, groups)
        self.cv_results_ = trials.results()
        self.best_index_ = int(np.argmin(self.cv_results_["rank_test_score"]))
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_metric_, self.n_rounds_ = trials.folds.last_metric(self.best_params_)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.search_time_ = time.perf_counter() - begin

    def _searches_on_device(self, estimator: FBTWSVM, X: Any) -> bool:
        """Whether the search is on a device: X is there or goes there, and the search uses very many rows."""
        if not is_foreign(X) and (estimator.device is None or sp.issparse(X)):
            return False
        return np.ndim(X) == 2 and min(np.shape(X)[0], self.sample or np.inf) > LARGE

    def _checked_on_device(
        self, estimator: FBTWSVM, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> tuple[Any, Array, Array]:
        """Return checked rows on the device, with labels and weights here."""
        for name, given in (("separate", self.separate), ("scoring", self.scoring), ("groups", groups)):
            if given is not None and given is not False:
                raise ValueError(f"A search on a device does not use {name}: leave it out, or search with device=None.")
        if not is_foreign(X):
            check_device(str(estimator.device))
            X = on_device(validate_data(self, X, dtype=[np.float64, np.float32]), str(estimator.device))
        X = checked_rows(X, None, type(self).__name__, estimator.precision)
        self.n_features_in_ = int(X.shape[1])
        labels = to_numpy(checked_labels(y, X.shape[0], X[:0, :]))
        weights = checked_weights(sample_weight, X.shape[0], X[:0, :])
        return X, labels, np.ones(len(labels)) if weights is None else to_numpy(weights)

    def _try_candidates(self, estimator: FBTWSVM, X: Any, y: Array, weights: Array, groups: Array | None) -> Trials:
        """Try all candidates on the rows of the search."""
        sample = self._sample_rows(y, weights)
        scorer = None if self.scoring is None else check_scoring(estimator, self.scoring)
        splits = self._splits(y if is_foreign(X) else X, y, sample, groups)  # X only tells how many rows there are
        groups = None if groups is None else groups[sample]
        kind = DeviceFolds if is_foreign(X) else Folds
        folds = kind(estimator, rows_at(X, sample), y[sample], weights[sample], groups, splits, scorer)
        self.scorer_, self.n_splits_ = scorer, len(folds)
        early_stop = bool(self.early_stop) and scorer is None
        trials = Trials(folds, early_stop=early_stop, separate=self.separate, error_score=self.error_score)
        own = self.get_params(deep=False)
        grid = values_to_try(own, estimator, folds.gamma)
        if self.search == "grid":
            search_grid(trials, grid, steps(own), verbose=bool(self.verbose))
        else:
            search_tpe(trials, grid, self.n_iter, self._seed(), verbose=bool(self.verbose))
        trials.best_trial()  # raises an error if there is none
        return trials

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _splits(self, X: Any, y: Array, sample: Array, groups: Array | None = None) -> list[tuple[Array, Array]]:
        """Return training and test rows of the folds, as positions in the sample.

        A splitter may refer to the positions of all rows, so it splits all of them.  A number of folds with groups
        refers to none: only the sample is split, and rows of weight zero make no group.
        """
        if groups is not None and (self.cv is None or isinstance(self.cv, Integral)):
            count, present = 5 if self.cv is None else int(self.cv), len(np.unique(groups[sample]))
            if present < count:
                raise ValueError(f"{count} folds need as many groups, got {present}: give cv={present}, or no groups.")
            return list(StratifiedGroupKFold(count).split(X[sample], y[sample], groups[sample]))
        splits = []
        for split in check_cv(self.cv, y, classifier=True).split(X, y, groups):
            parts = []
            for part in split:
                rows = np.arange(len(y))[part]
                place = np.searchsorted(sample, rows)
                in_sample = (place < len(sample)) & (sample[np.minimum(place, len(sample) - 1)] == rows)
                parts.append(place[in_sample])
            train, test = parts
            splits.append((train, test))
        return splits

    def _sample_rows(self, y: Array, weights: Array) -> Array:
        """Return the rows of the search: those with weight, or a sample of them with some rows of each class."""
        present = np.flatnonzero(weights > 0)
        if self.sample is None or len(present) <= self.sample:
            return present
        random = np.random.default_rng(self._seed())
        shuffled = random.permutation(present)
        rank = np.empty(len(y), dtype=np.int64)  # position of a row among those of its class
        for label in np.unique(y[present]):
            own = shuffled[y[shuffled] == label]
            rank[own] = np.arange(len(own))
        first = shuffled[np.argsort(rank[shuffled] >= _FROM_EACH_CLASS, kind="stable")]
        return np.sort(first[: self.sample])

    def _best(self) -> FBTWSVM:
        check_is_fitted(self, "cv_results_")
        if not self.refit:
            raise AttributeError("This search did not fit the best candidate (refit=False): use best_params_.")
        best: FBTWSVM = self.best_estimator_
        return best

    def _summary(self) -> dict[str, str]:
        if not hasattr(self, "best_params_"):
            return {}
        best = ", ".join(
            f"{name} = {format(value, '.4g') if isinstance(value, Real) else value}"
            for name, value in self.best_params_.items()
        )
        found = {"best": best, "score": f"{self.best_score_:.4f}"}
        return found | summary(self.best_estimator_) if hasattr(self, "best_estimator_") else found

    @property
    def feature_importances_(self) -> Array:
        """Importance of each column for the best estimator; all sum to 1."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("This search has no feature_importances_: it has not fitted a best estimator.")
        return self._best().feature_importances_

    def predict(self, X: Any) -> Array:
        """Predict the labels of rows with the best estimator.

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
        """Predict class probabilities with the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probability of each class.
        """
        return self._best().predict_proba(X)

    def predict_log_proba(self, X: Any) -> Array:
        """Predict logarithms of the class probabilities with the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            `log(predict_proba(X))`.
        """
        return self._best().predict_log_proba(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score the best estimator on other rows, by `scoring`.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            The score; accuracy if `scoring` is None.
        """
        best, weights = self._best(), {} if sample_weight is None else {"sample_weight": sample_weight}
        if is_collection(X) and self.scorer_ is not None:
            raise ValueError("A Dask collection is scored by accuracy only (scoring=None): give an array.")
        return float(best.score(X, y, **weights) if self.scorer_ is None else self.scorer_(best, X, y, **weights))

    def decision_function(self, X: Any) -> Array:
        """Compute the scores of classes with the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores as in `FBTWSVM.decision_function`.
        """
        return self._best().decision_function(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = (FBTWSVM() if self.estimator is None else self.estimator).__sklearn_tags__()
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.positive_only = inner.input_tags.positive_only
        return tags


def note_rounds(fitted: FBTWSVM, search: FBTWSVMCV) -> None:
    """Note in a model that was fitted with the metric of a search in how many rounds that was learned."""
    if search.n_rounds_:
        model_of(fitted).mapping.rounds = search.n_rounds_
