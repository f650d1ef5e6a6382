r"""The bytes of a model file: a JSON tree, arrays and a checksum; a reader checks all of it.

    bytes                what
    8                    magic, b"\x93FBTSVM\n"
    4, 4                 format version and length of the header, unsigned, little-endian
    length of header     JSON in UTF-8: {"arrays": [[type, shape, order], ...], "model": tree}
    zeros                up to the next multiple of 64
    the arrays           in the order of the header, each padded with zeros to a multiple of 64
    32                   SHA-256 of everything before

In the tree an array is represented by its number.  The header determines the size of the file, and a file of another
size is refused, so a reader never allocates more than the file holds.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import Any, BinaryIO

import numpy as np

from ..._arrays import Array
from ..._files import replacing

MAGIC = b"\x93FBTSVM\n"
FORMAT = 6
TYPES = {"f8": "<f8", "f4": "<f4", "i8": "<i8", "i4": "<i4", "i2": "<i2", "u1": "|u1", "b1": "|b1"}
_START = 16
_ALIGN = 64
_DIGEST = 32
_BLOCK = 2**20
_MOST_HEADER = 2**20  # bytes; long data belongs in arrays, since parsed JSON takes many times its size
# Errors when a model is built of parts that are valid one by one, but do not fit together.
_MISFITS = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError, MemoryError)


class ModelFileError(ValueError):
    """Error of a file that is not a valid model, or of a model that cannot be saved; the message says why."""


class Writer:
    """Collects the arrays of a model; an array that occurs twice is stored once."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._numbers: dict[int, int] = {}

    def add(self, array: Array) -> int:
        """Store an array, and return its number."""
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self.arrays)
            self.arrays.append(array)  # this reference also keeps its id from being used again
        return self._numbers[id(array)]


def write(path: str | os.PathLike[str], tree: Any, arrays: list[Array]) -> None:
    """Write a file, in one step."""
    table = []
    blocks = []
    for array in arrays:
        kind = f"{array.dtype.kind}{array.dtype.itemsize}"
        if kind not in TYPES:
            raise ModelFileError(f"An array of type {array.dtype} cannot be stored in a model file.")
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        plain = np.ascontiguousarray(array.T if order == "F" else array, dtype=TYPES[kind])
        table.append([kind, list(array.shape), order])
        blocks.append(plain)
    header = json.dumps({"arrays": table, "model": tree}, allow_nan=False, separators=(",", ":")).encode()
    if len(header) > _MOST_HEADER:
        raise ModelFileError(f"The description of this model takes {len(header):,} bytes, more than {_MOST_HEADER:,}.")
    digest = hashlib.sha256()
    with replacing(path) as file:
        for block in _parts(header, blocks):
            digest.update(block)
            file.write(block)
        file.write(digest.digest())


def _parts(header: bytes, blocks: list[Array]) -> Iterator[Any]:
    """Yield everything before the checksum."""
    yield MAGIC + FORMAT.to_bytes(4, "little") + len(header).to_bytes(4, "little")
    yield header + bytes(-(_START + len(header)) % _ALIGN)
    for block in blocks:
        if block.size:
            yield block.reshape(-1).view(np.uint8).data
            yield bytes(-block.nbytes % _ALIGN)


