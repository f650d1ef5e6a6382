"""Add and remove classes: every object of a stream lists which axes of its arrays run over the classes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, ClassVar, Protocol

import numpy as np


class HasClassAxes(Protocol):
    """An object whose arrays have an entry for every class, or for every pair of classes."""

    CLASS_AXES: ClassVar[dict[str, tuple[int, ...]]]  # attribute -> axes that run over the classes
    NEW_CLASS: ClassVar[dict[str, Any]]  # attribute -> entry of a new class, if it is not zero


def insert_class(thing: HasClassAxes, k: int) -> None:
    """Insert a new class at index k."""
    for name, axes in thing.CLASS_AXES.items():
        array = getattr(thing, name)
        shape = tuple(size + (axis in axes) for axis, size in enumerate(array.shape))
        wider = np.full(shape, thing.NEW_CLASS.get(name, 0), dtype=array.dtype)
        for source, target in _blocks(k, array.shape, axes):
            wider[target] = array[source]
        setattr(thing, name, wider)


def _blocks(k: int, shape: tuple[int, ...], axes: tuple[int, ...]) -> Iterator[tuple[tuple[slice, ...], ...]]:
    """Yield where the parts of an array are before and after a new class comes at index k of some axes."""
    halves = [(slice(0, k), slice(0, k)), (slice(k, None), slice(k + 1, None))]
    whole = [(slice(None), slice(None))]
    for parts in product(*(halves if axis in axes else whole for axis in range(len(shape)))):
        yield tuple(source for source, _ in parts), tuple(target for _, target in parts)


def delete_class(thing: HasClassAxes, k: int) -> None:
    """Remove class k."""
    for name, axes in thing.CLASS_AXES.items():
        array = getattr(thing, name)
        for axis in axes:
            array = np.delete(array, k, axis=axis)
        setattr(thing, name, array)
