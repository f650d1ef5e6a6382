"""Learning from chunks in the terms of scikit-learn: partial_fit, unlearn, merge and what they need; no mathematics."""

from __future__ import annotations

import os
import warnings
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._arrays import Array
from .batch.choose_gamma import largest_gamma
from .batch.prepare import choose_gamma, settings_of
from .model.choose_map import stream_map
from .model.decision import Decision
from .model.mapping import Mapping
from .model.rows import CheckedRows, arrange
from .online.inspect import MemoryReport, report
from .online.kept import Chunk
from .online.model import HALF_LIVES, Committee, StreamModel
from .online.state import Policy
from .online.unlearn import Unlearned
from .online.warm_up import WarmUpMixin

_STREAM_COMPONENTS = 300


class StreamingMixin(WarmUpMixin):
    """What makes a classifier learn without end; :class:`fbtwsvm.FBTWSVM` documents the parameters."""

    if TYPE_CHECKING:  # parameters and attributes of the classifier that this is mixed into
        _decision: Decision | Committee

        def __getattr__(self, name: str) -> Any: ...

    _dtype: Any  # of the rows, from the first call on
    _learner: Any = None  # what learns, once the warm-up is over
    _history: Any = None  # rows of a fit, to go on from

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, ids: Any = None) -> Self:
        """Learn a chunk of rows; a call that fails or is interrupted leaves the model as it was.

        The first `warm_up` rows are collected, and a provisional model answers meanwhile.  Then gamma, the map and its
        scale are fixed and stay.  After `fit`, the stream goes on from the rows of that call.

        Chunks below 1,000 rows are learned row by row: moments and planes follow each row at once, the dual variables
        of older rows when a class has grown by half, and at the latest after 1,000 rows, or 10 half-lives where old
        rows fade (see `settle`).

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows, as few as one.
        y : array-like of shape (n_samples,)
            Labels; new ones may turn up at any time.
        classes : array-like, default=None
            Not needed.  If given, a label that is not among them is an error.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight zero are skipped.
        ids : array-like of shape (n_samples,), default=None
            A name for each row, by which `unlearn` finds it again even when it is not kept; each costs memory, about a
            hundred bytes, for as long as its row is part of the model.

        Returns
        -------
        FBTWSVM
            The model itself.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from fbtwsvm import FBTWSVM
        >>> X, y = load_digits(return_X_y=True)
        >>> model = FBTWSVM(gamma="scale", random_state=0)
        >>> for start in range(0, 1200, 100):
        ...     model = model.partial_fit(X[start : start + 100], y[start : start + 100])
        >>> bool(model.score(X[1200:], y[1200:]) > 0.9)
        True
        """
        fresh = copy(self)
        given = fresh._check_stream(X, y, sample_weight, ids, classes)
        if ids is not None:
            fresh._refuse_known(given.ids)
        fresh._learn_stream(given if sample_weight is None else given.take(given.weights > 0))
        self.__dict__ = fresh.__dict__
        return self

    def settle(self) -> Self:
        """Bring the dual variables of all kept rows up to date now, rather than at the next due time.

        Returns
        -------
        FBTWSVM
            The model itself.
        """
        check_is_fitted(self)
        fresh = copy(self)
        if fresh._learner is not None:
            learner = fresh._learner.copy()
            learner.resolve()
            fresh._adopt(learner.commit())
        self.__dict__ = fresh.__dict__
        return self

    def unlearn(self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None) -> Unlearned:
        """Take rows out again, as if they had never been learned.

        Rows are found among the kept ones by id or by their values and leave with their dual variables; every row is
        subtracted from its class's moments.  The result equals training without them, to solver tolerance, when every
        row is kept (`accept="all"`, `memory=None`, `forget_after=None`, no decay); otherwise see the report.  Offsets
        learned with `decision="calibrated"` are not taken back.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The rows as they were learned.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights; where a row is found by id or among the kept, the weight it was learned with counts.
        ids : array-like of shape (n_samples,), default=None
            Their names.

        Returns
        -------
        Unlearned
            How many rows are gone without a trace, and of which something remains and why.

        Raises
        ------
        ValueError
            If a row cannot have been learned; the model is then as it was.
        """
        check_is_fitted(self)
        fresh = copy(self)
        given = fresh._check_stream(X, y, sample_weight, ids, None)
        fresh._begin_stream()
        unknown = np.setdiff1d(given.y, fresh.classes_)
        if len(unknown):
            raise ValueError(f"Nothing was unlearned: the model has no class {unknown[0]!r}.")
        if fresh._waiting is not None:
            report = fresh._unlearn_waiting(given)
        else:
            learner, report = fresh._learner.unlearn(fresh._chunk(given), given.X)
            fresh._adopt(learner)
        self.__dict__ = fresh.__dict__
        return report

    def merge(self, other: Any) -> Self:
        """Add what another model has learned from other rows with the same map; the other is left as it is.

        Moments add, kept rows join, and the planes settle.  Both must have left their warm-up.

        Parameters
        ----------
        other : FBTWSVM
            A model with the same parameters and the same map: Fourier features with a number for gamma and the same
            `random_state`, or one fitted map for both, `feature_map=FrozenEstimator(map)`.  No row may be in both:
            copies of one model share their first rows, and are refused.

        Returns
        -------
        FBTWSVM
            The model itself, which now knows the rows of both.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        fresh, guest = copy(self), copy(other)
        for model in (fresh, guest):
            model._begin_stream()
            if model._waiting is not None:
                seen = len(model._waiting.rows.y)
                raise ValueError(f"merge: a model is still in its warm-up ({seen} rows): let it learn more first.")
        mine, theirs = fresh._learner, guest._learner
        if not mine.mapping.same_as(theirs.mapping) or mine.merge_key() != theirs.merge_key():
            raise ValueError(
                "merge: the models differ in their feature map or their parameters, so their sums cannot be added. Use "
                "Fourier features with one gamma and random_state, or one fitted map for both (FrozenEstimator)."
            )
        fresh._adopt(mine.merge(theirs))
        self.__dict__ = fresh.__dict__
        return self

    def memory_report(self) -> MemoryReport:
        """Look inside: which rows support the model, what it has forgotten, how many bytes it takes.

        Returns
        -------
        MemoryReport
            Print it, or use its parts: kept rows with their ids, memberships and dual variables.
        """
        check_is_fitted(self)
        if self._learner is None:
            raise ValueError("memory_report is about a stream that has left its warm-up: call partial_fit first.")
        return report(self._learner)

    def _check_stream(self, X: Any, y: Any, sample_weight: Any, ids: Any, classes: Any) -> CheckedRows:
        """Validate the rows of a call, before anything changes."""
        first = not hasattr(self, "_dtype")
        if first:
            self._validate_params()
            self._policies()
        if first or not (self._is_plain(X) and _are_plain_labels(y, X)):
            dtype = [np.float64, np.float32] if first else self._dtype
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=dtype, reset=first)
        if y.dtype.kind not in "iub":  # integers are labels
            check_classification_targets(y)
        self._check_domain(X)
        if first:
            self._dtype = X.dtype
        weights = np.ones(X.shape[0])
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        names = np.full(len(y), None, dtype=object)
        if ids is not None:
            names[:] = list(ids)
            if len(set(names)) < len(names) or any(name is None for name in names):
                raise ValueError("ids must be given for every row and all be different.")
        if classes is not None and not np.isin(y, classes).all():
            raise ValueError(f"y holds labels that are not in classes: {np.setdiff1d(y, classes)[:5]}.")
        known = getattr(self, "classes_", None)
        if known is not None and (known.dtype.kind in "OUS") != (y.dtype.kind in "OUS"):
            raise ValueError(f"y holds labels of another kind than those learned so far ({known[:3]}...).")
        return CheckedRows(X, y, weights, names)

    def _is_plain(self, X: Any) -> bool:
        """Whether scikit-learn's checks, which take longer than a small chunk does, have nothing to do."""
        plain = isinstance(X, np.ndarray) and X.ndim == 2 and len(X) > 0 and not hasattr(self, "feature_names_in_")
        if not plain or X.dtype != getattr(self, "_dtype", None) or X.shape[1] != self.n_features_in_:
            return False
        return bool(np.isfinite(X).all())

    def _refuse_known(self, ids: Array) -> None:
        """Refuse ids that rows learned before have already."""
        known: set[Any] = set()
        if self._learner is not None:
            known = self._learner.members[0].known_ids()
        elif self._waiting is not None:
            known = set(self._waiting.rows.ids)
        twice = [name for name in ids if name in known]
        if twice:
            raise ValueError(f"A row with id {twice[0]!r} has been learned already: every row needs an id of its own.")

    def _learn_stream(self, given: CheckedRows) -> None:
        """Learn checked rows: in the warm-up, at its end, or after it."""
        if not len(given.y) and not hasattr(self, "classes_"):
            raise ValueError("Every sample_weight is zero: there is no row to learn from.")
        self._begin_stream()
        if self._learner is None:
            waiting = given if self._waiting is None else self._waiting.rows.join(given)
            wanted = self._warm_up_rows()
            if len(waiting.y) < wanted:
                self._wait(waiting, len(given.y))
                return
            self._start(waiting.take(slice(0, wanted)))
            given = waiting.take(slice(wanted, None))
        if len(given.y):
            self._adopt(self._learner.learn(self._chunk(given), given.y))
        else:
            self._adopt(self._learner)

    def _begin_stream(self) -> None:
        """Go on from a `fit`, if that is where the model stands."""
        if self._history is not None:
            if not isinstance(self._history, CheckedRows):
                raise ValueError(self._history)
            mapping = None if self._mapping.exact else self._mapping
            self._start(self._history, mapping)

    def _policies(self) -> list[Policy]:
        """Return one policy, or for decay="auto" one of each speed."""
        if self.half_life is not None and self.decay != 1.0:
            raise ValueError("Give decay or half_life, not both: half_life=h is decay=0.5 ** (1 / h).")
        if isinstance(self.feature_map, str) and self.feature_map == "exact":
            raise ValueError("feature_map='exact' grows with every row: it cannot follow a stream. Use 'auto'.")
        half_lives = HALF_LIVES if self.decay == "auto" else (self.half_life or np.inf,)
        decays = [float(self.decay)] if self.decay not in ("auto", 1.0) else [0.5 ** (1.0 / h) for h in half_lives]
        return [
            Policy(
                memory=self.memory,
                second_look=self.second_look,
                forget_after=self.forget_after,
                forget_below=self.forget_below,
                decay=decay,
                accept=self.accept,
                statistics=self.statistics,
                balanced=self.class_weight == "balanced",
            )
            for decay in decays
        ]

    def _start(self, given: CheckedRows, mapping: Mapping | None = None) -> None:
        """End the warm-up: fix gamma, map and scale, and learn the rows collected."""
        classes, labels = np.unique(given.y, return_inverse=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        settings = settings_of(self, len(classes))
        weights = self._class_weighted(given)
        rows = arrange(given.X, labels, weights, len(classes), merge=False)
        count = _STREAM_COMPONENTS if self.n_components == "auto" else int(self.n_components)
        landmarks = np.zeros(len(given.y), dtype=bool)
        if mapping is None:
            if self._history is None:  # otherwise the width is that of the fit
                self.gamma_ = choose_gamma(self, rows, settings, seed, quick=True)
                if self.gamma_ is not None and self.gamma == "auto":
                    self.gamma_ = largest_gamma(given.X, self.kernel, self.gamma_, count, seed)
            transformer = stream_map(self.kernel, self.feature_map, count, self.gamma_, rows, seed)
            mapping, _ = Mapping.fit(transformer, rows, given.y, self.kernel)
            landmarks = mapping.landmarks(rows)[rows.source]
        shows = not mapping.data_independent or (isinstance(self.gamma, str) and self.gamma_ is not None)
        n_columns = mapping.rows(given.X[:1]).shape[1]
        _warn_of_size(len(classes), n_columns, mapping.dtype, len(self._policies()))
        learner = StreamModel(
            mapping, settings, self.C, self.reg, self._policies(), n_columns, count, shows, self.drift_detector, seed
        )
        self._learner = learner
        learner.begin(self._chunk(given), given.y, landmarks)
        self._history = None
        self._adopt(learner.commit())

    def _chunk(self, given: CheckedRows) -> Chunk:
        """Map the rows of a call."""
        mapping, clock, n = self._learner.mapping, self._learner.clock, len(given.y)
        classes = self._learner.classes
        labels = np.minimum(np.searchsorted(classes, given.y), max(len(classes) - 1, 0))  # a new label has no index yet
        raw = given.X if mapping.renewable else None
        weights = self._class_weighted(given)
        return Chunk(mapping.rows(given.X), labels, weights, np.arange(clock, clock + n), given.ids, raw)

    def _class_weighted(self, given: CheckedRows) -> Array:
        """Weights of rows, times the factors of a class_weight that is a dict."""
        if not isinstance(self.class_weight, dict):
            return given.weights
        classes, labels = np.unique(given.y, return_inverse=True)
        factors = np.array([float(self.class_weight.get(label, 1.0)) for label in classes.tolist()])
        if not ((factors > 0) & np.isfinite(factors)).all():
            raise ValueError("class_weight must be positive and finite: leave rows of an unwanted class out instead.")
        weights: Array = given.weights * factors[labels]
        return weights

    def _adopt(self, learner: StreamModel) -> None:
        """Show what a learner knows in the attributes of the model."""
        if learner is self._learner and self._waiting is None and hasattr(self, "kept_"):
            return  # learned in place
        leader = learner.leader
        self._learner, self._waiting = learner, None
        self._mapping, self._decision = learner.mapping, learner.rule()
        self.classes_ = learner.classes
        self.planes_, self.duality_gap_ = leader.planes, leader.gaps
        self.n_iter_ = int(leader.sweeps.max(initial=0))
        self.n_components_ = leader.planes.shape[2] - 1
        support = leader.kept.labels[~leader.kept.reserve]
        self.n_support_ = np.bincount(support, minlength=len(self.classes_))
        self.kept_ = len(leader.kept)
        for name in ("support_", "memberships_"):  # these are about the rows of one fit
            self.__dict__.pop(name, None)


def _are_plain_labels(y: Any, X: Array) -> bool:
    """Whether labels are integers, one for each row."""
    return isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "iub" and len(y) == len(X)


def _warn_of_size(n_classes: int, n_columns: int, dtype: np.dtype, n_machines: int) -> None:
    """Warn when the Gram matrices and their roots will hardly fit into memory."""
    wanted = 2 * n_machines * n_classes * n_columns**2 * (8 + dtype.itemsize)
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on this system
        return
    if wanted > 0.5 * free:
        warnings.warn(
            f"{n_classes} classes with {n_columns - 1} features need about {wanted / 2**30:.1f} GiB for their Gram "
            f"matrices while they learn, of {free / 2**30:.1f} GiB free. Use a smaller n_components"
            + (", or a number for decay." if n_machines > 1 else "."),
            ResourceWarning,
            stacklevel=2,
        )
