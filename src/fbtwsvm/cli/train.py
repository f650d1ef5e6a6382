"""Verbs that make and change models: train, update, unlearn, merge."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from sklearn.frozen import FrozenEstimator

from ..classifier import model_of, parameters_of
from ..data.sources import DataError, Source, in_chunks, joined
from ..data.table_model import TableModel
from ..online.unlearn import REASONS
from ..online.warm_up import warm_up_rows
from .models import check_writable, read_model, write_model
from .options import READING, RECIPE, Json, Recipe, SourceOptions, with_options
from .output import Tell, print_facts, print_json, progress, say

CHUNK = 1000
_MOST_BYTES = 4 * 2**30  # of a table that is read whole

SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help="File, - for standard input, or address.")]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the model; in place by default.")]


@with_options(READING, RECIPE)
def train(
    source: SourceArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the model.")],
    recipe: Recipe,
    reading: SourceOptions,
    chunk: Annotated[int | None, typer.Option(min=1, help="Learn in chunks of so many rows, in flat memory.")] = None,
    like: Annotated[Path | None, typer.Option(help="Take columns, scale, parameters and map from this model.")] = None,
    as_json: Json = False,
) -> None:
    """Learn a model from all rows of a source, at once or in chunks."""
    check_writable(output)
    if like is not None and (recipe.parameters or recipe.columns):
        raise typer.BadParameter("--like takes columns and parameters from the other model: leave those options out")
    pattern = None if like is None else read_model(like)
    if pattern is not None and model_of(pattern.estimator).mapping.exact:
        raise DataError(f"{like} was learned at once, with a map that only its own rows have: train it with --chunk.")
    choices = recipe.choices() if pattern is None else pattern.columns.choices
    rows = reading.open(source, None if pattern is None else pattern.columns)
    with progress(as_json) as tell:
        if pattern is not None:
            model = _learn(_like(pattern), rows, chunk or CHUNK, tell)
        elif chunk is None:
            table = read_whole(rows, tell)
            model = TableModel.fit(table, choices, recipe.estimator())
        else:
            model = _train_in_chunks(rows, chunk, recipe, tell)
    write_model(model, output)
    _show_model(model, output, as_json)


@with_options(READING)
def update(
    model: ModelArgument,
    source: SourceArgument,
    reading: SourceOptions,
    output: Output = None,
    chunk: Annotated[int, typer.Option(min=1, help="Rows in a chunk.")] = CHUNK,
    as_json: Json = False,
) -> None:
    """Learn more rows into a model."""
    target = output or model
    check_writable(target)
    known = read_model(model)
    with progress(as_json) as tell:
        _learn(known, _open(reading, source, known), chunk, tell)
    write_model(known, target)
    _show_model(known, target, as_json)


@with_options(READING)
def unlearn(
    model: ModelArgument,
    source: SourceArgument,
    reading: SourceOptions,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Take rows out of a model again: complete rows with their labels, as they were learned; ids tell which."""
    target = output or model
    check_writable(target)
    known = read_model(model)
    with progress(as_json) as tell:
        table = read_whole(_open(reading, source, known), tell)
        report = known.unlearn(table)
    write_model(known, target)
    ids = known.columns.ids(table)
    if ids is None:
        say("the model has no ids: whether it has ever learned these rows, or unlearned them before, it cannot tell")
    names = [f"row {row + 1:,}" for row in range(table.num_rows)] if ids is None else ids
    remains = {why: [names[row] for row in rows] for why, rows in report.remaining.items()}
    if as_json:
        facts = {"model": str(target), "removed": table.num_rows, "without_trace": report.removed, "remaining": remains}
        print_json({**facts, "rows": known.rows})
        return
    print(f"{table.num_rows:,} rows removed, {report.removed:,} of them without a trace; {known.rows:,} are left")
    for why, rows in remains.items():
        shown = ", ".join(rows[:10]) + (", ..." if len(rows) > 10 else "")
        print(f"something remains of {len(rows):,} ({shown}): {REASONS[why]}")


def merge(
    first: ModelArgument,
    second: Annotated[Path, typer.Argument(metavar="OTHER", help="Another model file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the model of both.")],
    as_json: Json = False,
) -> None:
    """Put two models together that have learned other rows with the same columns, scale and map."""
    check_writable(output)
    model = read_model(first)
    model.merge(read_model(second))
    write_model(model, output)
    _show_model(model, output, as_json)


def _open(reading: SourceOptions, source: str, model: TableModel) -> Source:
    return reading.open(source, model.columns)


def _train_in_chunks(source: Source, chunk: int, recipe: Recipe, tell: Tell) -> TableModel:
    estimator = recipe.estimator()
    tables = in_chunks(source.tables(), chunk, first=warm_up_rows(parameters_of(estimator)))
    first = next(tables, None)
    if first is None:
        raise DataError(f"{source.name} has no rows.")
    model = TableModel.begin(first, recipe.choices(), estimator)
    return _learn_tables(model, _all(first, tables), source, tell)


def _all(first: pa.Table, rest: Iterator[pa.Table]) -> Iterator[pa.Table]:
    yield first
    yield from rest


def _learn(model: TableModel, source: Source, chunk: int, tell: Tell) -> TableModel:
    return _learn_tables(model, in_chunks(source.tables(), chunk), source, tell)


def _learn_tables(model: TableModel, tables: Iterator[pa.Table], source: Source, tell: Tell) -> TableModel:
    done = 0
    for table in tables:
        X, y, options = model.encode(table, done)
        model.estimator.partial_fit(X, y, **options)
        model.learned(X)
        done += table.num_rows
        tell(done, share=source.share_done())
    if not done:
        raise DataError(f"{source.name} has no rows.")
    return model


def _like(pattern: TableModel) -> TableModel:
    """Return a model that knows nothing, with the columns, parameters and map of another."""
    columns, estimator = deepcopy(pattern.columns), pattern.estimator
    columns.recent[:], columns.weight, columns.unseen = 0.0, 0.0, 0
    twin = type(estimator)(**estimator.get_params(deep=False))
    transformer = model_of(estimator).mapping.transformer
    if transformer is not None:
        twin.set_params(feature_map=FrozenEstimator(transformer))
    return TableModel(columns, twin)


def read_whole(source: Source, tell: Tell) -> pa.Table:
    """Read all rows, as long as they fit into memory."""
    tables, size, rows = [], 0, 0
    for table in source.tables():
        tables.append(table)
        size += table.nbytes
        rows += table.num_rows
        if size > _MOST_BYTES:
            raise DataError(
                f"{source.name} has more than {rows:,} rows, too many for memory. Learn with --chunk {CHUNK}."
            )
        tell(rows, share=source.share_done())
    if not rows:
        raise DataError(f"{source.name} has no rows.")
    return joined(tables)


def _show_model(model: TableModel, path: Path, as_json: bool) -> None:
    estimator = model.estimator
    facts: dict[str, Any] = {
        "model": str(path),
        "rows": model.rows,
        "classes": [str(label) for label in estimator.classes_],
        "columns": len(model.columns.columns),
        "bytes": path.stat().st_size,
    }
    if as_json:
        print_json(facts)
        return
    shown = ", ".join(facts["classes"][:10]) + (", ..." if len(facts["classes"]) > 10 else "")
    print_facts(
        f"{path}, {facts['bytes'] / 2**20:.1f} MiB",
        [
            ("rows learned", f"{model.rows:,}"),
            ("columns", f"{facts['columns']}"),
            ("classes", f"{len(facts['classes'])}: {shown}"),
        ],
    )
