"""Array types, compilation, and helpers for arrays that all folders use."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ._garbage import without_collection
from ._log import LOG

try:
    import numba
    from numba.core import event
except ImportError:  # rows on a device need none of the compiled loops but for a few hundred rows
    numba = event = None
    LOG.warning("numba is not installed: loops run as plain Python, hundreds of times slower. pip install numba")

Array = npt.NDArray[Any]
Index = slice | Array


def as_python(value: Any) -> Any:
    """Return a number, truth value or text of NumPy as one of Python, and all else as it is."""
    return value.item() if isinstance(value, np.generic) else value


class _Compilation(object if event is None else event.Listener):  # type: ignore[misc]
    """Follows the compilation of functions of this package: tells who has waited for a second, once, what for.

    numba reports also functions that are compiled within another one, and nothing that it finds on disk.  The message
    is a log record of the level that Python shows by default; no category of Python's warnings, which may be errors.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.seconds = 0.0  # spent with functions that are compiled
        self.told = False

    def on_start(self, event: Any) -> None:
        """Note that a function is compiled."""
        if self.depth == 0:
            if not event.data["dispatcher"].py_func.__module__.startswith("fbtwsvm."):
                return
            self.begin, self.pause = time.perf_counter(), without_collection()
            self.pause.__enter__()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """Note that a function has been compiled, or that its compilation has failed."""
        if self.depth == 0:
            return
        self.depth -= 1
        spent = self.seconds + time.perf_counter() - self.begin
        if spent > 1.0 and not self.told:
            self.told = True
            LOG.warning(
                "compiling part of fbtwsvm, once per installation; this takes some seconds, on a slow machine up to a "
                "minute"
            )
        if self.depth == 0:
            self.seconds = spent
            self.pause.__exit__(None, None, None)


_COMPILATION = _Compilation()
if event is not None:
    event.register("numba:compile", _COMPILATION)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use and keep the machine code on disk.

    The fast-math flags only allow sums to be reordered and multiply-adds to be fused.

    A function that Python calls must return nothing or numbers, and write arrays into those that it is given.  When
    numba makes arrays for Python, a Ctrl-C at that moment becomes a SystemError instead of a KeyboardInterrupt.
    """
    return _compile(function, fastmath={"reassoc", "contract"})


def compiled_exactly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` so that it rounds as NumPy does."""
    return _compile(function, fastmath=False)


def _compile(function: Callable[..., Any], fastmath: Any) -> Callable[..., Any]:
    if numba is None:
        return function
    # no_cfunc_wrapper: without a second entry for C, which nobody calls and which takes time to compile
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    decorate: Callable[..., Any] = numba.njit(fastmath=fastmath, **options)
    machine_code: Callable[..., Any] = decorate(function)
    return machine_code


def code_for(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the machine code of a compiled function for arguments like these.

    A call of the function itself looks at the types of all arguments first, which takes microseconds if there are many.
    The code does not look at them: the caller must see to it that all arguments have the types of these, also the order
    of the elements of arrays.
    """
    if numba is None or not isinstance(function, numba.core.dispatcher.Dispatcher):  # compilation is switched off
        return function
    types = tuple(numba.typeof(argument) for argument in arguments)
    function.compile(types)
    code: Callable[..., Any] = function.get_overload(types)
    return code


def tiles(first: int, last: int, size: int) -> list[slice]:
    """Cut the rows from `first` to `last` into slices of at most `size`."""
    return [slice(start, min(start + size, last)) for start in range(int(first), int(last), size)]


def class_starts(labels: Array, n_classes: int) -> Array:
    """Return where each class starts among sorted class indices, and where the last one ends."""
    return np.searchsorted(labels, np.arange(n_classes + 1))


def array_bytes(thing: Any, seen: set[int] | None = None) -> int:
    """Return the bytes of all arrays in an object, each counted once; keys of dictionaries (ids) count too.

    An object may have a method `held` that returns those of its arrays that take memory.
    """
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    if sp.issparse(thing):
        return int(thing.data.nbytes + thing.indices.nbytes + thing.indptr.nbytes)
    if isinstance(thing, dict):
        keys = sys.getsizeof(thing) + sum(map(sys.getsizeof, thing)) if thing else 0
        return keys + sum(array_bytes(value, seen) for value in thing.values())
    if isinstance(thing, (list, tuple)):
        return sum(array_bytes(item, seen) for item in thing)
    if hasattr(thing, "held"):
        return array_bytes(thing.held(), seen)
    return sum(array_bytes(value, seen) for value in vars(thing).values()) if hasattr(thing, "__dict__") else 0
