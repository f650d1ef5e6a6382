"""Undo changes in place: save what a call is about to change, and restore it if the call fails."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array


class Undo:
    """Saved values of attributes and parts of arrays; to restore them twice is the same as once."""

    def __init__(self) -> None:
        self._attributes: list[tuple[Any, str, Any]] = []
        self._parts: list[tuple[Array, Any, Array]] = []

    def keep(self, thing: Any, *names: str) -> None:
        """Save attributes; an array or a list is replaced by a copy, so that those who read the old one can go on."""
        for name in names:
            value = getattr(thing, name)
            self._attributes.append((thing, name, value))
            if isinstance(value, (np.ndarray, list)):
                setattr(thing, name, value.copy())

    def keep_part(self, array: Array, index: Any) -> None:
        """Save a part of an array that may change in place."""
        self._parts.append((array, index, array[index].copy()))

    def restore(self) -> None:
        """Restore everything that was saved."""
        for thing, name, value in self._attributes:
            setattr(thing, name, value)
        for array, index, part in self._parts:
            array[index] = part
