"""Garbage collection, which is put off while modules are loaded and functions are compiled.

Both make very many objects, nearly all of which stay; looking for garbage among them takes a tenth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect no garbage for a while, unless the user has done so before."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # all objects become old, as if they had outlived two collections
            gc.freeze()
            gc.unfreeze()
        gc.enable()
