"""A classifier of tables in a model file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ...data.choose_columns import ENCODINGS, IMPUTATIONS, SCALES
from ...data.table_classifier import TableClassifier, learned_state, with_state
from ...data.values import as_dates, as_numbers, as_texts, is_date, plain
from .classifier import CLASSIFIER
from .container import ModelFileError
from .parts import COUNT
from .strings import Ids, Labels, Strings
from .table import COLUMNS
from .value_types import ArrayOf, Bool, Int, Maybe, Record, Text

_PARAMETERS = Record(
    dict,
    {
        "estimator": Maybe(CLASSIFIER), "categorical": Strings(), "numeric": Strings(), "drop": Strings(),
        "encode": Text(*ENCODINGS), "impute": Text(*IMPUTATIONS), "scale": Text(*SCALES), "spare": Int(0),
        "dtype": Text("float32", "float64"),
    },
    parts=lambda model: {name: _plain(value) for name, value in model.get_params(deep=False).items()},
)  # fmt: skip
_NUMBERS, _DATES, _TEXTS, _CATEGORIES = range(4)  # what a column of the first rows holds
_DAY = 86_400_000_000  # microseconds


def _kind(values: Any) -> int:
    """Return what a column holds."""
    if pa.types.is_dictionary(values.type):
        return _CATEGORIES
    if is_date(values):
        return _DATES
    return _TEXTS if as_numbers(values) is None or pa.types.is_string(plain(values).type) else _NUMBERS


def _first_parts(first: Any) -> dict[str, Any]:
    """Return the parts of the first rows, as long as they are collected."""
    columns = first.table.columns
    kinds = np.array([_kind(column) for column in columns], dtype=np.int64)
    pairs = list(zip(columns, kinds.tolist(), strict=True))
    numbers: list[Any] = [as_dates(c) if k == _DATES else as_numbers(c) for c, k in pairs if k < _TEXTS]
    texts = [as_texts(c) for c, k in pairs if k >= _TEXTS]
    n = len(first)
    present = [text.is_valid().to_numpy(zero_copy_only=False) for text in texts]
    return {
        "kinds": kinds,
        "numbers": np.stack(numbers, axis=1) if numbers else np.empty((n, 0)),
        "present": np.stack(present, axis=1) if present else np.empty((n, 0), dtype=bool),
        "texts": [value for text in texts for value in text.drop_null().to_pylist()],
        "y": first.y,
        "weights": first.options.get("sample_weight"),
        "ids": first.options.get("ids"),
    }


def _first(kinds: Any, numbers: Any, present: Any, texts: list[str], y: Any, weights: Any, ids: Any) -> tuple[Any, ...]:
    """Return table columns, labels and options of the first rows."""
    if numbers.shape[1] != (kinds < _TEXTS).sum() or present.shape[1] != (kinds >= _TEXTS).sum():
        raise ModelFileError("columns of the first rows are missing")
    if present.sum() != len(texts) or np.isinf(numbers).any():
        raise ModelFileError("values of the first rows are missing, or infinite")
    left, columns, n_numbers, n_texts = iter(texts), [], 0, 0
    for kind in kinds.tolist():
        if kind < _TEXTS:
            values = numbers[:, n_numbers]
            n_numbers += 1
            times = np.where(np.isnan(values) | (np.abs(values) > 1e7), 0.0, values) * _DAY
            days = pa.array(np.round(times).astype(np.int64), mask=np.isnan(values)).cast(pa.timestamp("us"))
            columns.append(days if kind == _DATES else pa.array(values, from_pandas=True))
        else:
            column = pa.array([next(left) if there else None for there in present[:, n_texts]], pa.string())
            n_texts += 1
            columns.append(column.dictionary_encode() if kind == _CATEGORIES else column)
    options = {name: values for name, values in (("sample_weight", weights), ("ids", ids)) if values is not None}
    return columns, y, options


_FIRST = Record(
    _first,
    {
        "kinds": ArrayOf("i8", "T", low=0, below=_CATEGORIES + 1), "numbers": ArrayOf("f8", "n", None, numbers="any"),
        "present": ArrayOf("b1", "n", None), "texts": Strings(), "y": Labels("n"),
        "weights": Maybe(ArrayOf("f8", "n", low=0)), "ids": Maybe(Ids("n")),
    },
    own=("n",),
    parts=_first_parts,
)  # fmt: skip
_LEARNED = Record(
    dict,
    {
        "columns": COLUMNS, "estimator": CLASSIFIER, "rows": COUNT, "order": Strings("T"), "named": Bool(),
        "classes": Maybe(Labels()), "first": Maybe(_FIRST),
    },
    own=("C", "F", "T"),
    parts=lambda parts: parts,
)  # fmt: skip


def _plain(value: Any) -> Any:
    """Return a parameter, or names of columns as a list of texts."""
    return value if value is None or isinstance(value, (str, int)) or hasattr(value, "fit") else list(map(str, value))


def _write(model: TableClassifier) -> dict[str, Any]:
    """Return the parts of a classifier of tables."""
    if not hasattr(model, "n_features_in_"):
        return {"parameters": model, "learned": None}
    if not model.__sklearn_is_fitted__():
        raise ModelFileError("This TableClassifier is an empty copy that has learned nothing yet: let it learn.")
    state = learned_state(model)
    named, classes = "feature_names_in_" in state["names"], state["classes"]
    parts = {**state, "rows": state["n_rows"], "order": list(state["order"]), "named": named}
    return {"parameters": model, "learned": {**parts, "classes": None if classes is None else np.unique(classes)}}


def _read(parameters: dict[str, Any], learned: dict[str, Any] | None) -> TableClassifier:
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in parameters.items()}
    model = TableClassifier(**values)
    if learned is None:
        return model
    columns, estimator, order = learned["columns"], learned["estimator"], learned["order"]
    if not hasattr(estimator, "classes_") or estimator.n_features_in_ != len(columns.shift):
        raise ModelFileError("the classifier does not fit the columns")
    if columns.choices.target is not None or len(set(order)) < len(order) or not order:
        raise ModelFileError("the columns are not those of a classifier of tables")
    if not {column.name for column in columns.columns} <= set(order):
        raise ModelFileError("a column has no place in the tables")
    names: dict[str, Any] = {"n_features_in_": len(order)}
    if learned["named"]:
        names["feature_names_in_"] = np.array(order, dtype=object)
    first = learned["first"]
    if first is not None:
        if len(first[1]) != learned["rows"]:
            raise ModelFileError("the first rows are not all there")
        first = (pa.table(first[0], order), *first[1:])
    state = {"columns": columns, "estimator": estimator, "n_rows": learned["rows"], "names": names}
    return with_state(model, first, **state, order=tuple(order), classes=learned["classes"])


TABLE_CLASSIFIER = Record(_read, {"parameters": _PARAMETERS, "learned": Maybe(_LEARNED)}, parts=_write)
