"""How large the batches of an Arrow stream are when they are unpacked, found without unpacking them.

Arrow allocates what a compressed buffer claims to hold before it unpacks it.  The claims are found through the metadata
of each message, a flatbuffer (https://arrow.apache.org/docs/format/Columnar.html, "Serialization and interprocess
communication"): a tree of tables, in which the offset of each field stands in a list before the table.
"""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa

_DICTIONARY, _BATCH = 2, 3  # types of messages that have buffers


def largest_unpacked_batch(file: Any) -> int:
    """Return the bytes of the largest batch, or dictionary, of a stream from the present position on."""
    largest = 0
    for message in pa.ipc.MessageReader.open_stream(file):
        try:
            largest = max(largest, _unpacked_size(message.metadata, message.body))
        except struct.error as error:
            raise pa.ArrowInvalid("the metadata of a message are damaged") from error
    return largest


def _unpacked_size(metadata: Any, body: Any) -> int:
    """Return the bytes of all buffers of a message when they are unpacked; 0 if they are not compressed."""
    message = _Table(metadata, *struct.unpack_from("<I", metadata))
    kind = message.number(1, "<B")
    batch = message.table(2)
    if kind == _DICTIONARY and batch is not None:
        batch = batch.table(1)
    if kind not in (_DICTIONARY, _BATCH) or batch is None or batch.table(3) is None:
        return 0
    total = 0
    for offset, length in batch.pairs(2):
        if length:
            (claimed,) = struct.unpack_from("<q", body, offset)
            total += length if claimed < 0 else claimed
    return total


class _Table:
    """A table of a flatbuffer."""

    def __init__(self, data: Any, place: int) -> None:
        self.data = data
        self.place = place

    def _field(self, number: int) -> int | None:
        """Return where a field stands, or None if the table does not have it."""
        fields = self.place - struct.unpack_from("<i", self.data, self.place)[0]
        if 4 + 2 * number >= struct.unpack_from("<H", self.data, fields)[0]:
            return None
        offset = struct.unpack_from("<H", self.data, fields + 4 + 2 * number)[0]
        return self.place + offset if offset else None

    def number(self, number: int, form: str) -> int:
        """Return a number."""
        place = self._field(number)
        return 0 if place is None else int(struct.unpack_from(form, self.data, place)[0])

    def table(self, number: int) -> _Table | None:
        """Return a table within this one."""
        place = self._field(number)
        return None if place is None else _Table(self.data, place + struct.unpack_from("<I", self.data, place)[0])

    def pairs(self, number: int) -> list[tuple[int, int]]:
        """Return a list of pairs of 64-bit integers."""
        vector = self.table(number)
        if vector is None:
            return []
        (count,) = struct.unpack_from("<I", self.data, vector.place)
        if vector.place + 4 + 16 * count > len(self.data):
            raise struct.error
        return [struct.unpack_from("<qq", self.data, vector.place + 4 + 16 * k) for k in range(count)]
