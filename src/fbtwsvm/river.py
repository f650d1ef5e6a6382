"""FBTWSVM with the interface of river (extra ``[river]``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

try:
    import pandas as pd
    from river import base
except ModuleNotFoundError as error:
    raise ImportError("RiverFBTWSVM needs river: pip install 'fbtwsvm[river]'.") from error

from ._arrays import Array, as_python
from .classifier import FBTWSVM, learn_checked, model_of
from .model.check_values import check_values
from .model.rows import CheckedRows
from .online.warm_up import WarmUpModel

__all__ = ["RiverFBTWSVM"]

_USUAL = 1e15  # values up to which no check of their size is needed


class RiverFBTWSVM(base.MiniBatchClassifier):
    """Fuzzy bounded twin support vector machine with the interface of river.

    Rows are dictionaries.  The columns are those that occur until the end of the warm-up.  A column that is missing
    from a row counts as 0; a column that first occurs later is ignored.

    Parameters
    ----------
    model : FBTWSVM or None, default=None
        The classifier, of which a copy learns; None is ``FBTWSVM(decay="auto", gamma="scale", warm_up=200)``.

    Attributes
    ----------
    model_ : FBTWSVM
        The classifier that learns.

    Examples
    --------
    >>> from river import datasets, metrics, preprocessing
    >>> from fbtwsvm import FBTWSVM
    >>> from fbtwsvm.river import RiverFBTWSVM
    >>> model = preprocessing.StandardScaler() | RiverFBTWSVM(FBTWSVM(gamma=0.1, warm_up=100))
    >>> accuracy = metrics.Accuracy()
    >>> for x, y in datasets.Phishing().take(600):
    ...     accuracy.update(y, model.predict_one(x))
    ...     model.learn_one(x, y)
    >>> accuracy.get() > 0.8
    True
    """

    def __init__(self, model: FBTWSVM | None = None) -> None:
        self.model = model
        start = FBTWSVM(decay="auto", gamma="scale", warm_up=200) if model is None else model
        self.model_: Any = type(start)(**start.get_params(deep=False))
        self.columns: list[Any] = []
        self.known_columns: set[Any] = set()

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn one row.

        Parameters
        ----------
        x : dict
            The row: column -> number.
        y : label
            The class of the row.
        """
        self._learn(x.keys(), lambda: self._row(x), np.array([y]))

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each class; empty before the first row.

        Parameters
        ----------
        x : dict
            The row: column -> number.
        **kwargs : Any
            Not used; part of river's interface.

        Returns
        -------
        dict
            Class -> probability.
        """
        if not self.columns:
            return {}
        classes, probabilities = self._answer(self._row(x), "probabilities")
        return dict(zip(classes.tolist(), probabilities[0].tolist(), strict=True))

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the class of one row; None before the first row.

        Parameters
        ----------
        x : dict
            The row: column -> number.
        **kwargs : Any
            Not used; part of river's interface.

        Returns
        -------
        label
            The predicted class.
        """
        if not self.columns:
            return None
        classes, winners = self._answer(self._row(x), "winners")
        return as_python(classes[winners[0]])

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a data frame.

        Parameters
        ----------
        X : pandas DataFrame
            Rows.
        y : pandas Series
            The classes of the rows.
        """
        self._learn(X.columns, lambda: self._rows(X), np.asarray(y))

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Predict the probability of each class for the rows of a data frame.

        Parameters
        ----------
        X : pandas DataFrame
            Rows.

        Returns
        -------
        pandas DataFrame
            One column for each class; no columns before the first row.
        """
        if not self.columns:
            return pd.DataFrame(index=X.index)
        classes, probabilities = self._answer(self._rows(X), "probabilities")
        return pd.DataFrame(probabilities, index=X.index, columns=classes)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Predict the classes of the rows of a data frame.

        Parameters
        ----------
        X : pandas DataFrame
            Rows.

        Returns
        -------
        pandas Series
            The predicted classes; empty before the first row.
        """
        if not self.columns:
            return pd.Series(dtype="object")
        classes, winners = self._answer(self._rows(X), "winners")
        return pd.Series(classes[winners], index=X.index)

    @property
    def _in_warm_up(self) -> bool:
        """Whether columns can still be added."""
        return not self.model_.__sklearn_is_fitted__() or isinstance(model_of(self.model_), WarmUpModel)

    def _row(self, x: dict[Any, Any]) -> Array:
        return np.array([[x.get(name, 0.0) for name in self.columns]], dtype=np.float64)

    def _rows(self, X: pd.DataFrame) -> Array:
        rows: Array = X.reindex(columns=self.columns, fill_value=0.0).to_numpy(dtype=np.float64)
        return rows

    def _widen(self, names: Any) -> None:
        """Add columns; the rows of the warm-up so far get zeros there."""
        columns = sorted(self.known_columns.union(names), key=repr)  # an order that does not depend on the rows
        fresh = type(self.model_)(**self.model_.get_params(deep=False))
        if self.columns:
            model = model_of(self.model_)
            assert isinstance(model, WarmUpModel)
            waiting = model.rows
            wider = np.zeros((len(waiting.y), len(columns)))
            wider[:, [columns.index(name) for name in self.columns]] = waiting.X
            fresh.partial_fit(wider, waiting.y)
        self.model_ = fresh
        self.columns = columns
        self.known_columns = set(columns)

    def _learn(self, names: Any, rows: Callable[[], Array], y: Array) -> None:
        """Learn rows without the checks of scikit-learn, which would take longer than learning a row."""
        before = self.model_, self.columns, self.known_columns
        try:
            if self._in_warm_up and not self.known_columns.issuperset(names):
                self._widen(names)
            values = rows()
            if self._in_warm_up:
                self.model_.partial_fit(values, y)
                return
            if not (np.abs(values) < _USUAL).all():
                if not np.isfinite(values).all():
                    raise ValueError(
                        "A row holds NaN or infinity: impute missing values first (river's StatImputer does)."
                    )
                check_values(values)
            learn_checked(self.model_, CheckedRows.unnamed(values, y))
        except BaseException:
            self.model_, self.columns, self.known_columns = before
            raise

    def _answer(self, rows: Array, method: str) -> tuple[Array, Array]:
        """Map rows; return the classes and the result of a method of the decision rule."""
        answers = model_of(self.model_).answers
        return answers.classes, getattr(answers.rule, method)(answers.mapped(rows))
