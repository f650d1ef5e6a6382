"""Arrays of other libraries (Torch, CuPy, array-api-strict) beside those of NumPy, through the array API standard.

scikit-learn carries `array-api-compat`, so nothing has to be installed for it.  No library is imported here that the
caller has not imported: an array brings its namespace along, and only the parameter `device` imports Torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from ._arrays import Array

_LIBRARIES = ("torch", "cupy", "array_api_strict")
_FAST_DOUBLE = ((6, 0), (7, 0), (8, 0), (9, 0), (10, 0))  # compute capability of P100, V100, A100, H100 to H200, B200
_UNKNOWN_MEMORY = 4 * 2**30  # bytes that are used on a device which does not tell how many it has
_USABLE = 0.8  # share of the free memory of a device that arrays may take


def is_foreign(X: Any) -> bool:
    """Whether X is an array of Torch, CuPy or array-api-strict."""
    if type(X) is np.ndarray:
        return False
    return library_of(X) in _LIBRARIES and hasattr(X, "shape") and hasattr(X, "dtype")


def namespace(x: Any) -> Any:
    """Return the functions of the library of an array, by the names of the array API standard."""
    if type(x) is np.ndarray:
        return np
    from sklearn.externals import array_api_compat

    return array_api_compat.array_namespace(x)


def device_of(x: Any) -> Any:
    """Return the device that an array is on."""
    from sklearn.externals import array_api_compat

    return array_api_compat.device(x)


def to_numpy(x: Any) -> Array:
    """Return an array as one of NumPy; numbers of 16 bits become float32."""
    if not is_foreign(x):
        return np.asarray(x)
    if _is_torch(x):
        x = x.detach()
        return np.asarray((x.float() if x.element_size() == 2 and x.is_floating_point() else x).cpu().numpy())
    if library_of(x) == "cupy":
        return np.asarray(x.get())
    return np.asarray(x._array)


def plain(x: Any) -> Any:
    """Return an array without its history of gradients; refuse a sparse one."""
    if not _is_torch(x):
        return x
    if str(x.layout) != "torch.strided":
        raise ValueError("Sparse tensors cannot be used: give X.to_dense().")
    return x.detach()


def dtype_name(x: Any) -> str:
    """Return the precision of an array, as NumPy names it."""
    return str(x.dtype).rpartition(".")[2]


def like(values: Any, x: Any, dtype: Any = None) -> Any:
    """Return values of NumPy as an array of the library of x, on its device; `dtype` is named as in NumPy."""
    values = np.ascontiguousarray(values, dtype=dtype)
    if not is_foreign(x):
        return values
    if not values.flags.writeable:  # Torch warns of such arrays
        values = values.copy()
    return namespace(x).asarray(values, device=device_of(x))


def brought(values: Any, x: Any, dtype: Any = None) -> Any:
    """Return an array, or numbers in a list, as an array of the library of x, on its device."""
    if type(values) is type(x) and device_of(values) == device_of(x):
        return values if dtype is None else as_float(values, str(np.dtype(dtype)))
    return like(to_numpy(values), x, dtype)


def zeros(shape: tuple[int, ...], x: Any, dtype: str = "float64") -> Any:
    """Return zeros in the library of x, on its device."""
    xp = namespace(x)
    return xp.zeros(shape, dtype=getattr(xp, dtype), device=device_of(x))


def copied(x: Any) -> Any:
    """Return an array with memory of its own, if it is on a device; others are as they are."""
    return namespace(x).asarray(x, copy=True) if is_foreign(x) else x


def rows_at(rows: Any, numbers: Array) -> Any:
    """Return the rows with these numbers, which are an array of NumPy."""
    if not is_foreign(rows):
        return rows[numbers]
    return namespace(rows).take(rows, like(numbers, rows, np.int64), axis=0)


def as_float(x: Any, dtype: str) -> Any:
    """Return an array in another precision; the same array if it has that already."""
    xp = namespace(x)
    return xp.astype(x, getattr(xp, dtype), copy=False)


def on_device(values: Array, device: str) -> Any:
    """Return an array of NumPy as a Torch tensor on a device."""
    torch = _torch_for(device)
    values = np.ascontiguousarray(values)
    return torch.from_numpy(values if values.flags.writeable else values.copy()).to(device)


def check_device(device: str) -> None:
    """Refuse a device that is not there, before any time is spent."""
    torch = _torch_for(device)
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device={device!r} cannot be used by Torch here ({reason}): use device=None; a fitted model takes "
            "set_params(device=None)."
        ) from error


def _torch_for(device: str) -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"device={device!r} needs Torch: pip install 'fbtwsvm[gpu]'.") from error
    return torch


def library_of(x: Any) -> str:
    """Return the name of the library of an array."""
    return type(x).__module__.partition(".")[0]


def _is_torch(x: Any) -> bool:
    return library_of(x) == "torch"


def has_half_products(x: Any) -> bool:
    """Whether products of bf16 numbers are fast, and added up in float32, on the device of an array."""
    return _capability(x) >= (8, 0)


def has_fast_double(x: Any) -> bool:
    """Whether float64 products on the GPU of an array take at most twice the time of float32 ones."""
    return _capability(x) in _FAST_DOUBLE


def _capability(x: Any) -> tuple[int, int]:
    """Return the compute capability of the GPU that a tensor is on; (0, 0) for all other arrays."""
    if not _is_torch(x) or x.device.type != "cuda":
        return 0, 0
    import torch

    major, minor = torch.cuda.get_device_capability(x.device)
    return int(major), int(minor)


def free_bytes(x: Any) -> int:
    """Return how many more bytes of arrays may be held on the device of an array."""
    if _is_torch(x) and x.device.type == "cuda":
        import torch

        free, _ = torch.cuda.mem_get_info(x.device)
        kept = torch.cuda.memory_reserved(x.device) - torch.cuda.memory_allocated(x.device)
        return int(_USABLE * (free + kept))
    if library_of(x) == "cupy":
        return int(_USABLE * x.device.mem_info[0])
    return _UNKNOWN_MEMORY


def multiply_into(x: Any, factor: float, out: Any) -> None:
    """Write x times a number into `out`, which may have another precision."""
    if _is_torch(x):
        import torch

        torch.mul(x, factor, out=out)
    else:
        out[...] = namespace(x).astype(x * factor, out.dtype, copy=False)


class _Products:
    """How Torch multiplies is one setting for all threads: who wants full products now, and what it was before."""

    def __init__(self) -> None:
        self.lock, self.users, self.before = Lock(), 0, "highest"


_PRODUCTS = _Products()


@contextmanager
def full_products(x: Any) -> Iterator[None]:
    """Return a context in which float32 products of Torch are not rounded to TF32, whatever the user has set."""
    if not _is_torch(x):
        yield
        return
    import torch

    with _PRODUCTS.lock:
        if not _PRODUCTS.users:
            _PRODUCTS.before = torch.get_float32_matmul_precision()
            torch.set_float32_matmul_precision("highest")
        _PRODUCTS.users += 1
    try:
        yield
    finally:
        with _PRODUCTS.lock:
            _PRODUCTS.users -= 1
            if not _PRODUCTS.users:
                torch.set_float32_matmul_precision(_PRODUCTS.before)
