"""The verb merge: put two models together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .model_file import claim, read_warm_model, show_written, write_model
from .options import Json, ModelArgument


def merge(
    first: ModelArgument,
    second: Annotated[Path, typer.Argument(metavar="OTHER", help="Another model file.")],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the model of both.")],
    as_json: Json = False,
) -> None:
    """Merge two models that learned different rows with the same columns, scale and map."""
    claim(output, "merge")
    model = read_warm_model(first)
    model.merge(read_warm_model(second))
    write_model(model, output)
    show_written(model, output, as_json)
