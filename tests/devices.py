"""Arrays of other libraries for tests: array-api-strict, Torch on the processor, and a GPU where there is one."""

from importlib.util import find_spec

import numpy as np
import pytest

HAS_TORCH = find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="Torch is not installed")


def has_gpu():
    """Whether Torch sees a GPU."""
    if not HAS_TORCH:
        return False
    import torch

    return torch.cuda.is_available()


needs_gpu = pytest.mark.skipif(not has_gpu(), reason="there is no GPU")
PLACES = ["array_api_strict"] * (find_spec("array_api_strict") is not None) + ["torch"] * HAS_TORCH
DEVICES = ["cpu"] * HAS_TORCH  # for the parameter `device`
if has_gpu():  # the others are tested everywhere
    PLACES, DEVICES = ["cuda"] + ["cupy"] * (find_spec("cupy") is not None), ["cuda"]


def there(values, place):
    """Return an array of NumPy as one of another library."""
    if place in ("torch", "cuda"):
        import torch

        return torch.asarray(np.ascontiguousarray(values), device="cpu" if place == "torch" else "cuda")
    library = pytest.importorskip(place)
    return library.asarray(values)


def here(values):
    """Return such an array as one of NumPy, without the library's own conversion."""
    if hasattr(values, "detach"):
        return values.detach().cpu().numpy()
    if hasattr(values, "get"):
        return values.get()
    return np.asarray(getattr(values, "_array", values))


def crowd(n=3000, n_classes=2, n_columns=5, seed=0, dtype=np.float64):
    """Return overlapping rows of a few classes that no plane through the columns can part."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_columns))
    value = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * random.normal(size=n)
    y = np.searchsorted(np.quantile(value, np.arange(1, n_classes) / n_classes), value)
    return X.astype(dtype), y