class Reader:
    """The tree of an open file, and its arrays when they are needed."""

    def __init__(self, file: BufferedReader, version: int, header: Any, end: int, start: int) -> None:
        if not isinstance(header, dict) or set(header) != {"arrays", "model"}:
            raise ModelFileError("its header is not the header of a model")
        if not isinstance(header["arrays"], list):
            raise ModelFileError("its list of arrays is not a list")
        self.tree = header["model"]
        self.version = version
        self.n_bytes = end
        self._file = file
        self._table: list[tuple[str, tuple[int, ...], str, int]] = []
        self._arrays: dict[int, Array] = {}
        for entry in header["arrays"]:
            kind, shape, order = _entry(entry)
            self._table.append((kind, shape, order, start))
            start += _padded(math.prod(shape) * np.dtype(TYPES[kind]).itemsize)
            if start > end:
                raise ModelFileError("its header names more than the file holds")
        if start != end:
            raise ModelFileError("the file holds more than its header names")

    def type_and_shape(self, number: Any) -> tuple[str, tuple[int, ...]]:
        """Return type and shape of an array, without reading it."""
        if type(number) is not int or not 0 <= number < len(self._table):
            raise ModelFileError("an array is missing")
        kind, shape, _, _ = self._table[number]
        return kind, shape

    def array(self, number: int) -> Array:
        """Read an array; the same number always gives the same object."""
        if number not in self._arrays:
            kind, shape, order, start = self._table[number]
            array = np.empty(shape[::-1] if order == "F" else shape, dtype=TYPES[kind])
            self._file.seek(start)
            if array.size and self._file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
                raise ModelFileError("the file ends too early")
            if kind == "b1" and array.size and array.view(np.uint8).max() > 1:
                raise ModelFileError("an array of booleans holds something else")
            self._arrays[number] = array.T if order == "F" else array
        return self._arrays[number]

    def check_all_used(self) -> None:
        """Refuse a file with arrays that the model does not use."""
        if len(self._arrays) != len(self._table):
            raise ModelFileError("the file holds arrays that do not belong to the model")


def _entry(entry: Any) -> tuple[str, tuple[int, ...], str]:
    """Check an entry of the list of arrays."""
    match entry:
        case [str(kind), list(shape), "C" | "F" as order] if kind in TYPES and len(shape) <= 4:
            if all(type(size) is int and 0 <= size < 2**40 for size in shape):
                return kind, tuple(shape), order
    raise ModelFileError("its list of arrays has an unknown entry")


def _padded(size: int) -> int:
    return size + -size % _ALIGN


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[Reader]:
    """Open a file for reading, after a check of its size, version, checksum and header."""
    if not os.path.isfile(path):
        if not os.path.exists(path):
            raise FileNotFoundError(f"There is no file {os.fspath(path)}.")
        raise ModelFileError(f"{os.fspath(path)} is not a file.")
    with open(path, "rb") as file:
        try:
            yield _open(file)
        except ModelFileError as error:
            raise ModelFileError(f"{os.fspath(path)} cannot be read as a model: {error}.") from error.__cause__
        except _MISFITS as error:
            raise ModelFileError(
                f"{os.fspath(path)} cannot be read as a model: its parts do not fit together."
            ) from error


def _open(file: BufferedReader) -> Reader:
    size = os.fstat(file.fileno()).st_size
    start = file.read(_START)
    if start[: len(MAGIC)] != MAGIC:
        raise ModelFileError("it does not begin like a model file")
    version = int.from_bytes(start[8:12], "little")
    length = int.from_bytes(start[12:16], "little")
    if not 1 <= version <= FORMAT:
        raise ModelFileError(
            f"it has format version {version}, and this version of fbtwsvm reads 1 to {FORMAT}; install a newer one"
        )
    first, end = _padded(_START + length), size - _DIGEST
    if len(start) < _START or length > _MOST_HEADER or first > end:
        raise ModelFileError("it is truncated, or its lengths were changed")
    if _digest(file, end) != file.read(_DIGEST):
        raise ModelFileError("its checksum is wrong, so it was altered or damaged")
    file.seek(_START)
    try:
        header = json.loads(file.read(length).decode())
    except (ValueError, RecursionError) as error:
        raise ModelFileError("its header is not JSON") from error
    return Reader(file, version, header, end, first)


def _digest(file: BinaryIO, end: int) -> bytes:
    """Return the checksum of the first `end` bytes, and leave the file at their end."""
    digest = hashlib.sha256()
    file.seek(0)
    left = end
    while left > 0:
        block = file.read(min(left, _BLOCK))
        if not block:
            raise ModelFileError("the file ends too early")
        digest.update(block)
        left -= len(block)
    return digest.digest()
