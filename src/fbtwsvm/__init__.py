"""Fuzzy bounded twin support vector machines with the scikit-learn API.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .classifier import FBTWSVM
    from .modelfile import load, save
    from .tuning import FBTWSVMCV

__version__ = "0.5.0"
__all__ = ["FBTWSVM", "FBTWSVMCV", "load", "save"]

_HOMES = {"FBTWSVM": "classifier", "FBTWSVMCV": "tuning", "load": "modelfile", "save": "modelfile"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
