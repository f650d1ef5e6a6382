"""A classifier of tables for Python: data frames with numbers, categories, dates and gaps, batch or stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    _check_y,
    check_consistent_length,
)

from .._arrays import Array
from ..classifier import FBTWSVM, begin_with_map, check_parameters, model_of, noted_column, parameters_of
from ..model.inspection import Inspection
from ..online.inspect import MemoryReport
from ..online.unlearn import Unlearned
from ..online.warm_up import warm_up_rows
from .choose_columns import ENCODINGS, IMPUTATIONS, SCALES, Choices
from .columns import Columns
from .frames import is_frame, table_of
from .sources.base import DataError

_AGAIN = (1, 10, 30, 100, 250)  # rows of a stream after which its columns are chosen again


@dataclass(frozen=True)
class _Rows:
    """Rows of a call: a table, labels, and the arguments of the classifier that have an entry for each row."""

    table: pa.Table
    y: Array
    options: dict[str, Any]

    def __len__(self) -> int:
        return len(self.y)

    @property
    def weights(self) -> Array | None:
        """Weights of the rows, if they are given."""
        return self.options.get("sample_weight")

    def take(self, part: slice) -> _Rows:
        """Return some of the rows that follow each other."""
        first, last, _ = part.indices(len(self))
        options = {name: values[first:last] for name, values in self.options.items()}
        return _Rows(self.table.slice(first, last - first), self.y[first:last], options)

    def join(self, other: _Rows) -> _Rows:
        """Append other rows; weights that were not given are one."""
        if (self.y.dtype.kind in "OUS") != (other.y.dtype.kind in "OUS"):
            raise ValueError(f"y holds labels of another kind than those learned so far ({self.y[:3]}...).")
        options = {}
        for name in {*self.options, *other.options}:
            if name == "ids" and not (name in self.options and name in other.options):
                raise ValueError("ids must be given for every row, or for none, until the columns are chosen.")
            parts = [rows.options.get(name, np.ones(len(rows))) for rows in (self, other)]
            options[name] = np.concatenate(parts)
        table = pa.concat_tables([self.table, other.table], promote_options="permissive")
        return _Rows(table, np.concatenate([self.y, other.y]), options)


@dataclass(frozen=True)
class _State:
    """All that was learned; replaced in one step.

    columns    how tables become numbers
    estimator  the classifier of these numbers
    n_rows     rows learned
    first      the rows so far, as long as the columns may be chosen again; None afterwards
    names      number and names of the columns, by the names of scikit-learn's attributes
    model      the model whose feature map is used, if this one was made to be merged with it
    """

    columns: Columns
    estimator: FBTWSVM
    n_rows: int
    first: _Rows | None
    names: dict[str, Any]
    model: FBTWSVM | None = None


class TableClassifier(ClassifierMixin, BaseEstimator):
    """An FBTWSVM for tables: columns of unequal scale, categories, dates and gaps.

    A pipeline of scikit-learn does this for `fit`, but a pipeline has no `partial_fit`.  Numbers are brought to one
    scale, categories become one-hot columns, dates become days, and gaps are filled.

    On a stream, kinds of columns, scale and fillings are found from the first rows (as many as the warm-up of the
    classifier, 500 by default), which are collected until then; a provisional model answers meanwhile.  Categories may
    come at any time.  A scale that moves later is followed by the classifier's metric, if that is learned
    (`metric="auto"` and `gamma="auto"`): it is learned again when rows move away from the landmarks or the error rate
    rises, and the sums are carried over.

    Parameters
    ----------
    estimator : FBTWSVM or None, default=None
        The classifier; None is FBTWSVM().  It is cloned, never changed.
    categorical : sequence of str, default=()
        Columns that hold categories, whatever their values look like.  Other columns of texts are recognised.
    numeric : sequence of str, default=()
        Columns that hold numbers or dates.
    drop : sequence of str, default=()
        Columns that are not used.
    encode : {"onehot", "ordinal"}, default="onehot"
        How categories become numbers.
    impute : {"median", "error"}, default="median"
        Gaps get the median of a column of numbers, or the most frequent category; or they are an error.
    scale : {"standard", "minmax", "none"}, default="standard"
        How numbers are brought to one scale.
    spare : int, default=5
        One-hot columns of each column of categories for categories that did not occur in the first rows.  When all are
        taken, further categories count as none of the known ones.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the encoded columns; float32 is faster.

    Attributes
    ----------
    estimator_ : FBTWSVM
        The classifier, of the encoded columns.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    encoded_names_ : list of str
        Names of the encoded columns.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each column; all sum to 1.  Zero for columns that are dropped.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the tables have names.

    See Also
    --------
    FBTWSVM : The classifier of numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from fbtwsvm import FBTWSVM, TableClassifier
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, None, 9.0], "colour": ["red", "red", "blue", None]})
    >>> model = TableClassifier(FBTWSVM(decay="auto"))
    >>> model = model.partial_fit(frame, ["a", "a", "b", "b"])
    >>> model.predict(pd.DataFrame({"size": [8.0], "colour": ["green"]})).tolist()
    ['b']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [FBTWSVM, None],
        "categorical": ["array-like", tuple],
        "numeric": ["array-like", tuple],
        "drop": ["array-like", tuple],
        "encode": [StrOptions(set(ENCODINGS))],
        "impute": [StrOptions(set(IMPUTATIONS))],
        "scale": [StrOptions(set(SCALES))],
        "spare": [Interval(Integral, 0, None, closed="left")],
        "dtype": [StrOptions({"float32", "float64"})],
    }

    def __init__(
        self,
        estimator: FBTWSVM | None = None,
        *,
        categorical: Any = (),
        numeric: Any = (),
        drop: Any = (),
        encode: str = "onehot",
        impute: str = "median",
        scale: str = "standard",
        spare: int = 5,
        dtype: str = "float64",
    ) -> None:
        self.estimator = estimator
        self.categorical = categorical
        self.numeric = numeric
        self.drop = drop
        self.encode = encode
        self.impute = impute
        self.scale = scale
        self.spare = spare
        self.dtype = dtype

    _state: _State | None = None  # all that was learned; replaced in one step
    n_features_in_ = noted_column("n_features_in_")
    feature_names_in_ = noted_column("feature_names_in_")
    _checked_columns: dict[str, Any] | None = None  # of a copy on which scikit-learn notes the columns of a call

    @property
    def estimator_(self) -> FBTWSVM:
        """The classifier of the encoded columns."""
        return self._need("estimator_").estimator

    @property
    def classes_(self) -> Array:
        """Labels, sorted."""
        return self._need("classes_").estimator.classes_

    @property
    def encoded_names_(self) -> list[str]:
        """Names of the encoded columns."""
        return self._need("encoded_names_").columns.names

    @property
    def feature_importances_(self) -> Array:
        """Importance of each column; those of the one-hot columns of a category are added up."""
        state = self._need("feature_importances_")
        columns = state.columns
        ends = np.cumsum([columns.width(column) for column in columns.columns])
        parts = np.split(state.estimator.feature_importances_, ends[:-1])
        shares = {column.name: float(part.sum()) for column, part in zip(columns.columns, parts, strict=True)}
        every = state.names.get("feature_names_in_", [f"x{k}" for k in range(self.n_features_in_)])
        return np.array([shares.get(str(name), 0.0) for name in every])

    @property
    def _columns(self) -> dict[str, Any]:
        """Number and names of the columns, as scikit-learn reads and notes them."""
        if self._checked_columns is not None:
            return self._checked_columns
        return {} if self._state is None else self._state.names

    def _need(self, name: str) -> _State:
        if self._state is None:
            raise AttributeError(f"{type(self).__name__} has no {name}: it is not fitted.")
        return self._state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None, groups: Any = None) -> Self:
        """Learn from all rows at once.

        Parameters
        ----------
        X : {data frame, Arrow table, dict of columns, array-like} of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight, ids, groups
            As in :meth:`FBTWSVM.fit`.

        Returns
        -------
        TableClassifier
            The fitted model itself.
        """
        self._validate_params()
        rows, names = self._rows(X, y, None, sample_weight=sample_weight, ids=ids)
        with _in_python():
            columns = Columns.of(rows.table, self._choices(), rows.weights)
            encoded = columns.rows(rows.table, 0)
        options = rows.options if groups is None else {**rows.options, "groups": groups}
        estimator = self._unlearned().fit(encoded, rows.y, **options)
        self._state = _State(columns, estimator, len(rows), None, names)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, ids: Any = None) -> Self:
        """Learn a chunk of rows; a call that fails or is interrupted leaves the model as it was.

        Once the first rows have come, the result does not depend on how the rows are cut into chunks (of fewer than
        1,000 rows, see :meth:`FBTWSVM.partial_fit`).

        Parameters
        ----------
        X : {data frame, Arrow table, dict of columns, array-like} of shape (n_samples, n_features)
            Rows, as few as one, with the same columns in each call.
        y : array-like of shape (n_samples,)
            Labels; new ones may turn up at any time.
        classes, sample_weight, ids
            As in :meth:`FBTWSVM.partial_fit`.

        Returns
        -------
        TableClassifier
            The model itself.
        """
        state = self._state
        if state is None:
            self._validate_params()
            check_parameters(self._unlearned())
        rows, names = self._rows(X, y, state, sample_weight=sample_weight, ids=ids)
        named = {} if classes is None else {"classes": classes}
        if state is not None and state.first is None:
            self._learn(state, rows, named)
            return self
        before = None if state is None else state.first
        every = rows if before is None else before.join(rows)
        wanted = warm_up_rows(parameters_of(self._unlearned()))
        if len(every) < wanted:
            self._state = self._provisional(state, rows, every, names, named)
            return self
        made = self._chosen(every.take(slice(0, wanted)), names, named, first=False)
        if len(every) > wanted:
            made = self._learned(made, every.take(slice(wanted, None)), named)
        self._state = made
        return self

    def _provisional(
        self, state: _State | None, rows: _Rows, every: _Rows, names: dict[str, Any], named: dict[str, Any]
    ) -> _State:
        """Return what is known as long as the first rows are collected."""
        n_before = len(every) - len(rows)
        if state is not None and not any(n_before < step <= len(every) for step in _AGAIN):
            try:
                with _in_python():
                    encoded = state.columns.rows(rows.table, n_before)
            except DataError:  # it may only be that the columns are of another kind than they seemed
                return self._chosen(every, names, named, first=True)
            estimator = copy(state.estimator).partial_fit(encoded, rows.y, **rows.options, **named)
            return replace(state, estimator=estimator, n_rows=len(every), first=every)
        return self._chosen(every, names, named, first=True)

    def _chosen(self, rows: _Rows, names: dict[str, Any], named: dict[str, Any], *, first: bool) -> _State:
        """Choose the columns from rows, and let a new classifier learn these."""
        with _in_python():
            columns = Columns.of(rows.table, self._choices(), rows.weights)
            encoded = columns.rows(rows.table, 0)
        estimator = self._unlearned().partial_fit(encoded, rows.y, **rows.options, **named)
        return _State(columns, estimator, len(rows), rows if first else None, names)

    def _learned(self, state: _State, rows: _Rows, named: dict[str, Any]) -> _State:
        """Let the classifier of a state, which nobody else has, learn rows; return the new state."""
        with _in_python():
            columns = state.columns.with_new_categories(rows.table)
            encoded = columns.rows(rows.table, state.n_rows)
        state.estimator.partial_fit(encoded, rows.y, **rows.options, **named)
        return replace(state, columns=columns, n_rows=state.n_rows + len(rows))

    def _learn(self, state: _State, rows: _Rows, named: dict[str, Any]) -> None:
        """Learn rows in place, once the columns are chosen."""
        with _in_python():
            columns = state.columns.with_new_categories(rows.table)
            encoded = columns.rows(rows.table, state.n_rows)
        # First the columns: to know a category that no row has is harmless if the call is interrupted.
        self._state = replace(state, columns=columns, n_rows=state.n_rows + len(rows), model=None)
        try:
            if state.model is not None:
                begin_with_map(state.estimator, model_of(state.model).mapping, encoded, rows.y, rows.options.get("ids"))
            else:
                state.estimator.partial_fit(encoded, rows.y, **rows.options, **named)
        except BaseException:
            self._state = state
            raise

    def predict(self, X: Any) -> Array:
        """Labels of rows.

        Parameters
        ----------
        X : {data frame, Arrow table, dict of columns, array-like} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted classes.
        """
        return self._fitted().estimator.predict(self._encoded(X))

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, see :meth:`FBTWSVM.predict_proba`.

        Parameters
        ----------
        X : {data frame, Arrow table, dict of columns, array-like} of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to one; columns follow `classes_`.
        """
        return self._fitted().estimator.predict_proba(self._encoded(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the class probabilities.

        Parameters
        ----------
        X : {data frame, Arrow table, dict of columns, array-like} of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            `log(predict_proba(X))`.
        """
        return self._fitted().estimator.predict_log_proba(self._encoded(X))

    def decision_function(self, X: Any) -> Array:
        """Scores whose largest is the predicted class, see :meth:`FBTWSVM.decision_function`.

        Parameters
        ----------
        X : {data frame, Arrow table, dict of columns, array-like} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The scores.
        """
        return self._fitted().estimator.decision_function(self._encoded(X))

    def unlearn(self, X: Any = None, y: Any = None, sample_weight: Any = None, ids: Any = None) -> Unlearned:
        """Take rows out again, see :meth:`FBTWSVM.unlearn`.

        The report also names what remains in the columns: scale and fillings, and the texts of categories.

        Parameters
        ----------
        X : {data frame, Arrow table, dict of columns, array-like}, default=None
            The rows as they were learned; not needed where their ids are enough.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        sample_weight, ids
            As in :meth:`FBTWSVM.unlearn`.

        Returns
        -------
        Unlearned
            How many rows were taken out, and of which rows something remains, and why.
        """
        state = self._fitted()
        if X is None and state.first is None:
            report = state.estimator.unlearn(ids=ids)
            n, texts = len(list(ids)), np.ones(len(list(ids)), dtype=bool)
        elif state.first is not None:
            return self._unlearn_first(state, X, y, ids)
        else:
            rows, _ = self._rows(X, y, state, sample_weight=sample_weight, ids=ids)
            with _in_python():
                encoded = state.columns.rows(rows.table, 0)
            report = state.estimator.unlearn(encoded, rows.y, **rows.options)
            n, texts = len(rows), state.columns.has_categories(rows.table)
        has_texts = any(column.categories for column in state.columns.columns)
        remaining: dict[str, Any] = {"columns": np.arange(n), "categories": np.flatnonzero(texts) if has_texts else []}
        report.remaining |= {reason: list(map(int, which)) for reason, which in remaining.items() if len(which)}
        self._state = replace(state, n_rows=state.n_rows - report.removed)
        return report

    def _unlearn_first(self, state: _State, X: Any, y: Any, ids: Any) -> Unlearned:
        """Take rows out of the first ones, which are still collected, and begin again without them."""
        every = state.first
        assert every is not None
        if X is None:
            gone = _places_of_ids(every, ids)
        else:
            rows, _ = self._rows(X, y, state, sample_weight=None, ids=ids)
            gone = _places_of_ids(every, ids) if ids is not None else _places_of_rows(every, rows)
        stay = np.setdiff1d(np.arange(len(every)), gone)
        if not len(stay):
            raise ValueError("Nothing was unlearned: without these rows the model would be empty. Make a new one.")
        options = {name: values[stay] for name, values in every.options.items()}
        rest = _Rows(every.table.take(stay), every.y[stay], options)
        self._state = self._chosen(rest, state.names, {}, first=True)
        return Unlearned(removed=len(gone))

    def merge(self, other: TableClassifier) -> Self:
        """Add what another model has learned from other rows, see :meth:`FBTWSVM.merge`; the other is left as it is.

        Parameters
        ----------
        other : TableClassifier
            A model with the same columns, scale and feature map: made by :meth:`empty_copy`.

        Returns
        -------
        TableClassifier
            The model itself, which now knows the rows of both.
        """
        mine, theirs = self._fitted(), other._fitted()
        columns = _common_columns(mine.columns, theirs.columns)
        mine.estimator.merge(theirs.estimator)
        self._state = replace(mine, columns=columns, n_rows=mine.n_rows + theirs.n_rows, first=None)
        return self

    def empty_copy(self) -> TableClassifier:
        """Return a model with the same columns, scale and feature map that has learned nothing, to be merged later.

        Returns
        -------
        TableClassifier
            The new model; `partial_fit` begins with the map of this one.
        """
        state = self._fitted()
        if state.first is not None:
            raise ValueError(f"Only {state.n_rows} rows have come: the columns are not chosen yet. Learn more first.")
        twin: TableClassifier = clone(self)
        twin._state = _State(state.columns, clone(state.estimator), 0, None, state.names, copy(state.estimator))
        return twin

    def settle(self) -> Self:
        """Re-solve now, see :meth:`FBTWSVM.settle`.

        Returns
        -------
        TableClassifier
            The model itself.
        """
        self._fitted().estimator.settle()
        return self

    def inspect(self) -> Inspection:
        """Look inside, in a few numbers, see :meth:`FBTWSVM.inspect`.

        Returns
        -------
        Inspection
            Counts and sizes.
        """
        return self._fitted().estimator.inspect()

    def memory_report(self) -> MemoryReport:
        """Show what the model stores, see :meth:`FBTWSVM.memory_report`.

        Returns
        -------
        MemoryReport
            Print it, or use its parts.
        """
        return self._fitted().estimator.memory_report()

    def __copy__(self) -> Self:
        """Return a copy; what learns in place is copied too."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        if self._state is not None:
            twin._state = replace(self._state, estimator=copy(self._state.estimator))
        return twin

    def _unlearned(self) -> FBTWSVM:
        """Return the classifier of the parameters, without anything learned."""
        made: FBTWSVM = FBTWSVM() if self.estimator is None else clone(self.estimator)
        return made

    def _choices(self) -> Choices:
        """Return what the user chooses for the columns."""
        chosen = [tuple(map(str, names)) for names in (self.drop, self.numeric, self.categorical)]
        drop, numeric, categorical = chosen
        return Choices(
            None, None, drop, numeric, categorical, self.encode, self.impute, self.scale, self.dtype, self.spare
        )

    def _rows(
        self, X: Any, y: Any, state: _State | None, *, sample_weight: Any, ids: Any
    ) -> tuple[_Rows, dict[str, Any]]:
        """Check the rows of a call, before anything changes; return them with number and names of the columns."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        table, names = self._table(X, state)
        labels = _check_y(y, multi_output=False, y_numeric=False, estimator=self)
        options: dict[str, Any] = {}
        if sample_weight is not None:
            sizes = np.empty((table.num_rows, 1))
            options["sample_weight"] = _check_sample_weight(sample_weight, sizes, ensure_non_negative=True)
        if ids is not None:
            options["ids"] = np.empty(len(ids), dtype=object)
            options["ids"][:] = list(ids)
        check_consistent_length(labels, np.empty(table.num_rows), *options.values())
        return _Rows(table, labels, options), names

    def _table(self, X: Any, state: _State | None) -> tuple[pa.Table, dict[str, Any]]:
        """Return rows as a table, with number and names of the columns as scikit-learn checks them."""
        table, probe = table_of(X, self), object.__new__(type(self))
        probe._state = state
        if isinstance(X, (dict, pa.Table)):  # columns are found by their names, in any order
            if state is None:
                probe.feature_names_in_ = np.array(table.column_names, dtype=object)
        else:
            _check_feature_names(probe, X if is_frame(X) else np.empty((1, table.num_columns)), reset=state is None)
        if state is None or not is_frame(X):
            _check_n_features(probe, np.empty((1, table.num_columns)), reset=state is None)
        if not table.num_rows:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        if state is not None and not is_frame(X) and "feature_names_in_" in state.names:
            table = table.rename_columns([str(name) for name in state.names["feature_names_in_"]])
        return table, probe._columns

    def _encoded(self, X: Any) -> Array:
        """Return rows to predict as numbers."""
        state = self._fitted()
        table, _ = self._table(X, state)
        with _in_python():
            return replace(state.columns).rows(table, 0)  # a copy, which counts values of unknown category

    def _fitted(self) -> _State:
        if self._state is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or 'partial_fit' first."
            )
        return self._state

    def __sklearn_is_fitted__(self) -> bool:
        return self._state is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.impute == "median"
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _places_of_ids(rows: _Rows, ids: Any) -> Array:
    """Return where the rows with these ids are."""
    known = {key: place for place, key in enumerate(rows.options.get("ids", ()))}
    for key in ids if ids is not None else ():
        if key not in known:
            raise ValueError(f"Nothing was unlearned: the row with id {key!r} was never learned.")
    if ids is None:
        raise ValueError("unlearn needs rows (X and y) or ids.")
    return np.array([known[key] for key in ids], dtype=np.int64)


