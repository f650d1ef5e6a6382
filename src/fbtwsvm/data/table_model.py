"""A model of tables: a classifier, the columns that it reads, and its position in a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from .._arrays import Array
from ..classifier import FBTWSVM, model_of
from ..evaluate.prequential import Prequential
from ..online.unlearn import Unlearned
from .columns import Choices, Columns
from .sources import DataError

MOST_SOURCES = 100  # whose places a model remembers


@dataclass
class Run:
    """A run over a stream: its source, the place to go on from, and how well the model did so far.

    `earlier` has the place and the number of rows of other sources, by their identity, in the order of learning.
    """

    source: str
    name: str
    place: str
    rows: int
    chunk: int
    record: Prequential
    earlier: dict[str, tuple[str, int]] | None = None

    def with_earlier(self) -> dict[str, tuple[str, int]]:
        """Return place and rows of the last sources that were learned, this one at the end."""
        known = {**(self.earlier or {}), self.source: (self.place, self.rows)} if self.rows else self.earlier or {}
        return dict(list(known.items())[-MOST_SOURCES:])


@dataclass
class TableModel:
    """A classifier that reads tables with numbers and categories, as the command line uses it.

    Attributes
    ----------
    columns : Columns
        The columns that are read, and how they become numbers.
    estimator : FBTWSVM
        The classifier.
    rows : int
        Number of rows learned.
    run : Run or None
        The last stream that was learned.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from fbtwsvm import FBTWSVM
    >>> from fbtwsvm.data.columns import Choices
    >>> from fbtwsvm.data.table_model import TableModel
    >>> table = pa.table({"size": [1, 2, 8, 9], "colour": ["red", "red", "blue", "blue"], "kind": list("aabb")})
    >>> model = TableModel.fit(table, Choices(target="kind"), FBTWSVM())
    >>> model.predict(pa.table({"size": [7], "colour": ["blue"]})).tolist()
    ['b']
    """

    columns: Columns
    estimator: FBTWSVM
    rows: int = 0
    run: Run | None = None

    @classmethod
    def fit(cls, table: Any, choices: Choices, estimator: FBTWSVM) -> TableModel:
        """Choose the columns and fit the classifier on all rows of a table."""
        table = as_table(table)
        model = cls(Columns.of(table, choices), estimator)
        X, y, options = model.encode(table, 0)
        estimator.fit(X, y, **options)
        model.rows = table.num_rows
        return model

    @classmethod
    def begin(cls, table: Any, choices: Choices, estimator: FBTWSVM) -> TableModel:
        """Choose the columns from the first rows of a stream, without learning them."""
        return cls(Columns.of(as_table(table), choices), estimator)

    def encode(self, table: Any, first_row: int | None = None) -> tuple[Array, Array, dict[str, Any]]:
        """Return rows, labels and the other arguments of `partial_fit` and `unlearn`.

        `first_row` is the number of rows before the table, for error messages; by default all rows learned.
        """
        table = as_table(table)
        first = self.rows if first_row is None else first_row
        ids = self.columns.ids(table)
        return self.columns.rows(table, first), self.columns.targets(table, first), {} if ids is None else {"ids": ids}

    def learn(self, table: Any, first_row: int | None = None, step: Callable[..., Any] | None = None) -> None:
        """Encode a table, learn it and count its rows.

        `step` is called with rows, labels and options; by default it is `partial_fit` of the classifier.
        """
        X, y, options = self.encode(table, first_row)
        (step or self.estimator.partial_fit)(X, y, **options)
        self.columns.watch(X)
        self.rows += len(X)

    def unlearn(self, table: Any) -> Unlearned:
        """Take rows out of the model; the report also names what remains in the columns and in the record of a run."""
        table = as_table(table)
        X, y, options = self.encode(table, 0)
        report = self.estimator.unlearn(X, y, **options)
        every = np.arange(len(y))
        remaining: dict[str, Any] = {
            "columns": every if self.columns.weight or self.columns.mean.any() else [],
            "categories": np.flatnonzero(self.columns.has_categories(table)),
            "record": every if self.run is not None else [],
        }
        report.remaining |= {reason: list(map(int, rows)) for reason, rows in remaining.items() if len(rows)}
        self.rows -= report.removed
        return report

    def merge(self, other: TableModel) -> None:
        """Add what another model learned from other rows with the same columns, scale and map."""
        mine, theirs = self.columns, other.columns
        if mine.choices != theirs.choices or mine.names != theirs.names or mine.labels != theirs.labels:
            raise DataError("The models read different columns, or encode them differently, so they cannot be merged.")
        if mine.columns != theirs.columns or (mine.shift != theirs.shift).any() or (mine.scale != theirs.scale).any():
            raise DataError(
                "The models scale columns or fill missing values differently, each by its own first rows. Train the "
                "second with --like FIRST.fbt, which takes columns, scale and map from the first."
            )
        if not model_of(self.estimator).mapping.same_as(model_of(other.estimator).mapping):
            raise DataError(
                "The models have different feature maps. Train the second with --like FIRST.fbt; if the first has "
                "chosen new landmarks since, that is not enough: use --feature-map fourier."
            )
        self.estimator.merge(other.estimator)
        self.rows += other.rows
        self.run = None

    def importances(self) -> dict[str, float]:
        """Return the importance of each column of the tables, in all 1; nothing if the model cannot tell.

        The importance of a category is the sum of those of its one-hot columns.
        """
        shares = getattr(self.estimator, "feature_importances_", None)
        if shares is None:
            return {}
        ends = np.cumsum([self.columns.width(column) for column in self.columns.columns])
        parts = np.split(shares, ends[:-1])
        return {column.name: float(part.sum()) for column, part in zip(self.columns.columns, parts, strict=True)}

    def predict(self, table: Any, first_row: int = 0) -> Array:
        """Predict the labels of rows; the target column may be missing."""
        return self.estimator.predict(self.columns.rows(as_table(table), first_row))

    def predict_proba(self, table: Any, first_row: int = 0) -> Array:
        """Predict the class probabilities of rows."""
        return self.estimator.predict_proba(self.columns.rows(as_table(table), first_row))


def as_table(rows: Any) -> pa.Table:
    """Return an Arrow table, a data frame or a dictionary of columns as an Arrow table."""
    if isinstance(rows, pa.Table):
        return rows
    return pa.table(rows) if isinstance(rows, dict) else pa.Table.from_pandas(rows, preserve_index=False)
