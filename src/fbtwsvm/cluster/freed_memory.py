"""Keep freed memory for the next array while a task works, on workers that would give it back at once.

Dask starts its workers with MALLOC_TRIM_THRESHOLD_, so that memory which is freed goes back to the system.  Then every
array of a tile is made of new pages, which takes longer than the arithmetic on it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_TRIM, _MMAP = -1, -3  # options of mallopt: when to give back memory, and from which size on to ask the system for it
_KEPT = 2**30  # bytes, while a task works
_USUAL_MMAP = 2**17  # bytes, of the C library


class _Tasks:
    """The number of tasks that work at present in this process."""

    def __init__(self) -> None:
        self.lock, self.count = Lock(), 0


_TASKS = _Tasks()


@cache
def _library() -> Any:
    """Return the C library if it has the functions and the worker was started like this; otherwise None."""
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


@contextmanager
def kept_for_reuse() -> Iterator[None]:
    """Return a context in which freed memory is kept; when the last task ends, it goes back to the system."""
    library = _library()
    if library is None:
        yield
        return
    _change(1, lambda: (library.mallopt(_MMAP, _KEPT), library.mallopt(_TRIM, _KEPT)))
    try:
        yield
    finally:
        _change(-1, lambda: _give_back(library))


def _change(step: int, action: Callable[[], Any]) -> None:
    """Count a task that begins or ends; the first and the last one act."""
    with _TASKS.lock:
        before = _TASKS.count
        _TASKS.count += step
        if 0 in (before, _TASKS.count):
            action()


def _give_back(library: Any) -> None:
    """Set what the worker was started with, and give back what is free."""
    library.mallopt(_MMAP, _USUAL_MMAP)
    library.mallopt(_TRIM, int(os.environ["MALLOC_TRIM_THRESHOLD_"]))
    library.malloc_trim(0)
