"""A model of tables: a classifier with the columns that it reads, and how far it has come in a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from .._arrays import Array
from ..classifier import FBTWSVM, model_of
from ..evaluate.prequential import Prequential
from ..online.unlearn import Unlearned
from .columns import Choices, Columns
from .sources import DataError


@dataclass
class Run:
    """A stream that is being learned: its source, the place to go on from, and how the model did so far."""

    source: str
    name: str
    place: str
    rows: int
    chunk: int
    record: Prequential


@dataclass
class TableModel:
    """A classifier that reads tables, as the command line makes it.

    Attributes
    ----------
    columns : Columns
        Which columns are read, and how they become numbers.
    estimator : FBTWSVM
        The classifier behind them.
    rows : int
        Rows learned.
    run : Run or None
        The last stream, to go on from.

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
        """Find the columns from all rows and learn them at once."""
        table = as_table(table)
        model = cls(Columns.of(table, choices), estimator)
        X, y, options = model.encode(table, 0)
        estimator.fit(X, y, **options)
        model.rows = table.num_rows
        return model

    @classmethod
    def begin(cls, table: Any, choices: Choices, estimator: FBTWSVM) -> TableModel:
        """Find the columns from the first rows of a stream; nothing is learned yet."""
        return cls(Columns.of(as_table(table), choices), estimator)

    def encode(self, table: Any, first_row: int | None = None) -> tuple[Array, Array, dict[str, Any]]:
        """Return rows, labels, and what else `partial_fit` and `unlearn` are told."""
        table, first = as_table(table), self.rows if first_row is None else first_row
        ids = self.columns.ids(table)
        X, y = self.columns.rows(table, first), self.columns.targets(table, first)
        return X, y, {} if ids is None else {"ids": ids}

    def learned(self, X: Array) -> None:
        """Take note of encoded rows that have been learned."""
        self.columns.watch(X)
        self.rows += len(X)

    def unlearn(self, table: Any) -> Unlearned:
        """Take rows out again."""
        X, y, options = self.encode(table, 0)
        report = self.estimator.unlearn(X, y, **options)
        self.rows -= len(y)
        return report

    def merge(self, other: TableModel) -> None:
        """Add what another model has learned from other rows with the same columns, scale and map."""
        mine, theirs = self.columns, other.columns
        if mine.choices != theirs.choices or mine.names != theirs.names or mine.labels != theirs.labels:
            raise DataError("The models read other columns, or encode them otherwise, so they cannot be merged.")
        if mine.columns != theirs.columns or (mine.shift != theirs.shift).any() or (mine.scale != theirs.scale).any():
            raise DataError(
                "The models scale and fill columns by other numbers, from their own first rows. Train the second with "
                "--like FIRST.fbt, which takes columns, scale and map from the first."
            )
        if not model_of(self.estimator).mapping.same_as(model_of(other.estimator).mapping):
            raise DataError(
                "The models map their rows otherwise. Train the second with --like FIRST.fbt; where landmarks have "
                "moved on since, that is not enough: use --feature-map fourier."
            )
        self.estimator.merge(other.estimator)
        self.rows += other.rows
        self.run = None

    def predict(self, table: Any, first_row: int = 0) -> Array:
        """Return labels of rows; the target column need not be there."""
        return self.estimator.predict(self.columns.rows(as_table(table), first_row))

    def predict_proba(self, table: Any, first_row: int = 0) -> Array:
        """Return class probabilities of rows."""
        return self.estimator.predict_proba(self.columns.rows(as_table(table), first_row))


def as_table(rows: Any) -> pa.Table:
    """Return rows as an Arrow table: one already, a data frame, or a dictionary of columns."""
    if isinstance(rows, pa.Table):
        return rows
    return pa.table(rows) if isinstance(rows, dict) else pa.Table.from_pandas(rows, preserve_index=False)
