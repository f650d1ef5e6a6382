"""Fuzzy bounded twin support vector machines with the scikit-learn API.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._garbage import without_collection

if TYPE_CHECKING:
    from .classifier import FBTWSVM
    from .data.table_classifier import TableClassifier
    from .export.modelfile import load, save
    from .search import FBTWSVMCV
    from .tree_merge import merge

__version__ = "0.15.0"
__all__ = ["FBTWSVM", "FBTWSVMCV", "TableClassifier", "load", "merge", "save"]


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # something that stands for the package in a test
        return True


if not _is_there("pyarrow"):
    __all__.remove("TableClassifier")
# Modules that have moved (`fbtwsvm.stream`, ...) are still found under their old names, by files in this folder.
__path__.append(str(Path(__file__).parent / "_moved"))

_HOMES = {
    "FBTWSVM": "classifier",
    "FBTWSVMCV": "search",
    "TableClassifier": "data.table_classifier",
    "load": "export.modelfile",
    "merge": "tree_merge",
    "save": "export.modelfile",
}
# Folders and modules with public names in them
_MODULES = ("data", "evaluate", "export", "features", "online", "river")


def __dir__() -> list[str]:
    missing = set() if _is_there("river") else {"river"}  # with a name that cannot be read, help() would fail
    return sorted({*__all__, *_MODULES, "__version__"} - missing)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        with without_collection():
            value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        return value
    if name in _MODULES:
        try:
            return import_module(f".{name}", __name__)
        except ImportError as error:  # hasattr() is then False
            raise AttributeError(str(error)) from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
