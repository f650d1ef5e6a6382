"""Add and remove classes: every object of a stream lists which axes of its arrays run over the classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np

from .._arrays import Array


class HasClassAxes(Protocol):
    """An object whose arrays have an entry for every class, or for every pair of classes."""

    CLASS_AXES: ClassVar[dict[str, tuple[int, ...]]]  # attribute -> axes that run over the classes
    NEW_CLASS: ClassVar[dict[str, Any]]  # attribute -> entry of a new class, if it is not zero


def insert_class(thing: HasClassAxes, k: int) -> None:
    """Insert a new class at index k."""
    _change(thing, lambda array, axis, new: np.insert(array, k, new, axis=axis))


def delete_class(thing: HasClassAxes, k: int) -> None:
    """Remove class k."""
    _change(thing, lambda array, axis, _: np.delete(array, k, axis=axis))


def _change(thing: HasClassAxes, change: Callable[[Array, int, Any], Array]) -> None:
    for name, axes in thing.CLASS_AXES.items():
        array = getattr(thing, name)
        for axis in axes:
            array = change(array, axis, thing.NEW_CLASS.get(name, 0))
        setattr(thing, name, array)
