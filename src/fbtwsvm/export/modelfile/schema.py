"""What may stand in a model file: small descriptions that write a value and read it back, checking all of it.

A description is used in both directions, so what is written and what is checked cannot drift apart.  Sizes have names
("K" classes, "D" columns): the first array that is read gives a name its value, and every later one must agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from ..._arrays import Array
from .container import ModelFileError, Reader, Writer

FLOATS = ("f8", "f4")
Size = int | str | None


class Context:
    """A reader with the sizes known so far."""

    def __init__(self, reader: Reader, sizes: dict[str, int] | None = None) -> None:
        self.reader, self.sizes = reader, {} if sizes is None else sizes

    def without(self, names: tuple[str, ...]) -> Context:
        """Return a context in which some sizes are open again; what is learned of the others is shared."""
        return Context(self.reader, _Inner(self.sizes, names)) if names else self

    def expect(self, shape: tuple[int, ...], wanted: tuple[Size, ...]) -> None:
        """Check a shape, and learn sizes from it."""
        if len(shape) != len(wanted):
            raise ModelFileError(f"an array has {len(shape)} axes instead of {len(wanted)}")
        for size, want in zip(shape, wanted, strict=True):
            if isinstance(want, str):
                want = self.sizes.setdefault(want, size)
            if want is not None and size != want:
                raise ModelFileError("sizes of arrays do not agree")


class _Inner(dict[str, int]):
    """Sizes of a part: some are its own, the rest belong to the whole."""

    def __init__(self, outer: dict[str, int], own: tuple[str, ...]) -> None:
        super().__init__()
        self._outer, self._own = outer, own

    def setdefault(self, name: str, size: int = 0) -> int:
        return super().setdefault(name, size) if name in self._own else self._outer.setdefault(name, size)

    def __getitem__(self, name: str) -> int:
        return super().__getitem__(name) if name in self._own else self._outer[name]


class Spec(Protocol):
    """A description of a value."""

    def write(self, value: Any, writer: Writer) -> Any:
        """Return what stands for the value in the tree."""

    def read(self, node: Any, context: Context) -> Any:
        """Return the value, or refuse it."""


class Int:
    """A whole number."""

    def __init__(self, low: int = -(2**62), high: int = 2**62) -> None:
        self.low, self.high = low, high

    def write(self, value: Any, writer: Writer) -> int:
        """Write it as a JSON number."""
        return int(value)

    def read(self, node: Any, context: Context) -> int:
        """Read it within its bounds."""
        if type(node) is not int or not self.low <= node <= self.high:
            raise ModelFileError("a whole number is missing or out of bounds")
        return node


class Float:
    """A number; infinities and NaN, which JSON has not, are words."""

    def write(self, value: Any, writer: Writer) -> float | str:
        """Write it so that every bit comes back."""
        return float(value) if math.isfinite(value) else repr(float(value))

    def read(self, node: Any, context: Context) -> float:
        """Read it."""
        if node in ("inf", "-inf", "nan") or type(node) is float or (type(node) is int and abs(node) < 2**1000):
            return float(node)
        raise ModelFileError("a number is missing")


class Bool:
    """A truth value."""

    def write(self, value: Any, writer: Writer) -> bool:
        """Write it."""
        return bool(value)

    def read(self, node: Any, context: Context) -> bool:
        """Read it."""
        if type(node) is not bool:
            raise ModelFileError("a truth value is missing")
        return node


class Text:
    """A short text, perhaps one of a few."""

    def __init__(self, *options: str, most: int = 10_000) -> None:
        self.options, self.most = options, most

    def write(self, value: Any, writer: Writer) -> str:
        """Write it, unless it could not be read again."""
        return self.read(str(value), None)

    def read(self, node: Any, context: Context | None) -> str:
        """Read it."""
        if type(node) is not str or len(node) > self.most or (self.options and node not in self.options):
            raise ModelFileError("a word is missing, unknown or too long")
        return node


class DType:
    """The precision of rows."""

    def write(self, value: Any, writer: Writer) -> str:
        """Write its name."""
        return str(np.dtype(value))

    def read(self, node: Any, context: Context) -> np.dtype:
        """Read it."""
        return np.dtype(Text("float32", "float64").read(node, context))


class Maybe:
    """A value or None."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def write(self, value: Any, writer: Writer) -> Any:
        """Write it."""
        return None if value is None else self.spec.write(value, writer)

    def read(self, node: Any, context: Context) -> Any:
        """Read it."""
        return None if node is None else self.spec.read(node, context)


