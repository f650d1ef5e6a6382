"""The verb update: learn more rows, all of them or none."""

from __future__ import annotations

from typing import Annotated

import typer

from ..data.sources import in_chunks
from .model_file import claim, read_model, show_written, write_model
from .options import READING, Json, ModelArgument, Output, SourceArgument, SourceOptions, with_options
from .output import progress
from .rows import CHUNK, learn
from .same_files import refuse_same_files


@with_options(READING)
def update(
    model: ModelArgument,
    source: SourceArgument,
    *,
    reading: SourceOptions,
    output: Output = None,
    chunk: Annotated[int, typer.Option(min=1, help="Rows in a chunk.")] = CHUNK,
    as_json: Json = False,
) -> None:
    """Learn more rows into a model."""
    path = output or model
    for changed in {"MODEL": model}, {"--output": output}:  # which may be the same
        refuse_same_files({"SOURCE": source, "--rejected": reading.rejected, **changed})
    claim(path, "update")
    bad = reading.bad_rows()
    table_model = read_model(model)
    with progress(as_json) as report:
        rows = reading.open(source, table_model.columns)
        try:
            learn(table_model, in_chunks(rows.tables(), chunk), rows, report, bad)
        except Exception as error:  # half of the rows would be learned twice by the next attempt
            error.add_note(f"Nothing was written: {path} is as before." if path.exists() else "Nothing was written.")
            raise
    write_model(table_model, path)
    show_written(table_model, path, as_json, bad)
