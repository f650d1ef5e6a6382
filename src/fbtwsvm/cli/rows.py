"""Rows of a source as the verbs need them: all at once, or learned chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from ..data.sources import DataError, Source, in_chunks, joined
from ..data.table_model import TableModel
from .output import Report

CHUNK = 1000
_MOST_BYTES = 4 * 2**30  # of a table that is read at once


def read_all(source: Source, report: Report) -> pa.Table:
    """Read all rows, as long as they fit into memory."""
    tables = []
    size = rows = 0
    for table in source.tables():
        tables.append(table)
        size += table.nbytes
        rows += table.num_rows
        if size > _MOST_BYTES:
            raise DataError(
                f"{source.name} has more than {rows:,} rows, too many for memory. Learn with --chunk {CHUNK}."
            )
        report(rows, share=source.share_done())
    if not rows:
        raise DataError(f"{source.name} has no rows.")
    return joined(tables)


def learn_source(model: TableModel, source: Source, chunk: int, report: Report) -> TableModel:
    """Learn all rows of a source in chunks."""
    return learn_tables(model, in_chunks(source.tables(), chunk), source, report)


def learn_tables(model: TableModel, tables: Iterator[pa.Table], source: Source, report: Report) -> TableModel:
    """Learn tables that come from a source."""
    rows = 0
    for table in tables:
        model.learn(table, rows)
        rows += table.num_rows
        report(rows, share=source.share_done())
    if not rows:
        raise DataError(f"{source.name} has no rows.")
    return model
