"""Reports on a stream: an HTML page or a picture."""

from __future__ import annotations

from pathlib import Path

from .._files import replacing
from ..data.sources import DataError
from ..data.table_model import TableModel


def write_report(model: TableModel, path: Path) -> None:
    """Write a report on the last stream of a model.

    Parameters
    ----------
    model : TableModel
        A model with a `run`, as ``fbtwsvm stream`` writes it.
    path : Path
        ``.html`` for a page, ``.png`` for a picture.
    """
    if model.run is None or not model.run.record.snapshots:
        raise DataError("There is no stream to report on: no row was tested.")
    try:
        from .page import html_page, write_png
    except ImportError as error:
        raise DataError("A report needs matplotlib: pip install 'fbtwsvm[plot]'.") from error
    with replacing(path) as file:
        if path.suffix == ".png":
            write_png(model, file)
        else:
            file.write(html_page(model).encode())
