"""The schema of a model file: small descriptions that write a value, and read it back with all checks.

The same description writes and reads, so the two always agree.  Sizes have names ("K" classes, "D" columns): the first
array with a name sets its size, and all later ones must have the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from ..._arrays import Array
from .container import ModelFileError, Reader, Writer

FLOATS = ("f8", "f4")
POSITIVE = float(np.finfo(np.float64).tiny)  # as the least value of a number above zero
Size = int | str | None
MOST = {8: 1e150, 4: 1e30}  # largest number, by the bytes of its type, that results are calculated from


@dataclass(frozen=True)
class Context:
    """A reader, and the named sizes so far."""

    reader: Reader
    sizes: dict[str, int] = field(default_factory=dict)

    def without(self, names: tuple[str, ...]) -> Context:
        """Return a context in which some names have no size yet; the others are shared with this context."""
        return Context(self.reader, _Inner(self.sizes, names)) if names else self

    def written_before(self, version: int) -> bool:
        """Whether the file has an older format than this one."""
        return self.reader.version < version

    def expect(self, shape: tuple[int, ...], wanted: tuple[Size, ...]) -> None:
        """Check a shape, and set the sizes that are new."""
        if len(shape) != len(wanted):
            raise ModelFileError(f"an array has {len(shape)} axes instead of {len(wanted)}")
        for size, want in zip(shape, wanted, strict=True):
            if isinstance(want, str):
                want = self.sizes.setdefault(want, size)
            if want is not None and size != want:
                raise ModelFileError("sizes of arrays do not agree")


class _Inner(dict[str, int]):
    """Sizes of a part of a model: some are its own, the others are shared."""

    def __init__(self, outer: dict[str, int], own: tuple[str, ...]) -> None:
        super().__init__()
        self._outer = outer
        self._own = own

    def setdefault(self, name: str, size: int = 0) -> int:
        return super().setdefault(name, size) if name in self._own else self._outer.setdefault(name, size)

    def __getitem__(self, name: str) -> int:
        return super().__getitem__(name) if name in self._own else self._outer[name]


class Spec(Protocol):
    """A description of a value."""

    def write(self, value: Any, writer: Writer) -> Any:
        """Return the node of the tree that represents the value."""

    def read(self, node: Any, context: Context) -> Any:
        """Return the value of a node, or refuse the node."""


@dataclass(frozen=True)
class Int:
    """An integer."""

    low: int = -(2**62)
    high: int = 2**62

    def write(self, value: Any, writer: Writer) -> int:
        """Write it as a JSON number."""
        return int(value)

    def read(self, node: Any, context: Context) -> int:
        """Read it within its bounds."""
        if type(node) is not int or not self.low <= node <= self.high:
            raise ModelFileError("an integer is missing or out of bounds")
        return node


@dataclass(frozen=True)
class Float:
    """A finite number within bounds; `any_number` also allows infinities and NaN: strings, since JSON has none."""

    low: float = -math.inf
    high: float = math.inf
    any_number: bool = False

    def write(self, value: Any, writer: Writer) -> float | str:
        """Write it without loss, unless it could not be read again."""
        if not self._fits(float(value)):
            raise ModelFileError(f"A model file cannot hold the number {value!r} in this place.")
        return float(value) if math.isfinite(value) else repr(float(value))

    def read(self, node: Any, context: Context) -> float:
        """Read it."""
        word = self.any_number and node in ("inf", "-inf", "nan")
        if not (word or type(node) is float or (type(node) is int and abs(node) < 2**1000)):
            raise ModelFileError("a number is missing")
        value = float(node)
        if not self._fits(value):
            raise ModelFileError("a number is out of bounds")
        return value

    def _fits(self, value: float) -> bool:
        return self.any_number or (math.isfinite(value) and self.low <= value <= self.high)


class Bool:
    """A boolean."""

    def write(self, value: Any, writer: Writer) -> bool:
        """Write it."""
        return bool(value)

    def read(self, node: Any, context: Context) -> bool:
        """Read it."""
        if type(node) is not bool:
            raise ModelFileError("a boolean is missing")
        return node


class Text:
    """A short string, or one of a few options."""

    def __init__(self, *options: str, most: int = 10_000) -> None:
        self.options = options
        self.most = most

    def write(self, value: Any, writer: Writer) -> str:
        """Write it, unless it could not be read again."""
        return self.read(str(value), None)

    def read(self, node: Any, context: Context | None) -> str:
        """Read it."""
        if type(node) is not str or len(node) > self.most or (self.options and node not in self.options):
            raise ModelFileError("a string is missing, unknown or too long")
        return node


class DType:
    """The precision of rows."""

    def write(self, value: Any, writer: Writer) -> str:
        """Write its name."""
        return str(np.dtype(value))

    def read(self, node: Any, context: Context) -> np.dtype:
        """Read it."""
        return np.dtype(Text("float32", "float64").read(node, context))


@dataclass(frozen=True)
class Maybe:
    """A value or None."""

    spec: Spec

    def write(self, value: Any, writer: Writer) -> Any:
        """Write it."""
        return None if value is None else self.spec.write(value, writer)

    def read(self, node: Any, context: Context) -> Any:
        """Read it."""
        return None if node is None else self.spec.read(node, context)


class ArrayOf:
    """An array of some types and a shape.

    Numbers are at least `low` and below `below`, which may be a named size.  By default they are so small that what is
    calculated from them stays finite ("bounded"); `numbers` may also be "finite", or "any".
    """

    def __init__(
        self,
        types: tuple[str, ...] | str,
        *shape: Size,
        low: float | None = None,
        below: Size = None,
        numbers: str = "bounded",
    ) -> None:
        self.types = (types,) if isinstance(types, str) else types
        self.shape = shape
        self.low = low
        self.below = below
        self.numbers = numbers

    def write(self, value: Any, writer: Writer) -> int:
        """Store it outside the tree, unless it could not be read again."""
        kind = f"{value.dtype.kind}{value.dtype.itemsize}"
        if kind not in self.types:
            raise ModelFileError(
                f"This model has an array of type {value.dtype} that could not be read again, so it cannot be saved: "
                "this is a fault of fbtwsvm, please report it. An older file is left as it was."
            )
        if not self._are_numbers(value):
            raise ModelFileError(
                "This model holds numbers that are not finite, or are too large to calculate with, so it cannot be "
                "saved: rows of a very different scale, or huge weights, have spoiled it. An older file is left as it "
                "was."
            )
        return writer.add(value)

    def read(self, node: Any, context: Context) -> Array:
        """Check type and shape, read it, and check its numbers."""
        kind, shape = context.reader.type_and_shape(node)
        if kind not in self.types:
            raise ModelFileError("an array has the wrong type")
        context.expect(shape, self.shape)
        array = context.reader.array(node)
        if not self._are_numbers(array):
            raise ModelFileError("an array holds numbers that are not finite, or too large")
        below = context.sizes[self.below] if isinstance(self.below, str) else self.below
        too_low = self.low is not None and array.size and array.min() < self.low
        if too_low or (below is not None and array.size and array.max() >= below):
            raise ModelFileError("a number of an array is out of bounds")
        return array

    def _are_numbers(self, array: Array) -> bool:
        if self.numbers == "any" or array.dtype.kind != "f" or not array.size:
            return True
        most = math.inf if self.numbers == "finite" else MOST[array.dtype.itemsize]
        least, largest = float(array.min()), float(array.max())  # NaN if there is one
        return math.isfinite(least) and math.isfinite(largest) and -most <= least and largest <= most


@dataclass(frozen=True)
class Rows:
    """Rows of data, dense or sparse."""

    n_rows: Size
    n_columns: Size

    def write(self, value: Any, writer: Writer) -> Any:
        """Store them."""
        if not sp.issparse(value):
            return writer.add(value)
        return {
            "kind": "array" if isinstance(value, sp.sparray) else "matrix",
            "shape": list(value.shape),
            "parts": [writer.add(part) for part in (value.data, value.indices, value.indptr)],
        }

    def read(self, node: Any, context: Context) -> Any:
        """Read them, with all checks of a sparse matrix."""
        if not isinstance(node, dict):
            return ArrayOf(FLOATS, self.n_rows, self.n_columns, numbers="finite").read(node, context)
        fields = parts_of(node, ("kind", "shape", "parts"))
        kind = Text("array", "matrix").read(fields["kind"], context)
        shape = tuple(ListOf(Int(0, 2**40), most=2).read(fields["shape"], context))
        context.expect(shape, (self.n_rows, self.n_columns))
        if not isinstance(fields["parts"], list) or len(fields["parts"]) != 3:
            raise ModelFileError("a sparse matrix is incomplete")
        data, indices, indptr = fields["parts"]
        values = ArrayOf(FLOATS, None, numbers="finite").read(data, context)
        columns = ArrayOf(("i4", "i8"), len(values), low=0, below=shape[1]).read(indices, context)
        starts = ArrayOf(("i4", "i8"), shape[0] + 1, low=0, below=len(values) + 1).read(indptr, context)
        if starts[0] != 0 or starts[-1] != len(values) or (np.diff(starts) < 0).any():
            raise ModelFileError("a sparse matrix is inconsistent")
        make = sp.csr_array if kind == "array" else sp.csr_matrix
        return make((values, columns, starts), shape=shape)


@dataclass(frozen=True)
class ListOf:
    """A list of values with the same description."""

    spec: Spec
    most: int

    def write(self, value: Any, writer: Writer) -> list[Any]:
        """Write each item."""
        if len(value) > self.most:
            raise ModelFileError(f"A list of {len(value):,} items is too long for a model file.")
        return [self.spec.write(item, writer) for item in value]

    def read(self, node: Any, context: Context) -> list[Any]:
        """Read each item."""
        if not isinstance(node, list) or len(node) > self.most:
            raise ModelFileError("a list is missing or too long")
        return [self.spec.read(item, context) for item in node]


@dataclass(frozen=True)
class Record:
    """An object with named parts.

    `make` builds the object of its parts, and `parts` returns them, by default the attributes of these names.  Names in
    a file never change: `renamed` maps them to the names in the code where these differ.  `own` are named sizes that
    are not shared with other records.  `optional` parts are None if they are missing.

    A part that is new in a format is named in `added`, with that format and the value that it has for older files:
    ``added={"part": (2, 0)}`` is a part that every file of format 2 has, and that is 0 in a model of format 1.  If the
    value depends on other parts, let it be None here, and let `make` replace it.
    """

    make: Callable[..., Any]
    fields: Mapping[str, Spec]
    own: tuple[str, ...] = ()
    parts: Callable[[Any], Mapping[str, Any]] | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    added: Mapping[str, tuple[int, Any]] = field(default_factory=dict)

    def _name(self, name: str) -> str:
        """Return the name in the code of a part with this name in the file."""
        return self.renamed.get(name, name)

    def write(self, value: Any, writer: Writer) -> dict[str, Any]:
        """Write each part."""
        names = {name: self._name(name) for name in self.fields}
        parts = self.parts(value) if self.parts else {name: getattr(value, name) for name in names.values()}
        present = [name for name in names if name not in self.optional or parts[names[name]] is not None]
        return {name: self.fields[name].write(parts[names[name]], writer) for name in present}

    def read(self, node: Any, context: Context) -> Any:
        """Read each part."""
        absent = {name: value for name, (version, value) in self.added.items() if context.written_before(version)}
        absent |= {name: None for name in self.optional if isinstance(node, dict) and name not in node}
        nodes = parts_of(node, tuple(name for name in self.fields if name not in absent))
        inner = context.without(self.own)
        parts = {
            name: absent[name] if name in absent else spec.read(nodes[name], inner)
            for name, spec in self.fields.items()
        }
        return self.make(**{self._name(name): part for name, part in parts.items()})


@dataclass(frozen=True)
class Choice:
    """A value of one of several kinds; `which` returns the name of the kind of a value."""

    kinds: Mapping[str, Spec]
    which: Callable[[Any], str]

    def write(self, value: Any, writer: Writer) -> list[Any]:
        """Write it with the name of its kind."""
        name = self.which(value)
        return [name, self.kinds[name].write(value, writer)]

    def read(self, node: Any, context: Context) -> Any:
        """Read it."""
        if not isinstance(node, list) or len(node) != 2 or not isinstance(node[0], str) or node[0] not in self.kinds:
            raise ModelFileError("a part is of an unknown kind")
        return self.kinds[node[0]].read(node[1], context)


def blank(cls: Any) -> Callable[..., Any]:
    """Return a function that makes an object of a class from its attributes, without calling `__init__`."""

    def make(**attributes: Any) -> Any:
        instance = cls.__new__(cls)
        instance.__dict__.update(attributes)
        return instance

    return make


def parts_of(node: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return a node, which must have exactly these parts."""
    if not isinstance(node, dict) or set(node) != set(names):
        raise ModelFileError("a part of the model is missing or unknown")
    return node