def _places_of_rows(every: _Rows, rows: _Rows) -> Array:
    """Return where rows with these values and labels are, each in a place of its own."""
    own = [tuple(map(str, row.values())) for row in every.table.to_pylist()]
    free: dict[Any, list[int]] = {}
    for place, (row, label) in enumerate(zip(own, every.y.tolist(), strict=True)):
        free.setdefault((row, label), []).append(place)
    found = []
    for i, (row, label) in enumerate(zip(rows.table.to_pylist(), rows.y.tolist(), strict=True)):
        places = free.get((tuple(map(str, row.values())), label))
        if not places:
            raise ValueError(f"Nothing was unlearned: row {i} (label {label!r}) was never learned.")
        found.append(places.pop())
    return np.array(found, dtype=np.int64)


def _common_columns(mine: Columns, theirs: Columns) -> Columns:
    """Return the columns of both models; refuse those that encode tables differently."""
    same = mine.choices == theirs.choices and np.array_equal(mine.shift, theirs.shift)
    same &= np.array_equal(mine.scale, theirs.scale)
    pairs = list(zip(mine.columns, theirs.columns, strict=False)) if len(mine.columns) == len(theirs.columns) else []
    same &= bool(pairs) and all(replace(one, later=()) == replace(other, later=()) for one, other in pairs)
    if not same:
        raise ValueError(
            "merge: the models read different columns, or scale them differently, each by its own first rows. Make the "
            "second one with first.empty_copy(), before it learns anything."
        )
    columns = []
    for one, other in pairs:
        longer, shorter = sorted((one.later, other.later), key=len, reverse=True)
        if longer[: len(shorter)] != shorter:
            raise ValueError(
                f"merge: the models have met different new categories in column {one.name!r} ({shorter[0]!r}, "
                f"{longer[0]!r}), which share an encoded column. Name all categories in the first rows."
            )
        columns.append(replace(one, later=longer))
    return replace(mine, columns=columns)


