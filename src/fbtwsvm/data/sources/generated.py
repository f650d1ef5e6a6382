"""Rows from a generator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import pyarrow as pa

from ..generators import GENERATORS, make
from .base import DataError, Source, numbered_table, sentence


class GeneratedSource(Source):
    """A generator, ``generate:NAME?rows=N&option=value...``; the options are its parameters."""

    def __init__(self, address: str) -> None:
        self.name = address
        kind, _, query = address.removeprefix("generate:").partition("?")
        options: dict[str, Any] = {}
        for name, value in parse_qsl(query, keep_blank_values=True):
            try:
                options[name.replace("-", "_")] = float(value) if not value.lstrip("-").isdigit() else int(value)
            except ValueError as error:
                raise DataError(f"{address}: {name}={value} is not a number.") from error
        if kind not in GENERATORS:
            raise DataError(f"{address}: there are the generators {', '.join(GENERATORS)}.")
        try:
            self.n_rows = int(options.pop("rows", 100_000))
            self._generator = make(kind, **options)
        except TypeError as error:
            raise DataError(f"{address}: {kind} has no option {str(error).rpartition(' ')[2]}.") from error
        except (ValueError, OverflowError) as error:
            raise DataError(f"{address}: {sentence(error)}") from error

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        self.rows_done = 0
        for X, y in self._generator.blocks(self.n_rows):
            self.rows_done += len(y)
            yield numbered_table(X, y)
