"""Rows from a database: the result of a query, fetched in batches (needs SQLAlchemy)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from .address import masked
from .base import DataError, Source, sentence

_BATCH = 8192  # rows


class SqlSource(Source):
    """The rows of a query: an SQLAlchemy address with ``query=`` or ``table=`` at its end.

    A restart skips as many rows as were learned, so the query should have an ORDER BY.
    """

    def __init__(self, address: str) -> None:
        try:
            from sqlalchemy.engine import URL, make_url
            from sqlalchemy.exc import ArgumentError
        except ImportError as error:
            raise DataError("Reading a database needs SQLAlchemy: pip install 'fbtwsvm[sql]'.") from error
        place, self.query = _split(address)
        try:
            self._url = make_url(place)
        except ArgumentError as error:
            raise DataError(f"{masked(place)} is not an address of a database.") from error
        if self._url.drivername == "postgresql":  # the driver that the extra installs
            self._url = self._url.set(drivername="postgresql+psycopg")
        url = self._url
        public = URL.create(url.drivername, host=url.host, port=url.port, database=url.database)
        self.name = f"{public.render_as_string()} {self.query}"
        options = (
            str(value) for key, value in url.query.items() if re.search("user|pass|secret|token|key", key.lower())
        )
        self._secrets = (url.username, url.password, *options)
        self.ordered = "order by" in self.query.lower()
        file = self._url.database
        if self._url.get_backend_name() == "sqlite" and file not in (None, "", ":memory:") and not os.path.exists(file):
            raise FileNotFoundError(f"There is no file {file}.")  # SQLite would create an empty one

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        from sqlalchemy import create_engine, text
        from sqlalchemy.exc import SQLAlchemyError

        try:
            engine = create_engine(self._url)
            with engine.connect().execution_options(stream_results=True) as connection:
                result = connection.execute(text(self.query.replace(":", "\\:")))  # a colon is not a parameter
                names = list(result.keys())
                twice = next((name for name in names if names.count(name) > 1), None)
                if twice is not None:
                    raise DataError(f"The query has two columns {twice!r}: rename one of them (AS).")
                for rows in result.partitions(_BATCH):
                    yield pa.table(dict(zip(names, map(_column, zip(*rows, strict=True)), strict=True)))
        except (SQLAlchemyError, ImportError) as error:
            reason = getattr(error, "orig", None) or error
            raise DataError(f"The database query failed: {masked(sentence(reason), self._secrets)}") from error


def _split(address: str) -> tuple[str, str]:
    """Return address and query; the query is everything after ``query=``."""
    for key, make in (("query=", str), ("table=", 'SELECT * FROM "{}"'.format)):
        for separator in ("?", "&"):
            before, match, query = address.partition(separator + key)
            if match:
                return before, make(unquote(query))
    raise DataError(
        f"{masked(address)}: say what to read, as in sqlite:///file.db?query=SELECT a, b, y FROM rows ORDER BY id"
    )


def _column(values: tuple[Any, ...]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # mixed types
        return pa.array([None if value is None else str(value) for value in values])
