"""A classifier of tables for Python: data frames with numbers, categories, dates and gaps, batch or stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    _check_y,
    check_consistent_length,
)

try:
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise ImportError("TableClassifier needs pyarrow: pip install 'fbtwsvm[table]'.") from error

from .._arrays import Array
from ..classifier import (
    ANY_TIME,
    FBTWSVM,
    begin_with_map,
    check_parameters,
    checked_ids,
    model_of,
    noted_column,
    parameters_of,
)
from ..model.check_values import as_labels, check_labels, check_same_kind, clear_errors
from ..model.decision import put_first
from ..model.inspection import Inspection
from ..model.mapping import Mapping
from ..model.rows import CheckedRows
from ..model.summary import Summarised, summary
from ..online.inspect import MemoryReport
from ..online.unlearn import Unlearned
from ..online.warm_up import warm_up_rows
from .choose_columns import ENCODINGS, IMPUTATIONS, SCALES, Choices
from .columns import Columns
from .frames import is_frame, table_of
from .sources.base import DataError
from .values import one_type

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
        check_same_kind(other.y, self.y)
        options: dict[str, Any] = {}
        for name in {*self.options, *other.options}:
            if name == "ids" and not (name in self.options and name in other.options):
                raise ValueError("ids must be given for every row, or for none, until the columns are chosen.")
            parts = [rows.options.get(name, np.ones(len(rows))) for rows in (self, other)]
            options[name] = np.concatenate(parts)
        pairs = [one_type(self.table[name], other.table[name]) for name in self.table.column_names]
        columns = [pa.concat_arrays([_array(part) for part in pair]) for pair in pairs]
        return _Rows(pa.table(columns, self.table.column_names), np.concatenate([self.y, other.y]), options)

    def with_weight(self) -> _Rows:
        """Return the rows without those of weight zero."""
        if self.weights is None or self.weights.all():
            return self
        there = np.flatnonzero(self.weights)
        options = {name: values[there] for name, values in self.options.items()}
        return _Rows(self.table.take(there), self.y[there], options)


@dataclass(frozen=True)
class _State:
    """All that was learned; replaced in one step.

    columns    how tables become numbers
    estimator  the classifier of these numbers
    n_rows     rows learned
    first      the rows so far, as long as the columns may be chosen again; None afterwards
    names      number and names of the columns, by the names of scikit-learn's attributes
    order      names of all columns of the tables, as texts
    classes    the classes that the user has named in `partial_fit`; None if any label may come
    mapping    the feature map to begin with, of an empty copy of another model
    """

    columns: Columns
    estimator: FBTWSVM
    n_rows: int
    first: _Rows | None
    names: dict[str, Any]
    order: tuple[str, ...]
    classes: Any = None
    mapping: Mapping | None = None


class _Known(NamedTuple):
    """What is known before the columns are chosen: `names`, `order` and `classes` as in `_State`."""

    names: dict[str, Any]
    order: tuple[str, ...]
    classes: Any

    @property
    def named(self) -> dict[str, Any]:
        """The argument of `partial_fit` that names the classes."""
        return {} if self.classes is None else {"classes": self.classes}


class TableClassifier(ClassifierMixin, Summarised):
    """An FBTWSVM for tables: columns of unequal scale, categories, dates and gaps.

    Numbers are brought to one scale, categories become one-hot columns, dates and times become days since 1970 (UTC),
    and gaps are filled; texts such as "NA", "None" and "?" are gaps.  A pipeline of scikit-learn does this for `fit`,
    but it has no `partial_fit`.

    On a stream, kinds of columns, scale and fillings are found from the first rows (as many as the warm-up of the
    classifier, 500 by default), which are collected until then; a provisional model, whose columns are chosen again
    from time to time, answers meanwhile.  New categories may come at any time, up to `spare` of them in each column.
    If the classifier has `decay="auto"` and learns its metric (`metric="auto"` and `gamma="auto"`), the metric follows
    a scale that moves later: it is learned again when rows move away from the landmarks or the error rate rises, and
    the sums so far are carried over.

    Parameters
    ----------
    estimator : FBTWSVM or None, default=None
        The classifier; None is FBTWSVM().  It is cloned, never changed.
    categorical : sequence of str, default=()
        Columns that hold categories, whatever their values look like.  Columns of texts that are neither numbers nor
        dates are recognised as categories.  But a column with more than 50 different texts that hardly repeat must be
        named here.  Columns of an array have the names x0, x1, ...
    numeric : sequence of str, default=()
        Columns that hold numbers or dates.
    drop : sequence of str, default=()
        Columns that are not used.
    encode : {"onehot", "ordinal"}, default="onehot"
        How categories become numbers: by a column for each, or by their number in alphabetical order.
    impute : {"median", "error"}, default="median"
        Gaps get the median of a column of numbers, or the most frequent category; or they are an error.
    scale : {"standard", "minmax", "none"}, default="standard"
        How numbers are brought to one scale.
    spare : int, default=5
        One-hot columns of each column of categories for categories that did not occur in the first rows.  When all are
        taken, further categories count as none of the known ones.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the encoded columns, and of scores and probabilities; float32 is faster.

    Attributes
    ----------
    estimator_ : FBTWSVM
        The classifier, of the encoded columns.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    encoded_names_ : list of str
        Names of the encoded columns.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Importance of each column; all sum to 1.  Zero for columns that are dropped.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
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
        return np.array([shares.get(name, 0.0) for name in state.order])

    def _summary(self) -> dict[str, str]:
        if self._state is None:
            return {}
        columns = self._state.columns
        names = [column.name for column in columns.columns for _ in range(columns.width(column))]
        return summary(self._state.estimator, names)

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
        order = tuple(rows.table.column_names)
        with _in_python(order):
            columns = Columns.of(rows.table, self._choices(), rows.weights)
            encoded = columns.rows(rows.table, 0)
        options = rows.options if groups is None else {**rows.options, "groups": groups}
        estimator = self._unlearned().fit(encoded, rows.y, **options)
        self._state = _State(columns, estimator, len(rows), None, names, order)
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
        if state is None or state.first is not None:
            self._validate_params()
            check_parameters(self._unlearned())
        else:
            self._follow_parameters(state)
        rows, names = self._rows(X, y, state, sample_weight=sample_weight, ids=ids)
        rows = rows.with_weight()
        if not len(rows):
            return self
        if state is None:
            order = tuple(rows.table.column_names)
            self._state = self._collected(None, rows, _Known(names, order, classes))
        elif state.first is not None:
            known = _Known(state.names, state.order, state.classes if classes is None else classes)
            self._state = self._collected(state, rows, known)
        else:
            self._learn(state, rows, classes)
        return self

    def _collected(self, state: _State | None, rows: _Rows, known: _Known) -> _State:
        """Return what is known after more of the first rows; when there are enough, the columns stay as chosen."""
        every = rows if state is None or state.first is None else state.first.join(rows)
        wanted = warm_up_rows(parameters_of(self._unlearned()))
        if len(every) < wanted:
            return self._provisional(state, rows, every, known)
        made = self._chosen(every.take(slice(0, wanted)), known, first=False)
        rest = every.take(slice(wanted, None))
        if not len(rest):
            return made
        columns, encoded = self._encoded_anew(made, rest)
        made.estimator.partial_fit(encoded, rest.y, **rest.options)
        return replace(made, columns=columns, n_rows=len(every))

    def _provisional(self, state: _State | None, rows: _Rows, every: _Rows, known: _Known) -> _State:
        """Return what is known as long as the first rows are collected."""
        n_before = len(every) - len(rows)
        if state is None or any(n_before < step <= len(every) for step in _AGAIN):
            return self._chosen(every, known, first=True)
        try:
            encoded = replace(state.columns).rows(rows.table, n_before)
        except DataError:  # it may only be that the columns are of another kind than they seemed
            return self._chosen(every, known, first=True)
        estimator = copy(state.estimator).partial_fit(encoded, rows.y, **rows.options, **known.named)
        return replace(state, estimator=estimator, n_rows=len(every), first=every, classes=known.classes)

    def _chosen(self, rows: _Rows, known: _Known, *, first: bool) -> _State:
        """Choose the columns from rows, and let a new classifier learn these; `first`: the choice is only for now."""
        with _in_python(known.order):
            columns = Columns.of(rows.table, self._choices(), rows.weights, for_now=first)
            encoded = replace(columns).rows(rows.table, 0)
        estimator = self._unlearned().partial_fit(encoded, rows.y, **rows.options, **known.named)
        return _State(columns, estimator, len(rows), rows if first else None, known.names, known.order, known.classes)

    def _encoded_anew(self, state: _State, rows: _Rows) -> tuple[Columns, Array]:
        """Return the columns with the categories of new rows, and these rows as numbers."""
        with _in_python(state.order):
            columns = replace(state.columns.with_new_categories(rows.table))
            return columns, columns.rows(rows.table, state.n_rows)

    def _learn(self, state: _State, rows: _Rows, classes: Any) -> None:
        """Learn rows in place, once the columns are chosen."""
        columns, encoded = self._encoded_anew(state, rows)
        n_rows, options = state.n_rows + len(rows), {**rows.options, "classes": classes}
        # First the columns: to know a category that no row has is harmless if the call is interrupted.
        self._state = replace(state, columns=columns, n_rows=n_rows, mapping=None)
        try:
            if state.mapping is not None:
                begin_with_map(state.estimator, state.mapping, encoded, rows.y, **options)
            else:
                state.estimator.partial_fit(encoded, rows.y, **options)
        except BaseException:
            self._state = state
            raise

    def _follow_parameters(self, state: _State) -> None:
        """Refuse parameters that have changed since the columns were chosen; some may change at any time."""
        given, began = self._unlearned(), state.estimator
        for name in ANY_TIME:
            if getattr(began, name) is not getattr(given, name):
                began.set_params(**{name: getattr(given, name)})
        then, now = parameters_of(began), parameters_of(given)
        changed = [name for name in vars(then) if name not in ANY_TIME and vars(then)[name] != vars(now)[name]]
        if changed or state.columns.choices != self._choices():
            what = f"estimator__{changed[0]}" if changed else "a parameter of the columns"
            raise ValueError(
                f"{what} has changed since the model began to learn, which has no effect on what was learned. Set it "
                "back, or begin a new model."
            )

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
        return self._numbers("predict_proba", X)

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
        return self._numbers("predict_log_proba", X)

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
        return self._numbers("decision_function", X)

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
        state, names = self._fitted(), None if ids is None else checked_ids(ids)
        if (X is None) != (y is None) or (X is None and names is None):
            raise ValueError("unlearn needs rows and labels, or the ids of rows: unlearn(X, y), unlearn(ids=[...]).")
        rows = None if X is None else self._rows(X, y, state, sample_weight=sample_weight, ids=names)[0]
        if state.first is not None:
            return self._unlearn_first(state, state.first, rows, names)
        if rows is None:
            assert names is not None
            report, n = state.estimator.unlearn(ids=names), len(names)
            texts = np.full(n, any(column.categories for column in state.columns.columns))
        else:
            with _in_python(state.order):
                encoded = replace(state.columns).rows(rows.table, 0)
            report, n = state.estimator.unlearn(encoded, rows.y, **rows.options), len(rows)
            texts = state.columns.has_categories(rows.table)
        remaining: dict[str, Any] = {"columns": np.arange(n), "categories": np.flatnonzero(texts)}
        report.remaining |= {reason: list(map(int, which)) for reason, which in remaining.items() if len(which)}
        self._state = replace(state, n_rows=state.n_rows - report.removed)
        return report

    def _unlearn_first(self, state: _State, every: _Rows, rows: _Rows | None, ids: Array | None) -> Unlearned:
        """Take rows out of the first ones, which are still collected, and begin again without them."""
        encoded = replace(state.columns).rows(every.table, 0)
        known = CheckedRows(encoded, every.y, np.ones(len(every)), np.full(len(every), None, dtype=object))
        if "ids" in every.options:
            known = replace(known, ids=every.options["ids"])
        if rows is None:
            assert ids is not None
            gone = known.with_ids(ids)
        else:
            with _in_python(state.order):
                given = replace(state.columns).rows(rows.table, 0)
            gone = CheckedRows.unnamed(given, rows.y)
            gone = gone if ids is None else replace(gone, ids=ids)
        if not len(gone):
            return Unlearned()
        stay = np.flatnonzero(known.without(gone))
        options = {name: values[stay] for name, values in every.options.items()}
        rest = _Rows(every.table.take(stay), every.y[stay], options)
        self._state = self._chosen(rest, _Known(state.names, state.order, state.classes), first=True)
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

        Its first chunk is learned at once, as the first rows of a stream are; let that have a hundred rows or more.

        Returns
        -------
        TableClassifier
            The new model.
        """
        state = self._fitted()
        if state.first is not None:
            raise ValueError(f"Only {state.n_rows} rows have come: the columns are not chosen yet. Learn more first.")
        twin: TableClassifier = clone(self)
        mapping = model_of(state.estimator).mapping
        twin._state = replace(state, estimator=clone(state.estimator), n_rows=0, mapping=mapping)
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
        y = as_labels(y)
        with clear_errors(y):
            labels = _check_y(y, multi_output=False, y_numeric=False, estimator=self)
            check_labels(labels)
        options: dict[str, Any] = {}
        if sample_weight is not None:
            given = np.asarray(sample_weight)
            if state is not None and given.shape == labels.shape and not given.any():
                options["sample_weight"] = np.zeros(len(labels))  # rows that are skipped, which scikit-learn refuses
            else:
                sizes = np.empty((table.num_rows, 1))
                options["sample_weight"] = _check_sample_weight(sample_weight, sizes, ensure_non_negative=True)
        if ids is not None:
            options["ids"] = checked_ids(ids)
        check_consistent_length(labels, np.empty(table.num_rows), *options.values())
        return _Rows(table, labels, options), names

    def _table(self, X: Any, state: _State | None) -> tuple[pa.Table, dict[str, Any]]:
        """Return rows as a table, with number and names of the columns as scikit-learn checks them."""
        table, probe = table_of(X, self), object.__new__(type(self))
        probe._state = state
        first, width = state is None, np.empty((1, table.num_columns))
        if not table.num_rows:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        if isinstance(X, (dict, pa.Table)):  # columns are found by their names, in any order
            if state is None:
                probe.feature_names_in_ = np.array(table.column_names, dtype=object)
            else:
                table = _with_dropped(table, state)
                missing = [name for name in state.order if name not in table.column_names]
                if missing:
                    raise ValueError(f"The table has no column {missing[0]!r}, which the model was trained with.")
                table = table.select(state.order)
        else:
            whole = _with_dropped(table, state) if state is not None and is_frame(X) else table
            if whole is table or whole.column_names != list(state.order if state else ()):
                given = X if is_frame(X) else width
                _check_names(probe, given if whole is table else whole, first=first)
            table = whole
        _check_n_features(probe, np.empty((1, table.num_columns)), reset=first)
        if state is not None and not isinstance(X, (dict, pa.Table)):
            table = table.rename_columns(list(state.order))
        return table, probe._columns

    def _encoded(self, X: Any) -> Array:
        """Return rows to predict as numbers."""
        state = self._fitted()
        table, _ = self._table(X, state)
        with _in_python(state.order):
            return replace(state.columns).rows(table, 0)  # a copy, which counts values of unknown category

    def _numbers(self, method: str, X: Any) -> Array:
        """Return scores or probabilities in the precision of the columns: further digits would be noise."""
        encoded = self._encoded(X)
        answers = np.asarray(getattr(self._fitted().estimator, method)(encoded))
        rounded = answers.astype(encoded.dtype, copy=False)
        if answers.ndim == 1 or rounded is answers or not len(answers):
            return rounded
        return put_first(rounded, answers.argmax(axis=1))  # rounding may have made others as large as the winner

    def _fitted(self) -> _State:
        if self._state is None or self._state.mapping is not None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or 'partial_fit' first."
            )
        return self._state

    def __sklearn_is_fitted__(self) -> bool:
        return self._state is not None and self._state.mapping is None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.impute == "median"
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _with_dropped(table: pa.Table, state: _State) -> pa.Table:
    """Return the table with empty columns where it lacks columns that are left out anyway."""
    for place, name in enumerate(state.order):
        if name in state.columns.choices.drop and name not in table.column_names and place <= table.num_columns:
            table = table.add_column(place, name, pa.nulls(table.num_rows))
    return table


def _check_names(probe: TableClassifier, X: Any, *, first: bool) -> None:
    """Check the names of the columns as scikit-learn does."""
    try:
        _check_feature_names(probe, X, reset=first)
    except ValueError as error:
        if "must be in the same order" not in str(error):
            raise
        hint = "To put them in order: frame[model.feature_names_in_]."
        raise ValueError(f"{str(error).rstrip()} {hint}") from error


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


def finished(model: TableClassifier) -> tuple[Columns, FBTWSVM, int]:
    """Return columns, classifier and number of rows of a fitted model; what is not chosen yet is chosen now."""
    state = model._fitted()
    if state.first is not None:
        state = model._chosen(state.first, _Known(state.names, state.order, state.classes), first=False)
    return state.columns, state.estimator, state.n_rows


def learned_state(model: TableClassifier) -> dict[str, Any]:
    """Return all that a fitted model has learned, by name."""
    return vars(model._fitted())


def with_state(model: TableClassifier, first: tuple[Any, ...] | None, **parts: Any) -> TableClassifier:
    """Give a model what it knows, from a file; `first` are table, labels and options of the first rows."""
    model._state = _State(first=None if first is None else _Rows(*first), **parts)
    return model


@contextmanager
def _in_python(names: Sequence[str]) -> Iterator[None]:
    """Let errors in the data speak of parameters instead of options of the command; `names` are those of columns."""
    try:
        yield
    except DataError as error:
        text = str(error).replace(", or leave such rows out: --on-error skip.", ", or leave such rows out.")
        text = text.replace(", or leave such rows out (--on-error skip)", ", or leave such rows out")
        text = text.replace(" (--decimal ,)", " (decimal=',' of pandas.read_csv)")
        text = text.replace(": write them so", ": turn them into dates first (pandas.to_datetime)")
        text = text.replace("--impute median", "impute='median'").replace("The source", "The table")
        for name in sorted(names, key=len, reverse=True):
            for option in ("drop", "categorical"):
                text = text.replace(f"--{option} {name}", f"{option}=[{name!r}]")
        raise DataError(text.replace("name it with --id", "give it as ids")) from error


def _array(values: Any) -> Any:
    """Return one array of a column that may be in parts."""
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
