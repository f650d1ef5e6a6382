"""Rows from a Redis stream, first the old ones, then new ones as they come (needs redis-py)."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit, urlunsplit

import pyarrow as pa

from .address import masked
from .base import ENTRY_ID, DataError, Source, sentence

_BATCH = 1000  # entries
_PATIENCE = 1000  # milliseconds that one request waits
_REMEMBERED = 8  # of the last entries learned, by which a stream is recognised
_START = "0-0"  # before all entries


class EntriesLostError(DataError):
    """Entries of a stream were removed before they were learned; all that was read before can still be learned."""


class RedisSource(Source):
    """A Redis stream, ``redis://host:6379/0?stream=rows``; each entry is a row, its fields are the columns.

    Column ``_id`` holds the id of the entry, and the id of the last row learned is the place to go on from.  The source
    waits for new rows for ever, or with ``&idle=SECONDS`` ends after this time without rows.

    Every read is one transaction together with the counters of the stream.  All entries ever added are either read,
    still there, or were removed before the first read; what is missing in this sum was removed before it was read.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        options = parse_qs(parts.query)
        try:
            self.stream = options.pop("stream")[0]
        except KeyError as error:
            raise DataError("Name the stream, as in redis://localhost:6379/0?stream=rows&idle=10.") from error
        idle = options.pop("idle", ["inf"])[0]
        try:
            self.idle = float(idle)
        except ValueError as error:
            raise DataError(f"idle={idle}: give a number of seconds, as in &idle=10.") from error
        if not self.idle >= 0:
            raise DataError(f"idle={idle}: give a number of seconds that is not negative, as in &idle=10.")
        query = "&".join(f"{name}={value[0]}" for name, value in options.items())
        self._address = urlunsplit(parts._replace(query=query))
        user, _, host = address.partition("//")[2].partition("?")[0].rpartition("@")
        name, _, password = user.partition(":")
        given = (name, password, *options.get("username", ()), *options.get("password", ()))
        self._secrets = [user, *given, *map(unquote, given)]
        base = f"&db={options['db'][0]}" if "db" in options else ""
        self.name = f"{parts.scheme}://{host}?stream={self.stream}{base}"
        self._before: int | None = None  # entries removed before the first one was read
        self._deleted: str | None = None  # the highest id that XDEL had removed then
        self._warned = False

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        self._before = self._deleted = None
        return self._read(_START, 0, {})

    def tables_after(self, place: str) -> Iterator[pa.Table]:
        """Yield the rows after an entry, unless some of them have been removed since."""
        if not place:
            return self.tables()
        entry, before, rows, *rest = place.split("/")
        self._before = int(before)
        self._deleted, known = rest or (None, "")  # older model files do not have them
        return self._read(entry, int(rows), dict(item.split(":") for item in known.split(",") if item))

    def place_after(self, table: pa.Table, rows: int) -> str:
        """Return the id of the last entry, the counts up to it, and what the stream is recognised by."""
        last = table.slice(max(0, table.num_rows - _REMEMBERED)).to_pylist()
        keys = [fields.pop(ENTRY_ID) for fields in last]
        known = ",".join(f"{key}:{_digest(key, fields)}" for key, fields in zip(keys, last, strict=True))
        return f"{keys[-1]}/{self._before}/{rows}/{self._deleted}/{known}"

    def _read(self, place: str, rows: int, known: dict[str, str]) -> Iterator[pa.Table]:
        """Yield what comes after `place`, the last of `rows` entries; `known` are the digests of some before it."""
        try:
            import redis
        except ImportError as error:
            raise DataError("Reading a Redis stream needs redis-py: pip install 'fbtwsvm[redis]'.") from error
        try:
            connection = redis.Redis.from_url(self._address, decode_responses=True)
        except ValueError as error:
            raise DataError(f"The Redis stream {self.name} cannot be read: its address is malformed.") from error
        waited = 0.0
        try:
            with connection as server:
                while True:
                    entries = self._next(server, place, rows, known)
                    if entries:
                        waited = 0.0
                        place = entries[-1][0]
                        rows += len(entries)
                        known = {key: _digest(key, fields) for key, fields in entries[-_REMEMBERED:]}
                        yield from self._tables(entries)
                    elif waited > 1000 * self.idle:
                        return
                    else:
                        block = int(min(_PATIENCE, max(1.0, 1000 * self.idle - waited)))
                        if not server.xread({self.stream: place}, count=1, block=block):
                            waited += block
        except UnicodeDecodeError as error:
            raise DataError(f"The Redis stream {self.name} cannot be read: an entry is not text in UTF-8.") from error
        except redis.RedisError as error:
            reason = masked(sentence(error), self._secrets)
            raise DataError(f"The Redis stream {self.name} cannot be read: {reason}") from error

    def _next(self, server: Any, place: str, rows: int, known: dict[str, str]) -> list[Any]:
        """Return the next entries, and refuse a stream that has lost some of them, or is another one."""
        info, entries, before = self._transaction(server, place, known)
        if info is None:
            if rows:
                raise DataError(f"The stream {self.name} does not exist any more. To read a new one, add --from-start.")
            self._before, self._deleted = 0, _START
            return []
        added = int(info.get("entries-added", info["length"]))
        if self._before is None:
            self._before = added - int(info["length"])
        if self._deleted is None:
            self._deleted = str(info.get("max-deleted-entry-id", _START))
        if _order(info["last-generated-id"]) < _order(place) or not _is_same(info, before, known):
            raise self._made_anew()
        if "entries-added" in info:
            self._check_counts(server, info, place, added - self._before - rows, len(entries))
        elif not self._warned:
            self._warned = True
            warnings.warn(
                f"The server of {self.name} is older than Redis 7 and does not count entries: if some are removed "
                "before they are learned, this goes unnoticed.",
                stacklevel=2,
            )
        return entries

    def _transaction(self, server: Any, place: str, known: dict[str, str]) -> tuple[Any, list[Any], list[Any]]:
        """Return what is known of the stream (None if there is none), the entries after a place, and those before."""
        from redis import ResponseError

        pipe = server.pipeline(transaction=True)
        pipe.xinfo_stream(self.stream)
        pipe.xread({self.stream: place}, count=_BATCH)
        pipe.xrange(self.stream, min=min(known, key=_order, default=place), max=place, count=_REMEMBERED + 1)
        info, after, before = pipe.execute(raise_on_error=False)
        if isinstance(info, ResponseError) and "no such key" in str(info):
            return None, [], []
        for reply in (info, after, before):
            if isinstance(reply, Exception):
                raise reply
        if after:
            after = after[self.stream][0] if isinstance(after, dict) else after[0][1]
        return info, after or [], before

    def _check_counts(self, server: Any, info: dict[str, Any], place: str, due: int, found: int) -> None:
        """Refuse a stream in which `due` entries came after a place, but fewer (or more) are there; `found` were read.

        The number of those that are there is known when all of them were read, or when none before them is left.
        Otherwise the highest id that was deleted tells of a loss, or else a later read that finds the end.
        """
        learned_are_there = bool(info["first-entry"]) and _order(info["first-entry"][0]) <= _order(place)
        if found < _BATCH:
            there = found
        elif not learned_are_there:
            there = int(info["length"])
        elif _order(info["max-deleted-entry-id"]) > max(_order(place), _order(str(self._deleted))):
            there = self._count(server, place, info["last-generated-id"])
        else:
            there = max(found, due)
        if due < there:
            raise self._made_anew()
        if due > there:
            raise self._lost(due - there, place, learned_are_there)

    def _count(self, server: Any, place: str, last: str) -> int:
        """Return the number of entries after a place, up to and with an id."""
        count = 0
        while entries := server.xrange(self.stream, min=f"({place}", max=last, count=10 * _BATCH):
            count += len(entries)
            place = entries[-1][0]
        return count

    def _lost(self, count: int, place: str, learned_are_there: bool) -> EntriesLostError:
        """Return the error for a number of entries that are gone; it says how to go on with those that are left."""
        first, _, second = place.partition("-")
        clear = f"remove those that were learned (XTRIM {self.stream} MINID {first}-{int(second) + 1}), then "
        return EntriesLostError(
            f"{count:,} {'entry was' if count == 1 else 'entries were'} removed from {self.name} before being learned. "
            f"To go on with the entries that are left, {clear if learned_are_there else ''}add --from-start."
        )

    def _made_anew(self) -> DataError:
        return DataError(
            f"{self.name} is not the stream that was read before: it was made anew, or set back to an older state. To "
            "read it from its beginning, add --from-start."
        )

    def _tables(self, entries: list[Any]) -> Iterator[pa.Table]:
        """Yield entries as a table, up to the first one that has other fields, which is an error."""
        names = set(entries[0][1])
        same = next((i for i, (_, fields) in enumerate(entries) if fields.keys() != names), len(entries))
        yield _table(entries[:same])
        if same < len(entries):
            key, fields = entries[same]
            others = ", ".join(sorted(fields.keys() ^ names))
            raise DataError(f"{self.name}: entry {key} has other fields than the one before it ({others}).")