class ArrayOf:
    """An array of given types and shape; whole numbers may have bounds, the upper one perhaps a named size."""

    def __init__(self, types: tuple[str, ...] | str, *shape: Size, low: int | None = None, below: Size = None) -> None:
        self.types = (types,) if isinstance(types, str) else types
        self.shape, self.low, self.below = shape, low, below

    def write(self, value: Any, writer: Writer) -> int:
        """Store it beside the tree."""
        return writer.add(value)

    def read(self, node: Any, context: Context) -> Array:
        """Check type and shape, read it, check the bounds."""
        kind, shape = context.reader.look(node)
        if kind not in self.types:
            raise ModelFileError("an array has the wrong type")
        context.expect(shape, self.shape)
        array = context.reader.array(node)
        below = context.sizes[self.below] if isinstance(self.below, str) else self.below
        too_low = self.low is not None and array.size and array.min() < self.low
        if too_low or (below is not None and array.size and array.max() >= below):
            raise ModelFileError("an index points to nowhere")
        return array


class Rows:
    """Rows of data, dense or sparse."""

    def __init__(self, n_rows: Size, n_columns: Size) -> None:
        self.shape = (n_rows, n_columns)

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
        """Read them; a sparse matrix is checked from end to end."""
        if not isinstance(node, dict):
            return ArrayOf(FLOATS, *self.shape).read(node, context)
        fields = parts_of(node, ("kind", "shape", "parts"))
        kind = Text("array", "matrix").read(fields["kind"], context)
        shape = tuple(ListOf(Int(0, 2**40), most=2).read(fields["shape"], context))
        context.expect(shape, self.shape)
        if not isinstance(fields["parts"], list) or len(fields["parts"]) != 3:
            raise ModelFileError("a sparse matrix is incomplete")
        data, indices, indptr = fields["parts"]
        values = ArrayOf(FLOATS, None).read(data, context)
        columns = ArrayOf(("i4", "i8"), len(values), low=0, below=shape[1]).read(indices, context)
        starts = ArrayOf(("i4", "i8"), shape[0] + 1, low=0, below=len(values) + 1).read(indptr, context)
        if starts[0] != 0 or starts[-1] != len(values) or (np.diff(starts) < 0).any():
            raise ModelFileError("a sparse matrix is inconsistent")
        make = sp.csr_array if kind == "array" else sp.csr_matrix
        return make((values, columns, starts), shape=shape)


class ListOf:
    """A list."""

    def __init__(self, spec: Spec, most: int) -> None:
        self.spec, self.most = spec, most

    def write(self, value: Any, writer: Writer) -> list[Any]:
        """Write each item."""
        if len(value) > self.most:
            raise ModelFileError(f"A list of {len(value):,} things is too long for a model file.")
        return [self.spec.write(item, writer) for item in value]

    def read(self, node: Any, context: Context) -> list[Any]:
        """Read each item."""
        if not isinstance(node, list) or len(node) > self.most:
            raise ModelFileError("a list is missing or too long")
        return [self.spec.read(item, context) for item in node]


class Record:
    """An object with named parts; `own` are sizes that belong to it alone.

    `make` gets the parts by name and returns the object; `parts` gives them back, attributes of these names by default.
    Names in a file never change: `renamed` says which of them have another name in the code, file name -> code name.
    `optional` parts may be missing, as in files of older versions: then they are None.
    """

    def __init__(
        self,
        make: Callable[..., Any],
        fields: Mapping[str, Spec],
        own: tuple[str, ...] = (),
        parts: Callable[[Any], Mapping[str, Any]] | None = None,
        renamed: Mapping[str, str] | None = None,
        optional: tuple[str, ...] = (),
    ) -> None:
        self.optional = optional
        self.make, self.fields, self.own, self.parts = make, dict(fields), own, parts
        self.names = {name: (renamed or {}).get(name, name) for name in self.fields}

    def write(self, value: Any, writer: Writer) -> dict[str, Any]:
        """Write each part."""
        names = self.names
        parts = self.parts(value) if self.parts else {name: getattr(value, name) for name in names.values()}
        missing = {name for name in self.optional if parts[names[name]] is None}
        written = {name: spec for name, spec in self.fields.items() if name not in missing}
        return {name: spec.write(parts[names[name]], writer) for name, spec in written.items()}

    def read(self, node: Any, context: Context) -> Any:
        """Read each part."""
        missing = {name for name in self.optional if isinstance(node, dict) and name not in node}
        nodes = parts_of(node, tuple(name for name in self.fields if name not in missing))
        inner = context.without(self.own)
        parts = {name: None if name in missing else spec.read(nodes[name], inner) for name, spec in self.fields.items()}
        return self.make(**{self.names[name]: part for name, part in parts.items()})


class Choice:
    """One of several kinds of thing, by name; `which` tells the name of a value."""

    def __init__(self, kinds: Mapping[str, Spec], which: Callable[[Any], str]) -> None:
        self.kinds, self.which = dict(kinds), which

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
    """Return a function that makes a thing of this class from all of its attributes, without running its code."""

    def make(**attributes: Any) -> Any:
        thing = cls.__new__(cls)
        thing.__dict__.update(attributes)
        return thing

    return make


def parts_of(node: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Check that a node has exactly these parts."""
    if not isinstance(node, dict) or set(node) != set(names):
        raise ModelFileError("a part of the model is missing or unknown")
    return node
