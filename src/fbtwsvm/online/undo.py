"""Undo changes in place: save what a call is about to change, and restore it if the call fails."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array


class Undo:
    """Saved values of attributes and parts of arrays."""

    def __init__(self) -> None:
        self._attributes: list[tuple[Any, str, Any, Any]] = []
        self._parts: list[tuple[Array, Any, Array]] = []

    def keep(self, thing: Any, *names: str) -> None:
        """Save attributes; arrays and lists may then change in place, other values may be replaced."""
        for name in names:
            value = getattr(thing, name)
            copy = value.copy() if isinstance(value, (np.ndarray, list)) else None
            self._attributes.append((thing, name, value, copy))

    def keep_part(self, array: Array, index: Any) -> None:
        """Save a part of an array that may change in place."""
        self._parts.append((array, index, array[index].copy()))

    def restore(self) -> None:
        """Restore everything that was saved."""
        for thing, name, value, copy in self._attributes:
            if copy is not None:
                value[:] = copy
            setattr(thing, name, value)
        for array, index, part in self._parts:
            array[index] = part
