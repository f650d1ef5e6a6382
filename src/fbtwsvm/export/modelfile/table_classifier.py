"""A classifier of tables in a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data.choose_columns import ENCODINGS, IMPUTATIONS, SCALES
from ...data.columns import Columns
from ...data.table_classifier import TableClassifier, finished, with_columns
from .classifier import CLASSIFIER
from .container import ModelFileError
from .parts import COUNT
from .strings import Strings
from .table import COLUMNS
from .value_types import Int, Maybe, Record, Text

_PARAMETERS = Record(
    dict,
    {
        "estimator": Maybe(CLASSIFIER), "categorical": Strings(), "numeric": Strings(), "drop": Strings(),
        "encode": Text(*ENCODINGS), "impute": Text(*IMPUTATIONS), "scale": Text(*SCALES), "spare": Int(0),
        "dtype": Text("float32", "float64"),
    },
    parts=lambda model: {name: _plain(value) for name, value in model.get_params(deep=False).items()},
)  # fmt: skip
_LEARNED = Record(
    dict,
    {
        "columns": COLUMNS, "estimator": CLASSIFIER, "rows": COUNT, "n_features_in_": Int(1),
        "feature_names_in_": Maybe(Strings("N")),
    },
    own=("C", "F", "N"),
    parts=lambda parts: parts,
)  # fmt: skip


def _plain(value: Any) -> Any:
    """Return a parameter, or names of columns as a list of texts."""
    return value if value is None or isinstance(value, (str, int)) or hasattr(value, "fit") else list(map(str, value))


def _write(model: TableClassifier) -> dict[str, Any]:
    """Return the parts of a classifier of tables; columns that are still to be chosen are chosen now."""
    if not model.__sklearn_is_fitted__():
        return {"parameters": model, "learned": None}
    columns, estimator, n_rows, names = finished(model)
    if not hasattr(estimator, "classes_"):
        raise ModelFileError(
            "This TableClassifier is an empty copy, which has learned nothing yet: let it learn first."
        )
    given = names.get("feature_names_in_")
    learned = {
        "columns": columns, "estimator": estimator, "rows": n_rows, "n_features_in_": names["n_features_in_"],
        "feature_names_in_": None if given is None else list(given),
    }  # fmt: skip
    return {"parameters": model, "learned": learned}


def _read(parameters: dict[str, Any], learned: dict[str, Any] | None) -> TableClassifier:
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in parameters.items()}
    model = TableClassifier(**values)
    if learned is None:
        return model
    columns, estimator, n_features = learned["columns"], learned["estimator"], learned["n_features_in_"]
    _check(columns, estimator, n_features, learned["feature_names_in_"])
    names = {"n_features_in_": n_features}
    if learned["feature_names_in_"] is not None:
        names["feature_names_in_"] = np.array(learned["feature_names_in_"], dtype=object)
    return with_columns(model, columns, estimator, learned["rows"], names)


def _check(columns: Columns, estimator: Any, n_features: int, names: list[str] | None) -> None:
    """Refuse parts that do not fit together."""
    if not hasattr(estimator, "classes_") or estimator.n_features_in_ != len(columns.shift):
        raise ModelFileError("the classifier does not fit the columns")
    if columns.choices.target is not None or (names is not None and len(names) != n_features):
        raise ModelFileError("the columns are not those of a classifier of tables")
    known = {f"x{k}" for k in range(n_features)} if names is None else set(names)
    if not {column.name for column in columns.columns} <= known:
        raise ModelFileError("a column has no place in the tables")


TABLE_CLASSIFIER = Record(_read, {"parameters": _PARAMETERS, "learned": Maybe(_LEARNED)}, parts=_write)
