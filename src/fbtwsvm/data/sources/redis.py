"""Rows from a Redis stream, first the old ones, then new ones as they come (needs redis-py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

import pyarrow as pa

from .base import ENTRY_ID, DataError, Source, one_line

_BATCH = 1000  # entries
_PATIENCE = 1000  # milliseconds that one request waits


class RedisSource(Source):
    """A Redis stream, ``redis://host:6379/0?stream=rows``; each entry is a row, its fields are the columns.

    Column ``_id`` holds the id of the entry, and the id of the last row learned is the place to go on from.  The source
    waits for new rows for ever, or with ``&idle=SECONDS`` ends after this time without rows.
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
        self._before = 0  # entries removed before the first one that was read

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        return self._read("0-0", None)

    def tables_after(self, place: str) -> Iterator[pa.Table]:
        """Yield the rows after an entry, unless some of them have been removed since."""
        if not place:
            return self.tables()
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
                    reply: Any = server.xread({self.stream: place}, count=_BATCH, block=block)
                    if not reply:
                        waited += block
                        continue
                    waited = 0.0
                    entries = reply[self.stream][0] if isinstance(reply, dict) else reply[0][1]
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
        """Refuse a stream that lost entries which were not learned; the first `number` of all entries were.

        Servers before Redis 7 do not count all entries ever added: with them this goes unnoticed.
        """
        if not server.exists(self.stream):
            if number:
                raise DataError(f"The stream {self.name} does not exist any more. To read a new one, add --from-start.")
            return
        info = server.xinfo_stream(self.stream)
        removed = int(info.get("entries-added", info["length"])) - int(info["length"])
        if number is None:
            self._before = removed
            return
        if removed > number:
            raise DataError(
                f"{removed - number:,} entries were removed from {self.name} before they were learned. To go on with "
                "the entries that are left, add --from-start."
            )

    def _table(self, entries: list[Any]) -> pa.Table:
        names = list(entries[0][1])
        for key, fields in entries:
            if fields.keys() != set(names):
                others = ", ".join(sorted(fields.keys() ^ set(names)))
                raise DataError(f"{self.name}: entry {key} has other fields than the one before it ({others}).")
        columns = {name: pa.array([fields[name] or None for _, fields in entries], pa.string()) for name in names}
        return pa.table({**columns, ENTRY_ID: pa.array([key for key, _ in entries], pa.string())})

    def place_after(self, table: pa.Table, rows: int) -> str:
        """Return the id of the last entry, the number of entries removed before the first, and the number read."""
        return f"{table[ENTRY_ID][-1].as_py()}/{self._before}/{rows}"
