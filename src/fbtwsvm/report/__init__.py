"""Reports on a stream: an HTML page or a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .._files import replacing
from ..data.sources import DataError
from ..data.table_model import TableModel


def write_report(model: TableModel, path: Path, command: Sequence[str] = ()) -> None:
    """Write a report on the last stream of a model.

    Parameters
    ----------
    model : TableModel
        A model with a `run`, as ``fbtwsvm stream`` writes it.
    path : Path
        ``.html`` for a page, ``.png`` for a picture.
    command : sequence of str, default=()
        The arguments of ``fbtwsvm`` in this run, which the report shows without user names and passwords; none of them
        if the run was not started from the command line.
    """
    if model.run is None or not model.run.record.snapshots:
        raise DataError("There is no stream to report on: no row was tested.")
    try:
        from .page import html_page, write_png
    except ImportError as error:
        raise DataError("A report needs matplotlib: pip install 'fbtwsvm[plot]'.") from error
    with replacing(path) as file:
        if path.suffix == ".png":
            write_png(model, file, command)
        else:
            file.write(html_page(model, command).encode())
