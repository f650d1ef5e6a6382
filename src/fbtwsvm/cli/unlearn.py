"""The verb unlearn: take rows out of a model."""

from __future__ import annotations

from .model_file import claim, read_model, write_model
from .options import READING, Json, ModelArgument, Output, SourceArgument, SourceOptions, with_options
from .output import log, print_json, progress, say
from .rows import read_all
from .same_files import refuse_same_files


@with_options(READING)
def unlearn(
    model: ModelArgument,
    source: SourceArgument,
    *,
    reading: SourceOptions,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Take rows out of a model. They must be complete, with labels, as they were learned; ids say which is which."""
    path = output or model
    for changed in {"MODEL": model}, {"--output": output}:  # which may be the same
        refuse_same_files({"SOURCE": source, "--rejected": reading.rejected, **changed})
    claim(path, "unlearn")
    table_model = read_model(model)
    with progress(as_json) as report:
        table = read_all(reading.open(source, table_model.columns), report)
        table = reading.bad_rows().kept(table, table_model.columns, 0)
        unlearned = table_model.unlearn(table)
    write_model(table_model, path)
    ids = table_model.columns.ids(table)
    if ids is None:
        log("the model has no ids, so it cannot know whether it ever learned these rows, or unlearned them before")
        ids = [f"row {row + 1:,}" for row in range(table.num_rows)]
    if as_json:
        remaining = {reason: [ids[row] for row in rows] for reason, rows in unlearned.remaining.items()}
        counts = {"removed": unlearned.removed, "without_trace": unlearned.without_trace}
        print_json({"model": str(path), **counts, "remaining": remaining, "rows": table_model.rows})
        return
    for line in unlearned.describe(ids).splitlines():
        say(line)
    say(f"{table_model.rows:,} rows are left in {path}")
