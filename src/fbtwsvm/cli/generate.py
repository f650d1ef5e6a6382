"""The verb generate: write a synthetic stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from .._files import replacing
from ..data.generators import GENERATORS, Generator, make
from ..data.sources.base import numbered_table
from .model_file import check_writable
from .options import Json, completes
from .output import log, naming_full_disk, print_json, progress
from .table_files import PARQUET, table_writer


def generate(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help=f"One of {', '.join(GENERATORS)}.", autocompletion=completes(GENERATORS)),
    ],
    *,
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="Number of rows.")] = 1_000_000,
    output: Annotated[str, typer.Option("--output", "-o", help=".csv, .parquet or .npz file, or - for CSV.")] = "-",
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same rows.")] = 0,
    noise: Annotated[float | None, typer.Option(min=0, max=1, help="Share of wrong labels (led: segments).")] = None,
    drift_every: Annotated[int, typer.Option(min=0, help="Rows after which the concept changes; 0 never.")] = 0,
    drift_speed: Annotated[float | None, typer.Option(min=0, help="Change with each row (rbf, hyper).")] = None,
    drifting: Annotated[int | None, typer.Option(min=0, help="Weights that drift (hyper).")] = None,
    features: Annotated[int | None, typer.Option(min=1, help="Columns (rtg, rbf, hyper).")] = None,
    classes: Annotated[int | None, typer.Option(min=2, help="Classes (rbf).")] = None,
    centroids: Annotated[int | None, typer.Option(min=1, help="Clouds (rbf).")] = None,
    spread: Annotated[float | None, typer.Option(min=0, help="Largest standard deviation of a cloud (rbf).")] = None,
    depth: Annotated[int | None, typer.Option(min=1, max=20, help="Levels of the tree (rtg).")] = None,
    function: Annotated[int | None, typer.Option(min=1, max=4, help="Number of the first concept (sea).")] = None,
    as_json: Json = False,
) -> None:
    """Generate a synthetic stream: led, sea, rtg (random tree), rbf, hyper (rotating hyperplane)."""
    if name not in GENERATORS:
        raise typer.BadParameter(f"there are the generators {', '.join(GENERATORS)}, not {name!r}")
    options = {"drift_speed": drift_speed, "drifting": drifting, "features": features, "classes": classes}
    options |= {"centroids": centroids, "spread": spread, "depth": depth, "function": function, "noise": noise}
    generator = _generator(name, seed=seed, drift_every=drift_every, **options)
    if output == "-":
        if as_json:
            raise typer.BadParameter("--json describes the file that was written: give --output")
        _write(generator, rows, output, "csv")
        return
    path = Path(output)
    check_writable(path)
    if path.suffix not in (".csv", ".npz", *PARQUET):
        raise typer.BadParameter(f"--output ends in .csv, .parquet or .npz, not {path.suffix or 'nothing'}")
    if path.suffix == ".npz":
        X, y = generator.rows(rows)
        with naming_full_disk(path), replacing(path) as file:
            np.savez(file, X=X, y=y)
    else:
        _write(generator, rows, output, "parquet" if path.suffix in PARQUET else "csv")
    if as_json:
        print_json({"output": str(path), "rows": rows, "bytes": path.stat().st_size})
    else:
        log(f"{rows:,} rows written to {path}")


def _generator(name: str, **options: Any) -> Generator:
    """Return a generator; options that are None keep its defaults."""
    try:
        return make(name, **{key: value for key, value in options.items() if value is not None})
    except TypeError as error:
        wrong = str(error).rpartition("argument ")[2].strip("'")
        raise typer.BadParameter(f"{name} has no option --{wrong.replace('_', '-')}") from error


def _tables(generator: Generator, rows: int) -> Iterator[pa.Table]:
    with progress() as report:
        done = 0
        for X, y in generator.blocks(rows):
            yield numbered_table(X, y)
            done += len(y)
            report(done, share=done / rows)


def _write(generator: Generator, rows: int, output: str, form: str) -> None:
    with table_writer(output, form) as writer:
        for table in _tables(generator, rows):
            writer.write(table)
