"""The verb export: write a model as ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .model_file import check_writable, read_model
from .options import Json, ModelArgument
from .output import few, print_facts, print_json
from .same_files import refuse_same_files


def export(
    model: ModelArgument,
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="Where to write the ONNX file.")],
    as_json: Json = False,
) -> None:
    """Write a model as ONNX, for other runtimes. Input: encoded columns before scaling. Output: label and scores."""
    from ..export.onnx import export_onnx

    refuse_same_files({"MODEL": model, "OUTPUT": output})
    check_writable(output)
    if output.suffix != ".onnx":
        raise typer.BadParameter(f"the output ends in .onnx, not {output.suffix or 'nothing'}")
    table_model = read_model(model)
    export_onnx(table_model, output)
    inputs = table_model.columns.names
    size = output.stat().st_size
    if as_json:
        print_json({"output": str(output), "bytes": size, "inputs": inputs})
    else:
        facts = [("input X", few(inputs, 12, " and {} more")), ("outputs", "label, scores")]
        print_facts(f"{output}, {size / 2**10:,.0f} KiB", facts)
