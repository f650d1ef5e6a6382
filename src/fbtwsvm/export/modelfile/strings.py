"""Strings in a model file: names of columns, ids of rows, labels of classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ..._arrays import Array, as_python
from .container import ModelFileError, Writer
from .value_types import ArrayOf, Context, Size, Text, parts_of


@dataclass(frozen=True)
class Strings:
    """Any number of strings, as an array of bytes and an array of their ends."""

    size: Size = None

    def write(self, value: Any, writer: Writer) -> list[int]:
        """Store them."""
        parts = [text.encode("utf-8", "surrogatepass") for text in value]
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        return [writer.add(np.frombuffer(b"".join(parts), dtype=np.uint8)), writer.add(ends)]

    def read(self, node: Any, context: Context) -> list[str]:
        """Read them."""
        if not isinstance(node, list) or len(node) != 2:
            raise ModelFileError("strings are missing")
        letters = ArrayOf("u1", None).read(node[0], context).tobytes()
        ends = ArrayOf("i8", self.size, low=0, below=len(letters) + 1).read(node[1], context)
        if (np.diff(ends) < 0).any() or (len(ends) and ends[-1] != len(letters)):
            raise ModelFileError("strings overlap")
        starts = [0, *ends.tolist()]
        try:
            return [letters[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(starts)]
        except UnicodeDecodeError as error:
            raise ModelFileError("a string is not in UTF-8") from error


@dataclass(frozen=True)
class Keys:
    """Ids of rows and labels of classes: strings, integers, floats, booleans or None.

    They are stored in columns: the type of each, the integers, the floats and the strings.  Floats are finite, unless
    `nan` allows any.
    """

    _KINDS: ClassVar[tuple[Any, ...]] = (type(None), bool, int, float, str)

    size: Size = None
    nan: bool = False

    def write(self, value: Any, writer: Writer) -> dict[str, Any]:
        """Store them."""
        plain = [as_python(item) for item in value]
        for item in plain:
            if type(item) not in self._KINDS or (type(item) is int and not -(2**63) <= item < 2**63):
                raise ModelFileError(
                    f"Ids and labels in a model file are strings or numbers, and {item!r} is neither (or is too "
                    "large). Use pickle, or other ids."
                )
        kinds = np.array([self._KINDS.index(type(item)) for item in plain], dtype=np.uint8)
        integers = np.array([int(item) for item in plain if type(item) in (bool, int)], dtype=np.int64)
        floats = np.array([item for item in plain if type(item) is float], dtype=np.float64)
        if not self.nan and not np.isfinite(floats).all():
            raise ModelFileError("Ids and labels in a model file are strings or finite numbers, and one is NaN.")
        strings = Strings().write([item for item in plain if type(item) is str], writer)
        return {"kinds": writer.add(kinds), "whole": writer.add(integers), "real": writer.add(floats), "words": strings}

    def read(self, node: Any, context: Context) -> list[Any]:
        """Read them."""
        fields = parts_of(node, ("kinds", "whole", "real", "words"))
        kinds = ArrayOf("u1", self.size, below=len(self._KINDS)).read(fields["kinds"], context)
        counts = np.bincount(kinds, minlength=len(self._KINDS))
        integers = iter(ArrayOf("i8", int(counts[1] + counts[2])).read(fields["whole"], context).tolist())
        real = ArrayOf("f8", int(counts[3]), numbers="any" if self.nan else "finite")
        floats = iter(real.read(fields["real"], context).tolist())
        strings = iter(Strings(int(counts[4])).read(fields["words"], context))
        take: dict[int, Callable[[], Any]] = {
            0: lambda: None, 1: lambda: bool(next(integers)), 2: lambda: next(integers), 3: lambda: next(floats),
            4: lambda: next(strings),
        }  # fmt: skip
        return [take[kind]() for kind in kinds.tolist()]


@dataclass(frozen=True)
class Ids:
    """An object array of ids."""

    size: Size

    def write(self, value: Any, writer: Writer) -> Any:
        """Store them."""
        return Keys(self.size).write(value, writer)

    def read(self, node: Any, context: Context) -> Array:
        """Read them."""
        keys = Keys(self.size).read(node, context)
        ids = np.empty(len(keys), dtype=object)
        ids[:] = keys
        return ids


@dataclass(frozen=True)
class Labels:
    """Labels as the user passed them: an array of numbers, strings or objects."""

    size: Size = None

    def write(self, value: Array, writer: Writer) -> dict[str, Any]:
        """Store them with their type."""
        if value.dtype.kind == "O":
            return {"type": "O", "values": Keys(self.size).write(value, writer)}
        if value.dtype.kind == "U":  # code points, so that a reader needs no more memory than the file holds
            codes = np.ascontiguousarray(value).view(np.int32).reshape(len(value), -1)
            return {"type": "U", "values": writer.add(codes)}
        if value.dtype.kind not in "iufb" or value.dtype == np.float16 or value.dtype.itemsize > 8:
            raise ModelFileError(f"Labels of type {value.dtype} cannot be stored in a model file.")
        wide = value.astype(np.float64 if value.dtype.kind == "f" else np.int64)
        return {"type": value.dtype.str.lstrip("<|=>"), "values": writer.add(wide)}

    def read(self, node: Any, context: Context) -> Array:
        """Read them."""
        fields = parts_of(node, ("type", "values"))
        kind, values = Text(most=8).read(fields["type"], context), fields["values"]
        if kind == "O":
            return Ids(self.size).read(values, context)
        if kind == "U":
            codes = ArrayOf("i4", self.size, None, low=0, below=0x110000).read(values, context)
            if not codes.shape[1]:
                raise ModelFileError("labels are empty strings")
            return np.ascontiguousarray(codes).view(f"<U{codes.shape[1]}").reshape(-1)
        if kind not in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"):
            raise ModelFileError("labels have an unknown type")
        wide = ArrayOf("f8" if kind[0] == "f" else "i8", self.size, numbers="finite").read(values, context)
        return wide.astype(kind)
