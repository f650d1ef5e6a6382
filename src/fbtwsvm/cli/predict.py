"""The verb predict: write the label of each row."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from ..data.sources import DataError, Source
from ..data.table_model import TableModel
from .model_file import check_writable, read_model
from .options import READING, ModelArgument, SourceArgument, SourceOptions, with_options
from .output import few, log, progress
from .rows import pieces
from .same_files import refuse_same_files
from .table_files import JSON_LINES, PARQUET, is_special, table_writer

_MOST_LABEL_BYTES = 64 * 2**20  # of the labels that are in memory at a time
_ALL = "all"
_ANSWER = "prediction"
_OUTPUT = "File: .csv, .parquet, .jsonl (lines of JSON), .csv.gz or .jsonl.gz; - for CSV on standard output."
_KEEP = "Column of the source to copy before the answer; several times, or separated by commas. all: every column."
_FORMULAS = "For spreadsheets: texts in CSV that begin with =, +, -, @, tab or CR get a ' before them; numbers do not."


@with_options(READING)
def predict(
    model: ModelArgument,
    source: SourceArgument,
    *,
    reading: SourceOptions,
    output: Annotated[str, typer.Option("--output", "-o", help=_OUTPUT)] = "-",
    proba: Annotated[bool, typer.Option("--proba", help="Also write the probability of each class.")] = False,
    keep: Annotated[list[str] | None, typer.Option("--keep", metavar="COLUMN", help=_KEEP, show_default=False)] = None,
    escape_formulas: Annotated[bool, typer.Option("--escape-formulas", help=_FORMULAS)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each row instead of CSV.")] = False,
) -> None:
    """Write the label of each row as CSV, Parquet or JSON, in the order of the rows."""
    path = None if output == "-" else Path(output)
    refuse_same_files({"MODEL": model, "SOURCE": source, "--output": path, "--rejected": reading.rejected})
    if path is not None and not is_special(path):
        check_writable(path)
    form = _format(output, as_json)
    if escape_formulas and form != "csv":
        raise typer.BadParameter(f"--escape-formulas is for CSV, and {output} gets {form}")
    bad = reading.bad_rows()
    table_model = read_model(model)
    place = reading.open(source, table_model.columns)
    kept = [name for names in keep or [] for name in names.split(",")]
    unseen = table_model.columns.unseen
    rows = 0
    with (
        table_writer(output, form, escape_formulas=escape_formulas) as writer,
        progress(output == "-" and sys.stdout.isatty()) as report,
    ):
        for piece in few_labels(place, table_model):
            table = bad.kept(piece, table_model.columns, rows, with_labels=False)
            if table.num_rows:
                writer.write(_answers(table_model, table, rows, kept, proba))
            rows += piece.num_rows
            report(rows, share=place.share_done())
        if rows == bad.count:  # no answers, but a file that other programs can read
            if place.column_names:
                table_model.columns.check_names(place.column_names)
            writer.write(_no_answers(table_model, kept, proba))
    unseen = table_model.columns.unseen - unseen
    if unseen:
        log(unseen_values(unseen))
    if output != "-":
        log(f"{rows - bad.count:,} rows written to {output}")
    if bad.count:
        log(f"{bad.count:,} rows were set aside and have no answer")


def few_labels(source: Source, model: TableModel) -> Iterator[pa.Table]:
    """Yield the rows of a source, so many at a time that their labels, in NumPy all as long as the longest, fit."""
    most = max(_MOST_LABEL_BYTES // model.estimator.classes_.dtype.itemsize, 1)
    for table in pieces(source):
        for first in range(0, table.num_rows, most):
            yield table.slice(first, most)


def unseen_values(count: int) -> str:
    """Return in words how many values of categorical columns the first rows of the training did not have."""
    values = "value of a categorical column was" if count == 1 else "values of categorical columns were"
    return f"{count:,} {values} not in the first rows of the training"


def _format(output: str, as_json: bool) -> str:
    """Return the format that the name of the output asks for."""
    path = Path(output)
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if path.suffix in PARQUET:
        form = "parquet"
    elif suffix in JSON_LINES:
        form = "json"
    elif suffix in ("", ".csv", ".txt") or is_special(path):
        form = "json" if as_json and suffix != ".csv" else "csv"
    else:
        raise typer.BadParameter(f"--output {output}: answers are written as .csv, .parquet or .jsonl")
    if as_json and form != "json":
        raise typer.BadParameter(f"--json writes lines of JSON, and {output} would get {form}: name it .jsonl")
    return form


def _answer_names(model: TableModel, proba: bool) -> list[str]:
    labels = model.estimator.classes_.tolist() if proba else []
    return [_ANSWER, *(f"probability_{label}" for label in labels)]


def _copied(model: TableModel, names: list[str], kept: list[str], proba: bool) -> list[str]:
    """Return the columns of the source that are written before the answers: the id, and those to keep."""
    unknown = [name for name in kept if name not in names and name != _ALL]
    if unknown:
        shown = few([repr(name) for name in names], 8, " and {} more")
        raise DataError(f"--keep: the source has no column {unknown[0]!r}; it has {shown}.")
    row_id = model.columns.choices.row_id
    wanted = [*([row_id] if row_id in names else []), *(names if _ALL in kept else kept)]
    copied = [str(name) for name in dict.fromkeys(wanted)]
    clash = next((name for name in copied if name in _answer_names(model, proba)), None)
    if clash is not None:
        raise DataError(
            f"The source has a column {clash!r}, which is what a column of the answers is called: rename it, or name "
            "the others with --keep."
        )
    return copied


def _no_answers(model: TableModel, kept: list[str], proba: bool) -> pa.Table:
    """Return the columns of the answers without a row."""
    row_id = model.columns.choices.row_id
    named = [*([row_id] if row_id else []), *(name for name in kept if name != _ALL)]
    names = [*_copied(model, named, named, proba), *_answer_names(model, proba)]
    return pa.table({name: pa.array([], pa.string()) for name in names})


def _answers(model: TableModel, table: pa.Table, first_row: int, kept: list[str], proba: bool) -> pa.Table:
    """Return columns of the source, labels, and probabilities, if they are wanted."""
    columns: dict[str, Any] = {name: table[name] for name in _copied(model, table.column_names, kept, proba)}
    nested = next((name for name, values in columns.items() if pa.types.is_nested(values.type)), None)
    if nested is not None:
        raise DataError(f"Column {nested!r} holds lists or records, which are not read: name the others with --keep.")
    X = model.columns.rows(table, first_row)
    answers = [model.estimator.predict(X)]
    if proba:
        answers.extend(np.ascontiguousarray(model.estimator.predict_proba(X).T))
    return pa.table(columns | dict(zip(_answer_names(model, proba), answers, strict=True)))
