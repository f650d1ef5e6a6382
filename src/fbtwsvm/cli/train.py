"""The verb train: learn a new model."""

from __future__ import annotations

from copy import deepcopy
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from sklearn.frozen import FrozenEstimator

from .._arrays import Array
from ..classifier import begin_with_map, model_of, parameters_of
from ..data.sources import DataError, Source, in_chunks
from ..data.table_model import TableModel
from ..online.warm_up import warm_up_rows
from .bad_rows import BadRows
from .model_file import claim, read_warm_model, show_written, write_model
from .options import READING, Json, SourceArgument, SourceOptions, with_options
from .output import Report, fit_progress, progress
from .recipe import RECIPE, Recipe
from .rows import CHUNK, Step, learn, read_all
from .same_files import refuse_same_files


@with_options(READING, RECIPE)
def train(
    source: SourceArgument,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the model.")],
    recipe: Recipe,
    reading: SourceOptions,
    chunk: Annotated[
        int | None, typer.Option(min=1, help="Learn in chunks of this many rows, with constant memory.")
    ] = None,
    like: Annotated[Path | None, typer.Option(help="Take columns, scale, parameters and map from this model.")] = None,
    as_json: Json = False,
) -> None:
    """Learn a model from all rows of a source, at once or in chunks."""
    refuse_same_files({"SOURCE": source, "--output": output, "--rejected": reading.rejected})
    refuse_same_files({"SOURCE": source, "--like": like, "--rejected": reading.rejected})
    claim(output, "train")
    bad = reading.bad_rows()
    if like is not None:
        if recipe.parameters or recipe.columns:
            raise typer.BadParameter(
                f"--like takes columns and parameters from the other model: leave out {', '.join(recipe.options())}"
            )
        model, step = _empty_copy(like)
        rows = reading.open(source, model.columns)
        tables = in_chunks(rows.tables(), chunk or CHUNK, first=warm_up_rows(parameters_of(model.estimator)))
        with progress(as_json) as report:
            learn(model, tables, rows, report, bad, step)
    elif chunk is None:
        choices = recipe.choices()
        with progress(as_json) as report:
            table = bad.of_all(read_all(reading.open(source), report), choices)
        with fit_progress(as_json):
            model = TableModel.fit(table, choices, recipe.estimator())
    else:
        recipe.choices()
        with progress(as_json) as report:
            model = _train_in_chunks(reading.open(source), chunk, recipe, report, bad)
    write_model(model, output)
    show_written(model, output, as_json, bad)


def _train_in_chunks(source: Source, chunk: int, recipe: Recipe, report: Report, bad: BadRows) -> TableModel:
    """Learn chunk by chunk; the first chunk, which fixes the columns, is as large as the warm-up."""
    estimator = recipe.estimator()
    tables = in_chunks(source.tables(), chunk, first=warm_up_rows(parameters_of(estimator)))
    first = next(tables, None)
    if first is None:
        raise DataError(f"{source.name} has no rows.")
    model = TableModel.begin(bad.first(first, recipe.choices()), recipe.choices(), estimator)
    learn(model, chain([first], tables), source, report, bad)
    return model


def _empty_copy(path: Path) -> tuple[TableModel, Step]:
    """Return a model that has learned nothing, with the columns and parameters of the model in a file.

    The function that comes with it learns rows, from the first one on with the map of that model.
    """
    model = read_warm_model(path)
    mapping = model_of(model.estimator).mapping
    if mapping.exact:
        raise DataError(f"{path} was learned at once, with a map that only its own rows have: train it with --chunk.")
    columns = deepcopy(model.columns)
    columns.reset_drift()
    estimator = type(model.estimator)(**model.estimator.get_params(deep=False))
    if mapping.transformer is not None:
        estimator.set_params(feature_map=FrozenEstimator(mapping.transformer))

    def step(X: Array, y: Array, **options: Any) -> None:
        if hasattr(estimator, "classes_"):
            estimator.partial_fit(X, y, **options)
        else:
            begin_with_map(estimator, mapping, X, y, **options)

    return TableModel(columns, estimator), step
