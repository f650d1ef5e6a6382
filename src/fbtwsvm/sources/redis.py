"""Rows from a Redis stream, old ones first and then as they come (needs redis-py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

import pyarrow as pa

from .base import DataError, Source, one_line, table_of

ID = "_id"
_BATCH = 1000  # entries
_PATIENCE = 1000  # milliseconds that one request waits


class RedisSource(Source):
    """A stream: ``redis://host:6379/0?stream=rows``; each entry is a row, its fields are the columns.

    The entry's id comes as column ``_id``, and the id of the last row learned is the place to go on from.  The source
    waits for new rows for ever, or with ``&idle=SECONDS`` ends after so long without any.
    """

    numbered = False

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        options = parse_qs(parts.query)
        try:
            self.stream = options.pop("stream")[0]
            self.idle = float(options.pop("idle", ["inf"])[0])
        except (KeyError, ValueError) as error:
            raise DataError("Name the stream, as in redis://localhost:6379/0?stream=rows&idle=10.") from error
        query = "&".join(f"{name}={value[0]}" for name, value in options.items())
        self._address = urlunsplit(parts._replace(query=query))
        host = parts.netloc.rpartition("@")[2]
        self.name = f"{parts.scheme}://{host}{parts.path}?stream={self.stream}"

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        return self.tables_after("0-0")

    def tables_after(self, place: str) -> Iterator[pa.Table]:
        """Yield the rows after an entry."""
        try:
            import redis
        except ImportError as error:
            raise DataError("Reading a Redis stream needs redis-py: pip install 'fbtwsvm[redis]'.") from error
        waited = 0.0
        try:
            with redis.Redis.from_url(self._address, decode_responses=True) as server:
                while waited <= 1000 * self.idle:
                    block = int(min(_PATIENCE, max(1.0, 1000 * self.idle - waited)))
                    found: Any = server.xread({self.stream: place}, count=_BATCH, block=block)
                    if not found:
                        waited += block
                        continue
                    waited = 0.0
                    entries = found[self.stream][0] if isinstance(found, dict) else found[0][1]
                    place = entries[-1][0]
                    yield self._table(entries)
        except (redis.RedisError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"The Redis stream {self.name} cannot be read: {one_line(error)}") from error

    def _table(self, entries: list[Any]) -> pa.Table:
        names = list(entries[0][1])
        for key, fields in entries:
            if fields.keys() != set(names):
                odd = sorted(fields.keys() ^ set(names))
                raise DataError(f"{self.name}: entry {key} has other fields than the one before it ({', '.join(odd)}).")
        columns = {name: pa.array([fields[name] or None for _, fields in entries], pa.string()) for name in names}
        return table_of({**columns, ID: pa.array([key for key, _ in entries], pa.string())})

    def place_after(self, table: pa.Table, rows: int) -> str:
        """Return the id of the last entry."""
        return str(table[ID][-1].as_py())
