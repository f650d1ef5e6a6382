"""The scikit-learn contract: parameters, validation, fit and predict.  No mathematics."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import closing
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._arrays import Array
from ._log import LOG, shown
from ._streaming import StreamingMixin
from .batch.machine import Machine, learn
from .batch.prepare import prepare, prepare_larger
from .batch.spool import Spool, are_chunks, chunks_of
from .batch.tiled import learn_larger
from .features.kernels import KERNELS, Kernel, check_domain
from .model.decision import Decision
from .model.rows import CheckedRows, TrainingRows
from .model.settings import Settings
from .online.model import Committee

_POSITIVE = Interval(Real, 0, None, closed="neither")
_COUNT = Interval(Integral, 1, None, closed="left")
_LEARNED = ("_learner", "_waiting", "_history", "_dtype", "_mapping", "_decision")  # and what ends in _
_MOST_HISTORY = 64 * 2**20  # bytes of training rows that a fit keeps, to go on from with partial_fit
_PREDICT_TILE = 8192  # rows mapped and decided at a time
_MOST_MAPPED = 2 * 2**30  # bytes of mapped rows that a fit holds
_FEW_ROWS = 10_000  # chunks with so many rows in all are learned as one array


class FBTWSVM(StreamingMixin, ClassifierMixin, BaseEstimator):
    """Fuzzy bounded twin support vector machine.

    For every ordered pair of classes (a, b) one plane lies near the rows of a and keeps those of b away; a row goes to
    the class whose plane it is nearer to.  Each plane solves

        min_u  1/2 reg ||u||^2 + 1/2 sum_{i in a} w_i (h_i.u)^2 + sum_{i in b} C w_i s_i max(0, 1 + h_i.u)

    with h = [z(x), 1] the mapped row, w the row's weight and s its fuzzy membership, and comes with a duality gap.

    As for every kernel machine, columns of unequal scale should be brought to one scale first:
    ``make_pipeline(StandardScaler(), FBTWSVM())``.  Most of the time of a default fit goes into choosing gamma; a
    number or "scale" is the quick setting.

    Parameters
    ----------
    kernel : {"rbf", "linear", "laplacian", "chi2", "intersection", "skewed_chi2", "skewed_intersection"} or callable, \
            default="rbf"
        Similarity of rows; formulas in :mod:`fbtwsvm.features.kernels`.  A callable takes two arrays of rows and
        returns the matrix of similarities.
    gamma : {"auto", "scale"} or float, default="auto"
        Width of the rbf and laplacian kernels.  "scale" is 1 / (n_features * X.var()), with X.std() for laplacian.
        "auto" tries a ladder of widths around it with at most about 2,000 rows at a time and keeps the one with the
        least log loss on rows the planes did not see: leave-one-out on small data, contiguous held-out thirds on large
        data.  Thirds that lie together are for new rows unlike those seen; where rows come in groups (people, machines)
        and new ones will be of the same groups, shuffle them first.
    feature_map : {"auto", "nystroem", "fourier", "orthogonal", "exact"} or transformer, default="auto"
        How the kernel is made explicit.  "auto": the columns themselves for the linear and additive kernels (up to
        4,000 of them), the exact kernel up to 2,000 distinct rows, Nystroem landmarks beyond that and wherever
        `n_components` is a number.  Any scikit-learn transformer works; `kernel` and `gamma` then have no say.
    n_components : int or "auto", default="auto"
        Features of the Nystroem and Fourier maps.  "auto" starts from 10 sqrt(n_samples) and doubles as long as rows
        that are held out are classified better, tried on at most 8,000 rows; at least 50, at most 2,000, and less where
        the mapped rows or all planes would exceed a quarter of a billion numbers.  `n_components_` is what was chosen.
    C : float or pair of floats, default=1.0
        Box of the dual variables: the price of a row that comes too near to the other class's plane.  A pair, for two
        classes, gives the plane near `classes_[0]` first.
    reg : float or pair of floats, default=0.01
        Ridge of the planes, for features with a mean square norm of one; pair as for C.
    mu : float, default=0.5
        Membership share of rows nearer to the other class's centre than to their own; the rest get 1 - mu.
    membership : {"fuzzy", "printed", "none"}, default="fuzzy"
        "fuzzy" falls with the distance from the class centre, rescaled to (0, 1] per class and pair; "printed" is the
        paper's formula without rescaling; "none" trusts all rows alike (the bounded twin SVM).
    multiclass : {"dag", "vote"}, default="dag"
        "dag": the classes challenge each other in the order of `classes_`, the winner stays (from 24 classes on only
        2 (K - 1) plane values a row are computed).  "vote": most pairs won.
    decision : {"calibrated", "value", "distance"}, default="calibrated"
        What a pair compares: plane values with an offset learned on left-out rows, plain values |h.u|, or the paper's
        distances |h.u| / ||w||.
    class_weight : dict, "balanced" or None, default=None
        Factors on the weights of the rows of each class.
    tol : float, default=1e-3
        Duality gap at which a plane is solved, relative to its primal value at u = 0.
    max_iter : int, default=1000
        Most sweeps of coordinate descent for a plane; a `ConvergenceWarning` says when they were not enough.
    memory : int or None, default=200
        Stream: support rows kept of each class, a hard limit whenever planes settle; None keeps all.  What goes beyond
        it is condensed into the planes.  Until then at most 1,000 rows wait.
    second_look : int, default=100
        Stream: rows of each class that do nothing at present and are looked at again whenever planes settle.
    forget_after : int or None, default=None
        Stream: the paper's d.  A kept row whose dual variables are all at most `forget_below` when planes settle, so
        many times, leaves the support; None: only the memory limit sends it away.
    forget_below : float, default=1e-5
        Stream: the paper's phi.
    decay : float or "auto", default=1.0
        Stream: what a row's weight is multiplied by with each row that comes after it; 1 never fades.  "auto" learns at
        four speeds (half-lives of 10, 100 and 1,000 rows, and for ever) and trusts each by its success on rows just
        tested, for four times the work; plane values are then compared as they are, whatever `decision` and
        `multiclass` say.
    half_life : float or None, default=None
        Stream: rows after which half of a row's weight is left, instead of `decay`.
    accept : {"kkt", "inside", "outside", "all"}, default="kkt"
        Stream: which new rows may become support rows.  "kkt": those that violate the optimality of a plane; "inside"
        and "outside": those whose gradient is within, or not within, the bounds that it had in the last solve from
        scratch (what the published code does, and what the paper prints); "all".
    statistics : {"all", "kept"}, default="all"
        Stream: whether every row stays in the Gram matrices, or, as in the paper, only support rows.
    warm_up : int or "auto", default="auto"
        Stream: rows collected before gamma, map and scale are fixed; "auto" is 500, or `n_components` if that is more.
    drift_detector : object or None, default=None
        Stream: anything with river's interface, `update(error)` and `drift_detected`.  A copy is told of each row
        whether it was classified wrongly before it was learned; on drift all that is known fades to a tenth of its
        weight.
    n_jobs : int or None, default=None
        Threads of a fit; the model is the same for every value.  None is as many as BLAS may use here, and one on a
        stream.
    random_state : int, RandomState or None, default=None
        Seed of landmarks, frequencies and subsamples.  Data with at most 2,000 distinct rows (of at most 10,000) needs
        none: equal rows are merged, and nothing is chosen at random unless the map asks for it.
    verbose : int, default=0
        1 prints what a fit is doing (the values of gamma that are tried, the sizes), 2 also the progress of the solver.
        All of it also goes to the logger "fbtwsvm".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    planes_ : ndarray of shape (n_classes, n_classes, n_components_ + 1)
        planes_[a, b] is the plane near class a that pushes class b: weights of the features, then the bias.  For the
        exact kernel, which works in float64, the features of a row are its similarities to the distinct training rows.
    support_ : ndarray of shape (n_support,)
        Training rows with a non-zero dual variable in any plane.
    n_support_ : ndarray of shape (n_classes,)
        How many of them each class has.
    memberships_ : ndarray of shape (n_samples, n_classes)
        Membership of each training row against each other class; zero for rows of weight zero.  The column of the row's
        own class is not used.  Not there after a fit on chunks, or on rows that were mapped tile by tile.
    kept_ : int
        Rows that a stream keeps, when its planes last settled (`memory_report` shows them).  On a stream `n_support_`
        counts support rows among these, and there is no `support_` or `memberships_`.
    n_iter_ : int
        Sweeps of the plane that needed most.
    duality_gap_ : ndarray of shape (n_classes, n_classes)
        Relative duality gap of every plane; zero on the diagonal.
    gamma_ : float or None
        The width in use; None where the kernel or map has none.
    n_components_ : int
        Number of features after the map.
    n_features_in_ : int
        Columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names, when X had names that are all strings.

    See Also
    --------
    sklearn.svm.SVC : The unbounded kernel machine that this one is measured against.
    fbtwsvm.features.NystroemFeatures : The map behind feature_map="nystroem".

    References
    ----------
    A. R. Mello, M. R. Stemmer, A. L. Koerich, "Member and Decremental Fuzzy Bounded Twin Support Vector Machine",
    Information Sciences 526 (2020).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import train_test_split
    >>> from fbtwsvm import FBTWSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = FBTWSVM().fit(X_train, y_train)
    >>> bool(model.score(X_test, y_test) > 0.9)
    True
    >>> bool(model.duality_gap_.max() <= model.tol)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [StrOptions({"auto", "scale"}), _POSITIVE],
        "feature_map": [
            StrOptions({"auto", "nystroem", "fourier", "orthogonal", "exact"}),
            HasMethods(["fit", "transform"]),
        ],
        "n_components": [StrOptions({"auto"}), _COUNT],
        "C": [_POSITIVE, tuple, list],
        "reg": [_POSITIVE, tuple, list],
        "mu": [Interval(Real, 0, 1, closed="both")],
        "membership": [StrOptions({"fuzzy", "printed", "none"})],
        "multiclass": [StrOptions({"dag", "vote"})],
        "decision": [StrOptions({"calibrated", "value", "distance"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "tol": [_POSITIVE],
        "max_iter": [_COUNT],
        "memory": [_COUNT, None],
        "second_look": [Interval(Integral, 0, None, closed="left")],
        "forget_after": [_COUNT, None],
        "forget_below": [Interval(Real, 0, None, closed="left")],
        "decay": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
        "half_life": [_POSITIVE, None],
        "accept": [StrOptions({"kkt", "inside", "outside", "all"})],
        "statistics": [StrOptions({"all", "kept"})],
        "warm_up": [StrOptions({"auto"}), _COUNT],
        "drift_detector": [HasMethods(["update"]), None],
        "n_jobs": [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        kernel: str | Kernel = "rbf",
        gamma: float | str = "auto",
        feature_map: Any = "auto",
        n_components: int | str = "auto",
        C: float | tuple[float, float] = 1.0,
        reg: float | tuple[float, float] = 0.01,
        mu: float = 0.5,
        membership: str = "fuzzy",
        multiclass: str = "dag",
        decision: str = "calibrated",
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        memory: int | None = 200,
        second_look: int = 100,
        forget_after: int | None = None,
        forget_below: float = 1e-5,
        decay: float | str = 1.0,
        half_life: float | None = None,
        accept: str = "kkt",
        statistics: str = "all",
        warm_up: int | str = "auto",
        drift_detector: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.feature_map = feature_map
        self.n_components = n_components
        self.C = C
        self.reg = reg
        self.mu = mu
        self.membership = membership
        self.multiclass = multiclass
        self.decision = decision
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.second_look = second_look
        self.forget_after = forget_after
        self.forget_below = forget_below
        self.decay = decay
        self.half_life = half_life
        self.accept = accept
        self.statistics = statistics
        self.warm_up = warm_up
        self.drift_detector = drift_detector
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all rows at once; a call that fails leaves the model as it was.

        Up to 64 MiB of training rows are kept, so that `partial_fit` can go on from here.  Chunks, and dense rows of
        which `n_components` features would take more than 2 GiB, are mapped tile by tile, several times over, and the
        mapped rows are never held all at once; gaps below 1e-4 are then out of reach.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or chunks
            Training rows.  float32 stays float32 (but the exact kernel of small data works in float64), everything else
            becomes float64.  A memory map (`np.memmap`) of floats is read in place.  Without `y`: something that
            yields (X, y) chunks anew each time it is iterated over, such as a list; they are written to a temporary
            file once, in the precision of the first, and that is gone after the call.
        y : array-like of shape (n_samples,), or None for chunks
            Labels of one kind (strings, numbers, booleans), two classes or more.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is the row twice, a weight of 0 an absent row.

        Returns
        -------
        FBTWSVM
            The fitted model itself.
        """
        fresh = copy(self)
        fresh._reset()
        with shown(self.verbose):
            fresh._learn(X, y, sample_weight)
        self.__dict__ = fresh.__dict__
        return self

    def predict(self, X: Any) -> Array:
        """Labels of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class that wins the DAG or the vote.
        """
        winners = self._decide(X, self._rule().winners)
        labels: Array = self.classes_[winners]
        return labels

    def decision_function(self, X: Any) -> Array:
        """Scores whose largest is the predicted class.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: slope (log|h.u_01| - log|h.u_10| - offset), positive for `classes_[1]`.  More: the pairs
            that each class wins, plus less than a third of a vote for how clearly; where the winner of the DAG
            is not the class with most pairs, those two change scores.
        """
        rule = self._rule()
        return self._decide(X, rule.margins if len(self.classes_) == 2 else rule.scores)

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities by pairwise coupling.

        They come from the learned offsets and slopes, which were fitted on values that each training row gets from
        planes trained without it.  With `decision="calibrated"` the most probable class is always that of `predict`;
        the fixed rules "value" and "distance" decide by other offsets and can differ.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to one; columns follow `classes_`.
        """
        return self._decide(X, self._rule().probabilities)

    def plane_values(self, X: Any, near: Any, pushed: Any) -> Array:
        """Value h.u of one plane: about zero at its own class, -1 or less beyond the other's margin.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        near : label
            The class that the plane lies near.
        pushed : label
            The class that it keeps away.

        Returns
        -------
        ndarray of shape (n_samples,)
            The values.
        """
        check_is_fitted(self)
        known = self.classes_.tolist()
        if near not in known or pushed not in known or near == pushed:
            raise ValueError(f"near and pushed must be two different classes of {known}, got {near!r} and {pushed!r}.")
        a, b = known.index(near), known.index(pushed)
        return self._decide(X, lambda rows, planes: rows @ planes[a, b])

    def _reset(self) -> None:
        """Forget everything learned."""
        for name in [name for name in vars(self) if name in _LEARNED or (name.endswith("_") and name[0] != "_")]:
            delattr(self, name)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Check what `fit` was given and learn from it."""
        self._validate_params()
        if are_chunks(X, y):
            self._learn_chunks(X, sample_weight)
            return
        X, y = self._checked(X, y, first=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self._is_larger(X):
            self._fit_larger(X, y, weights)
        else:
            self._fit_rows(X, y, weights)
        self._dtype = X.dtype
        size = X.data.nbytes if sp.issparse(X) else X.nbytes
        if size <= _MOST_HISTORY:
            self._history = CheckedRows(X, y, weights, np.full(len(y), None, dtype=object)).take(
                np.flatnonzero(weights > 0)
            )
        else:
            self._history = (
                f"This model was fitted on {size / 2**20:.0f} MiB of rows, too many to keep for going on from it (up "
                f"to {_MOST_HISTORY / 2**20:.0f} MiB are). Give all rows to partial_fit instead, in chunks."
            )

    def _checked(self, X: Any, y: Any, *, first: bool, sparse: bool = True) -> tuple[Any, Array]:
        """Check rows and labels; the first ones say how many columns there are."""
        accept = "csr" if sparse else False
        X, y = validate_data(self, X, y, accept_sparse=accept, dtype=[np.float64, np.float32], reset=first)
        check_classification_targets(y)
        self._check_domain(X)
        return X, y

    def _is_larger(self, X: Any) -> bool:
        """Whether the mapped rows would take too much memory."""
        if sp.issparse(X) or not isinstance(self.feature_map, str) or self.n_components == "auto":
            return False
        return bool(X.shape[0] * (int(self.n_components) + 1) * X.dtype.itemsize > _MOST_MAPPED)

    def _learn_chunks(self, chunks: Any, sample_weight: Any) -> None:
        """Learn from chunks that can be read again."""
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be given beside chunks: use class_weight, or partial_fit.")
        seen: list[int] = []

        def check(X: Any, y: Any) -> tuple[Array, Array]:
            X, y = self._checked(X, y, first=not seen, sparse=False)
            seen.append(len(y))
            return X, y

        with closing(Spool(chunks_of(chunks), check)) as rows:
            if len(rows) <= _FEW_ROWS:
                self._fit_rows(rows[:], rows.y, np.ones(len(rows)))
            else:
                self._fit_larger(rows, rows.y, None)
            self._dtype = rows.dtype
        self._history = (
            "This model was fitted on chunks, which are not kept for going on from it. Give them all to partial_fit "
            "instead."
        )

    def _fit_larger(self, X: Any, y: Array, weights: Array | None) -> None:
        """Learn from rows that are mapped tile by tile."""
        found, seed = prepare_larger(self, X, y, weights)
        self.classes_, self.gamma_, self._mapping = found.classes, found.gamma, found.mapping
        result = learn_larger(found.settings, found.mapping, found.rows, found.judged, seed)
        self.n_components_ = result.machine.solution.planes.shape[2] - 1
        self._record_planes(result.machine)
        self.support_ = np.sort(found.rows.index[result.supports]).astype(np.int64)
        owners = np.searchsorted(found.rows.starts, np.flatnonzero(result.supports), side="right") - 1
        self.n_support_ = np.bincount(owners, minlength=len(self.classes_))

    def _fit_rows(self, X: Any, y: Array, weights: Array, *, quick: bool = False) -> None:
        """Learn from checked rows at once; `quick` takes the plain width and the exact kernel."""
        found = prepare(self, X, y, weights, quick=quick)
        self.classes_, self.gamma_, self._mapping = found.classes, found.gamma, found.mapping
        self.n_components_ = found.data.shape[1] - (0 if found.mapping.exact else 1)
        LOG.info("solving the planes of %d classes on %d features", len(found.classes), self.n_components_)
        rows, exact = found.rows, found.mapping.exact
        machine = learn(found.settings, found.data, rows.starts, rows.weights, found.judged, exact=exact)
        self._record(machine, rows, found.settings)

    def _record(self, machine: Machine, rows: TrainingRows, settings: Settings) -> None:
        """Keep what prediction needs and what users look at, on the rows as they were given."""
        solution = machine.solution
        self._record_planes(machine)
        self.memberships_ = rows.spread(machine.memberships, shared=False)
        # A box that the farthest row's membership has closed does not make a support.
        smallest = 1e-9 * settings.C.min() * rows.given_weights
        supports = rows.spread(solution.alpha, shared=True).max(axis=1) > smallest
        self.support_ = np.flatnonzero(supports)
        sorted_labels = rows.labels[rows.source[self.support_]]
        self.n_support_ = np.bincount(sorted_labels, minlength=len(self.classes_))

    def _record_planes(self, machine: Machine) -> None:
        """Keep the planes and the decision rule; warn of planes that are not solved."""
        solution = machine.solution
        self._decision = machine.decision
        self.planes_ = solution.planes.astype(self._mapping.dtype, copy=False)
        self.duality_gap_ = solution.gaps
        self.n_iter_ = int(solution.sweeps.max())
        open_planes = int((solution.gaps > self.tol).sum())
        if open_planes:
            warnings.warn(
                f"{open_planes} of {solution.gaps.size - len(solution.gaps)} planes stopped above tol={self.tol:g} "
                f"(largest duality gap {solution.gaps.max():.2g}). Raise max_iter (now {self.max_iter}) or tol; "
                "float32 input cannot go below about 1e-6, rows that are mapped tile by tile not below 1e-4.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _rule(self) -> Decision | Committee:
        check_is_fitted(self)
        return self._decision

    def _decide(self, X: Any, rule: Callable[[Array, Array], Array]) -> Array:
        """Map rows tile by tile and apply a rule to each tile."""
        if not self._is_plain(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=self._mapping.dtype, reset=False)
        self._check_domain(X)
        tiles = range(0, X.shape[0], _PREDICT_TILE)
        return np.concatenate([rule(self._mapping.rows(X[i : i + _PREDICT_TILE]), self.planes_) for i in tiles])

    def _check_domain(self, X: Any) -> None:
        if isinstance(self.feature_map, str):  # a given transformer has a domain of its own
            check_domain(self.kernel, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.kernel in ("chi2", "intersection")
        return tags