def _table(entries: list[Any]) -> pa.Table:
    names = list(entries[0][1])
    columns = {name: pa.array([fields[name] or None for _, fields in entries], pa.string()) for name in names}
    return pa.table({**columns, ENTRY_ID: pa.array([key for key, _ in entries], pa.string())})


def _order(key: str) -> tuple[int, int]:
    """Return the two numbers of an id, by which entries are ordered."""
    first, _, second = key.partition("-")
    return int(first), int(second)


def _digest(key: str, fields: dict[str, str | None]) -> str:
    """Return a short digest of an entry."""
    values = sorted((name, value or "") for name, value in fields.items() if name != ENTRY_ID)
    return hashlib.sha256(json.dumps([key, values]).encode()).hexdigest()[:8]


def _is_same(info: dict[str, Any], before: list[Any], known: dict[str, str]) -> bool:
    """Whether the entries before a place are those known, as far as they have not been trimmed or deleted."""
    if not known:
        return True
    there = {key: _digest(key, fields) for key, fields in before}
    if not there.items() <= known.items():
        return False
    deleted = _order(info.get("max-deleted-entry-id", max(known, key=_order)))  # up to here there may be gaps
    missing = [_order(key) for key in known if key not in there and _order(key) > deleted]
    return not (missing and info["first-entry"] and _order(info["first-entry"][0]) <= max(missing))
