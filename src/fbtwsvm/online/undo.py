"""Undo changes in place: save what a call is about to change, and restore it if the call fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .._arrays import Array
from ..model.decision import Answers


class Undo:
    """Saved objects and parts of arrays; to restore them twice is the same as once.

    `before` undoes what was changed before anything was saved here.
    """

    def __init__(self, before: Callable[[], None] | None = None) -> None:
        self._before = before
        self._things: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._parts: dict[tuple[int, str], tuple[Array, Any, Array]] = {}
        self._copied: set[tuple[int, str]] = set()

    def keep(self, thing: Any, *names: str) -> None:
        """Save all attributes of an object.

        The arrays and lists that are named may then be changed in place: they are replaced by copies, once in a call,
        so that those who read the old ones can go on.
        """
        key = id(thing)
        if key not in self._things:
            self._things[key] = (thing, vars(thing).copy())
        for name in names:
            if (key, name) not in self._copied:
                setattr(thing, name, getattr(thing, name).copy())
                self._copied.add((key, name))

    def keep_part(self, array: Array, index: Any) -> None:
        """Save a part of an array, which may then be changed in place."""
        key = (id(array), str(index))
        if key not in self._parts:
            self._parts[key] = (array, index, array[index].copy())

    def restore(self) -> None:
        """Restore everything that was saved."""
        for array, index, part in reversed(self._parts.values()):  # parts may overlap: the one saved first is right
            array[index] = part
        for thing, before in self._things.values():
            vars(thing).update({name: value for name, value in before.items() if name != "published"})
        if self._before is not None:
            self._before()
        for thing, before in self._things.values():  # the last step: until then, `published` leads here again
            if "published" in before:
                thing.published = before["published"]


class Published(NamedTuple):
    """What readers of a stream model use, and how to undo what has changed in place since.

    answers  all that predictions read
    undo     what takes back a change that is not finished; None if there is none
    """

    answers: Answers
    undo: Undo | None
