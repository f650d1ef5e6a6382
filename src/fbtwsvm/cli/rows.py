"""Rows of a source as the verbs need them: all at once, or learned chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from ..data.sources import DataError, Source, joined
from ..data.sources.row_sizes import unpacked_bytes
from ..data.table_model import TableModel
from .bad_rows import BadRows
from .output import Report

Step = Callable[..., Any]  # that learns rows, called with rows, labels and options
CHUNK = 1000
_PIECE = 8192
_MOST_BYTES = 4 * 2**30  # of a table that is read at once


def read_all(source: Source, report: Report) -> pa.Table:
    """Read all rows, as long as they fit into memory."""
    tables = []
    size = rows = 0
    for table in source.tables():
        tables.append(table)
        size += unpacked_bytes(table)
        rows += table.num_rows
        if size > _MOST_BYTES:
            raise DataError(
                f"{source.name} has more than {rows:,} rows, too many for memory. Learn with --chunk {CHUNK}."
            )
        report(rows, share=source.share_done())
    if not rows:
        raise DataError(f"{source.name} has no rows.")
    return joined(tables)


def learn(
    model: TableModel,
    tables: Iterable[pa.Table],
    source: Source,
    report: Report,
    bad: BadRows,
    step: Step | None = None,
) -> None:
    """Learn tables that come from a source, without the rows that are set aside; `step` is as in `TableModel.learn`."""
    rows = 0
    for table in tables:
        kept = bad.kept(table, model.columns, rows)
        if kept.num_rows:
            model.learn(kept, rows, step)
        rows += table.num_rows
        report(rows, share=source.share_done())
    if not rows:
        raise DataError(f"{source.name} has no rows.")


def pieces(source: Source) -> Iterator[pa.Table]:
    """Yield all rows of a source as they come, at most so many at a time as are predicted at once."""
    for table in source.tables():
        for first in range(0, table.num_rows, _PIECE):
            yield table.slice(first, _PIECE)