def finished(model: TableClassifier) -> tuple[Columns, FBTWSVM, int, dict[str, Any]]:
    """Return columns, classifier, number of rows and names of a fitted model; what is not chosen yet is chosen now."""
    state = model._fitted()
    if state.first is not None:
        state = model._chosen(state.first, state.names, {}, first=False)
    return state.columns, state.estimator, state.n_rows, state.names


def with_columns(
    model: TableClassifier, columns: Columns, estimator: FBTWSVM, n_rows: int, names: dict[str, Any]
) -> TableClassifier:
    """Give a model what it knows, from a file."""
    model._state = _State(columns, estimator, n_rows, None, names)
    return model


_OPTIONS = {"drop": "drop=[{!r}]", "categorical": "categorical=[{!r}]", "id": "ids"}


@contextmanager
def _in_python() -> Iterator[None]:
    """Let errors in the data speak of parameters instead of options of the command."""
    try:
        yield
    except DataError as error:
        text = str(error).replace(", or leave such rows out: --on-error skip.", ", or leave such rows out.")
        text = text.replace(", or leave such rows out (--on-error skip)", ", or leave such rows out")
        text = text.replace("--impute median", "impute='median'").replace("The source", "The table")
        text = re.sub(r"--(drop|categorical) ([^\s,.]+)", lambda m: _OPTIONS[m[1]].format(m[2]), text)
        raise DataError(text.replace("name it with --id", "give it as ids")) from error
