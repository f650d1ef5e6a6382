"""The tables of a report."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from ..data.table_model import TableModel
from ..evaluate._drawing import shown

CLASS_HEADER = ("class", "rows", "precision", "recall", "F1")
_MOST_CLASSES = 20
_NAME_LETTERS = 40  # of the name of a class or column
_VALUE_LETTERS = 300


def class_rows(model: TableModel, most: int = _MOST_CLASSES) -> list[list[Any]]:
    """Return label, rows, precision, recall and F1 of the classes; if they are many, of those with the lowest F1."""
    assert model.run is not None
    classes = list(model.run.record.score.by_class().items())
    if len(classes) > most:
        classes = sorted(classes, key=lambda item: item[1].f1)[:most]
    return [[label, f"{rows:,}", *(f"{number:.3f}" for number in numbers)] for label, (*numbers, rows) in classes]


def classes_shown(model: TableModel, most: int = _MOST_CLASSES) -> str:
    """Return which classes the table shows."""
    assert model.run is not None
    count = len(model.run.record.score.class_index)
    return f"The {most} classes with the lowest F1, of {count}." if count > most else "Over all tested rows."


def class_table(model: TableModel) -> str:
    """Return precision, recall, F1 and number of tested rows of the classes."""
    head = "".join(f"<th>{name}</th>" for name in CLASS_HEADER)
    body = "".join(
        f"<tr><th>{_text(label)}</th>{''.join(f'<td>{number}</td>' for number in numbers)}</tr>"
        for label, *numbers in class_rows(model)
    )
    return f'<table class="numbers"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def settings_table(model: TableModel) -> str:
    """Return the parameters of the classifier, those that are not the defaults in bold."""
    defaults = type(model.estimator)().get_params(deep=False)
    rows = []
    for name, value in model.estimator.get_params(deep=False).items():
        text = _text(value, _VALUE_LETTERS)
        rows.append((name, f"<b>{text}</b>" if repr(value) != repr(defaults[name]) else text))
    if model.estimator.gamma_ is not None:
        rows.append(("gamma in use", f"{model.estimator.gamma_:.4g}"))
    if model.estimator.n_rounds_:
        rows.append(("metric in use", f"learned, rounds: {model.estimator.n_rounds_}"))
    return _table(rows)


def columns_table(model: TableModel) -> str:
    """Return the columns and how they are encoded."""
    choices = model.columns.choices
    rows: list[tuple[str, Any]] = []
    for column in model.columns.columns:
        kind = "number" if column.categories is None else f"{len(column.categories)} categories"
        rows.append((column.name, kind))
    rows += [("target", choices.target), ("scale", choices.scale), ("encoding", choices.encode)]
    rows.append(("missing values", choices.impute))
    if model.columns.unseen:
        rows.append(("values of unknown category", f"{model.columns.unseen:,}"))
    return _table((name, _text(value)) for name, value in rows)


def _table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values; the values are HTML."""
    return "<table>" + "".join(f"<tr><th>{_text(name)}</th><td>{value}</td></tr>" for name, value in rows) + "</table>"


def _text(value: Any, most: int = _NAME_LETTERS) -> str:
    return escape(shown(value, most))
