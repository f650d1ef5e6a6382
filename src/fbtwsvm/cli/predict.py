"""The verb predict: write the label of each row."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as pacsv
import typer

from ..data.table_model import TableModel
from .model_file import check_writable, read_model
from .options import READING, ModelArgument, SourceArgument, SourceOptions, with_options
from .output import log, progress
from .rows import pieces


@with_options(READING)
def predict(
    model: ModelArgument,
    source: SourceArgument,
    *,
    reading: SourceOptions,
    output: Annotated[str, typer.Option("--output", "-o", help="File, or - for standard output.")] = "-",
    proba: Annotated[bool, typer.Option("--proba", help="Also write the probability of each class.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each row instead of CSV.")] = False,
) -> None:
    """Write the label of each row as CSV, in the order of the rows."""
    bad = reading.bad_rows()
    table_model = read_model(model)
    place = reading.open(source, table_model.columns)
    if output != "-":
        _check_output(Path(output), model, source)
    write = _write_lines if as_json else _write_csv
    rows = 0
    with progress(output == "-" and sys.stdout.isatty()) as report, ExitStack() as stack:
        file: BinaryIO | None = None
        for piece in pieces(place, table_model):
            table = bad.kept(piece, table_model.columns, rows, with_labels=False)
            answers = _answers(table_model, table, rows, proba)
            file = file or _opened(output, stack)  # only now: older answers survive a source that cannot be read
            write(answers, file, rows == 0)
            file.flush()
            rows += piece.num_rows
            report(rows, share=place.share_done())
        if file is None:  # no rows, no answers, but a file that other programs can read
            write(_no_answers(table_model, proba), _opened(output, stack), True)
    if output != "-":
        log(f"{rows - bad.count:,} rows written to {output}")
    if bad.count:
        log(f"{bad.count:,} rows were set aside and have no answer")


def _check_output(output: Path, model: Path, source: str) -> None:
    """Refuse to write over the model or the source, or to a file of another format."""
    if output.exists() and (output.samefile(model) or (os.path.exists(source) and output.samefile(source))):
        raise typer.BadParameter(f"--output {output} is the model or the source: name another file")
    if output.suffix not in ("", ".csv", ".txt", ".json", ".jsonl"):
        raise typer.BadParameter(f"--output {output}: answers are written as CSV, or with --json as lines of JSON")
    if not output.exists():
        check_writable(output)


def _opened(output: str, stack: ExitStack) -> BinaryIO:
    return sys.stdout.buffer if output == "-" else stack.enter_context(open(output, "wb"))


def _write_csv(answers: pa.Table, file: BinaryIO, first: bool) -> None:
    text = io.BytesIO()
    pacsv.write_csv(answers, text, pacsv.WriteOptions(include_header=first))
    file.write(text.getvalue())


def _write_lines(answers: pa.Table, file: BinaryIO, first: bool) -> None:
    file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in answers.to_pylist()).encode())


def _probability_names(model: TableModel) -> list[str]:
    return [f"probability_{label}" for label in model.estimator.classes_.tolist()]


def _no_answers(model: TableModel, proba: bool) -> pa.Table:
    """Return the columns of the answers without a row."""
    row_id = model.columns.choices.row_id
    names = [*([row_id] if row_id else []), "prediction", *(_probability_names(model) if proba else [])]
    return pa.table({name: pa.array([], pa.string()) for name in names})


def _answers(model: TableModel, table: pa.Table, first_row: int, proba: bool) -> pa.Table:
    """Return ids, if there are any, labels, and probabilities, if they are wanted."""
    columns: dict[str, Any] = {}
    row_id = model.columns.choices.row_id
    if row_id in table.column_names:
        columns[str(row_id)] = table[str(row_id)]
    columns["prediction"] = model.predict(table, first_row)
    if proba:
        columns |= zip(_probability_names(model), model.predict_proba(table, first_row).T, strict=True)
    return pa.table(columns)
