"""A table model in a model file, with its columns and the record of its last stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data.columns import ENCODINGS, IMPUTATIONS, SCALES, Choices, Column, Columns
from ...data.table_model import Run, TableModel
from ...evaluate.prequential import Prequential, Snapshot
from ...evaluate.score import Score
from .classifier import CLASSIFIER
from .container import ModelFileError
from .parts import COUNT, DETECTOR
from .strings import Keys, Strings
from .value_types import POSITIVE, ArrayOf, Float, Int, Maybe, Record, Spec, Text, blank

_FIELDS = tuple(name for name in Snapshot.__dataclass_fields__ if name != "window_classes")
_NUMBERS, _DATES = -1, -2  # in place of the number of categories of a column
_INTEGERS = ("rows", "kept", "bytes", "drifts", "forgotten")


def _choices(**fields: Any) -> Choices:
    plain: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    return Choices(**plain)


_CHOICES = Record(
    _choices,
    {
        "target": Maybe(Text()), "row_id": Maybe(Text()), "drop": Strings(), "numeric": Strings(),
        "categorical": Strings(), "encode": Text(*ENCODINGS), "impute": Text(*IMPUTATIONS), "scale": Text(*SCALES),
        "precision": Text("float32", "float64"), "spare": Int(0),
    },
    added={"spare": (6, 0)},
)  # fmt: skip


def _columns(
    names: list[str], fills: Any, sizes: Any, categories: list[str], later_sizes: Any, later: Any, **fields: Any
) -> Columns:
    if sizes.max(initial=0) > len(categories) or int(sizes[sizes > 0].sum()) != len(categories):
        raise ModelFileError("categories of columns are missing")
    left = iter(categories)
    columns = []
    for name, fill, size in zip(names, fills.tolist(), sizes.tolist(), strict=True):
        if size >= 0 and fill not in range(max(size, 1)):
            raise ModelFileError("a column is filled with a category that it does not have")
        columns.append(Column(name, None if size < 0 else [next(left) for _ in range(size)], fill, size == _DATES))
    if later_sizes is not None:
        _add_later(columns, later_sizes, later, fields["choices"].spare)
    result = Columns(columns=columns, **fields)
    if not names or len(set(names)) != len(names):
        raise ModelFileError("columns are missing, or have the same name")
    if len(result.names) != len(result.shift):
        raise ModelFileError("the scale does not fit the columns")
    return result


def _add_later(columns: list[Column], sizes: Any, later: list[str], most: int) -> None:
    """Give columns the categories that came later."""
    if sizes.sum() != len(later) or sizes.max(initial=0) > most:
        raise ModelFileError("categories of columns are missing, or too many")
    left = iter(later)
    for column, size in zip(columns, sizes.tolist(), strict=True):
        column.later = tuple(next(left) for _ in range(size))


def _size(column: Column) -> int:
    """Return the number of categories of a column, or what it holds instead of them."""
    if column.categories is None:
        return _DATES if column.dates else _NUMBERS
    return len(column.categories)


def _column_parts(columns: Columns) -> dict[str, Any]:
    parts = columns.columns
    return {
        **vars(columns),
        "names": [column.name for column in parts],
        "fills": np.array([column.fill for column in parts]),
        "sizes": np.array([_size(column) for column in parts], dtype=np.int64),
        "categories": [category for column in parts for category in column.categories or ()],
        "later_sizes": np.array([len(column.later) for column in parts], dtype=np.int64),
        "later": [category for column in parts for category in column.later],
    }


COLUMNS = Record(
    _columns,
    {
        "choices": _CHOICES, "names": Strings("C"), "fills": ArrayOf("f8", "C", numbers="finite"),
        "sizes": ArrayOf("i8", "C", low=_DATES), "categories": Strings(),
        "labels": Text("whole", "text", "number", "truth"), "shift": ArrayOf("f8", "F", numbers="finite"),
        "scale": ArrayOf("f8", "F", low=POSITIVE, numbers="finite"),
        "mean": ArrayOf("f8", "F", numbers="finite"), "deviation": ArrayOf("f8", "F", low=POSITIVE, numbers="finite"),
        "recent": ArrayOf("f8", 2, "F", numbers="any"), "weight": Float(0.0), "unseen": COUNT,
        "later_sizes": Maybe(ArrayOf("i8", "C", low=0)), "later": Maybe(Strings()),
    },
    parts=_column_parts,
    added={"later_sizes": (6, None), "later": (6, None)},
)  # fmt: skip


def _score(class_index: list[Any], **fields: Any) -> Score:
    count = len(class_index)
    if len(set(class_index)) != count or (fields["last"] or 0) >= max(count, 1) or not len(fields["recent"]):
        raise ModelFileError("the record of a stream is inconsistent")
    score: Score = blank(Score)(class_index={label: i for i, label in enumerate(class_index)}, **fields)
    return score


_SCORE = Record(
    _score,
    {
        "known": Keys("L"), "counts": ArrayOf("i8", "L", "L", low=0), "same": COUNT, "tested": COUNT,
        "last": Maybe(COUNT), "recent": ArrayOf("i8", None, 3, low=-1),
    },
    renamed={"known": "class_index"},
    parts=lambda score: {**vars(score), "class_index": list(score.class_index)},
)  # fmt: skip


def _record(values: Any, classes: Any, marks: Any, **fields: Any) -> Prequential:
    snapshots = []
    integers = values[:, [name in _INTEGERS for name in _FIELDS]]
    if not (np.abs(integers) <= 2**53).all():
        raise ModelFileError("the record of a stream holds invalid counts")
    for numbers, counts in zip(values.tolist(), classes.tolist(), strict=True):
        named = {k: int(v) if k in _INTEGERS else v for k, v in zip(_FIELDS, numbers, strict=True)}
        snapshots.append(Snapshot(**named, window_classes=tuple(count for count in counts if count >= 0)))
    record: Prequential = blank(Prequential)(
        **fields, model=None, chunks=(), classes=None, progress=False, snapshots=snapshots, marks=marks.tolist()
    )
    true_and_given, same = record.score.recent[:, :2], record.score.recent[:, 2]
    if true_and_given.max() >= len(record.score.class_index) or same.max() > 1:
        raise ModelFileError("the record of a stream is inconsistent")
    return record


def _record_parts(record: Prequential) -> dict[str, Any]:
    snapshots = record.snapshots
    most = max((len(snapshot.window_classes) for snapshot in snapshots), default=0)
    classes = np.full((len(snapshots), most), -1, dtype=np.int64)
    for row, snapshot in zip(classes, snapshots, strict=True):
        row[: len(snapshot.window_classes)] = snapshot.window_classes
    values = np.array([[getattr(snapshot, name) for name in _FIELDS] for snapshot in snapshots], dtype=np.float64)
    return {
        **vars(record),
        "values": values.reshape(len(snapshots), len(_FIELDS)),
        "classes": classes,
        "marks": np.array(record.marks, dtype=np.int64),
    }


_RECORD_FIELDS: dict[str, Spec] = {
    "every": Int(1), "most": Maybe(Int(2)), "score": _SCORE, "values": ArrayOf("f8", "N", len(_FIELDS), numbers="any"),
    "classes": ArrayOf("i8", "N", None, low=-1), "marks": ArrayOf("i8", None, low=0), "rows": COUNT,
    "seconds": Float(0.0), "monitor": DETECTOR,
}  # fmt: skip


def _earlier(sources: list[str], places: list[str], rows: Any) -> dict[str, tuple[str, int]]:
    return dict(zip(sources, zip(places, rows.tolist(), strict=True), strict=True))


def _earlier_parts(earlier: dict[str, tuple[str, int]]) -> dict[str, Any]:
    places = [place for place, _ in earlier.values()]
    rows = np.array([count for _, count in earlier.values()], dtype=np.int64)
    return {"sources": list(earlier), "places": places, "rows": rows}


_EARLIER = Record(
    _earlier,
    {"sources": Strings("S"), "places": Strings("S"), "rows": ArrayOf("i8", "S", low=0)},
    own=("S",),
    parts=_earlier_parts,
)
_RUN = Record(
    Run,
    {
        "source": Text(), "name": Text(), "place": Text(), "rows": COUNT, "chunk": Int(1),
        "record": Record(_record, _RECORD_FIELDS, own=("L", "N"), parts=_record_parts), "earlier": Maybe(_EARLIER),
    },
    optional=("earlier",),
)  # fmt: skip


def _table_model(**fields: Any) -> TableModel:
    model = TableModel(**fields)
    if hasattr(model.estimator, "n_features_in_") and model.estimator.n_features_in_ != len(model.columns.shift):
        raise ModelFileError("the classifier does not fit the columns")
    if model.run is not None:
        model.run.record.model = model.estimator
    return model


TABLE_MODEL = Record(
    _table_model, {"columns": COLUMNS, "estimator": CLASSIFIER, "rows": COUNT, "run": Maybe(_RUN)}, own=("C", "F")
)
