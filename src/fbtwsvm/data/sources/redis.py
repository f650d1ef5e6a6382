"""Rows from a Redis stream, old ones first and then as they come (needs redis-py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

import pyarrow as pa

from .base import DataError, Source, one_line

ID = "_id"
_BATCH = 1000  # entries
_PATIENCE = 1000  # milliseconds that one request waits


class RedisSource(Source):
    """A stream: ``redis://host:6379/0?stream=rows``; each entry is a row, its fields are the columns.

    The entry's id comes as column ``_id``, and the id of the last row learned is the place to go on from.  The source
    waits for new rows for ever, or with ``&idle=SECONDS`` ends after so long without any.
    """

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
        self._secret = address.partition("//")[2].rpartition("@")[0]
        host = address.partition("//")[2].partition("?")[0].rpartition("@")[2]
        base = f"&db={options['db'][0]}" if "db" in options else ""
        self.name = f"{parts.scheme}://{host}?stream={self.stream}{base}"
        self._before = 0  # entries that were removed before the first one that was read

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        return self._read("0-0", None)

    def tables_after(self, place: str) -> Iterator[pa.Table]:
        """Yield the rows after an entry, unless some of them have been removed meanwhile."""
        entry, before, rows = place.split("/")
        self._before = int(before)
        return self._read(entry, self._before + int(rows))

    def _read(self, place: str, number: int | None) -> Iterator[pa.Table]:
        try:
            import redis
        except ImportError as error:
            raise DataError("Reading a Redis stream needs redis-py: pip install 'fbtwsvm[redis]'.") from error
        waited = 0.0
        try:
            with redis.Redis.from_url(self._address, decode_responses=True) as server:
                self._check_removed(server, number)
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
            reason = one_line(error) if isinstance(error, redis.RedisError) else "its address is malformed"
            if self._secret:
                reason = reason.replace(self._secret, "***")
            raise DataError(f"The Redis stream {self.name} cannot be read: {reason}") from error

    def _check_removed(self, server: Any, number: int | None) -> None:
        """Find out how many entries the stream has lost at its beginning; the first `number` of all were learned.

        Servers before Redis 7 do not count what was added, and cannot tell.
        """
        if not server.exists(self.stream):
            if number:
                raise DataError(f"The stream {self.name} is gone. To read it from its beginning, add --from-start.")
            return
        about = server.xinfo_stream(self.stream)
        removed = int(about.get("entries-added", about["length"])) - int(about["length"])
        if number is None:
            self._before = removed
            return
        if removed > number:
            raise DataError(
                f"{removed - number:,} entries were removed from {self.name} before they were learned. To go on with "
                "what is there, add --from-start."
            )

    def _table(self, entries: list[Any]) -> pa.Table:
        names = list(entries[0][1])
        for key, fields in entries:
            if fields.keys() != set(names):
                odd = sorted(fields.keys() ^ set(names))
                raise DataError(f"{self.name}: entry {key} has other fields than the one before it ({', '.join(odd)}).")
        columns = {name: pa.array([fields[name] or None for _, fields in entries], pa.string()) for name in names}
        return pa.table({**columns, ID: pa.array([key for key, _ in entries], pa.string())})

    def place_after(self, table: pa.Table, rows: int) -> str:
        """Return the id of the last entry, how many entries were removed before the first, and how many were read."""
        return f"{table[ID][-1].as_py()}/{self._before}/{rows}"
