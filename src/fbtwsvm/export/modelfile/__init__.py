"""Model files that are safe to open: a documented format without code, with a checksum, written in one step."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

from ...classifier import FBTWSVM
from .classifier import CLASSIFIER
from .container import FORMAT, ModelFileError, Writer, reading, write
from .value_types import Choice, Context, Spec

__all__ = ["FORMAT", "ModelFileError", "load", "save"]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a model to a file.

    An older file is replaced in one step, when the new one is complete.

    Parameters
    ----------
    model : FBTWSVM or TableModel
        The model, fitted or not.  Its parameters must be plain values: a file holds no code, so a model with a kernel
        function, or with a transformer or drift detector of another package, cannot be saved (use pickle).
    path : path-like
        Path of the file, usually ``something.fbt``.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> import fbtwsvm
    >>> X, y = load_iris(return_X_y=True)
    >>> path = os.path.join(tempfile.mkdtemp(), "iris.fbt")
    >>> model = fbtwsvm.FBTWSVM().fit(X, y)
    >>> fbtwsvm.save(model, path)
    >>> bool((fbtwsvm.load(path).predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    kinds = _kinds()
    name = "classifier" if isinstance(model, FBTWSVM) else "table"
    writer = Writer()
    tree = [name, kinds[name].write(model, writer)]
    write(path, tree, writer.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model from a file, without running any code from it.

    Parameters
    ----------
    path : path-like
        A file written by :func:`save` or by the command, of this or an older version.

    Returns
    -------
    FBTWSVM or TableModel
        The model; a TableModel if the command wrote it.  It predicts exactly as before, and goes on learning as if it
        had not been saved.

    Raises
    ------
    ModelFileError
        If the file is not a model, is truncated or altered, or is from a newer version; the message says which.
    """
    with reading(path) as reader:
        model = Choice(_kinds(), str).read(reader.tree, Context(reader))
        reader.check_all_used()
    return model


def _kinds() -> dict[str, Spec]:
    """Return the kinds of models that a file may hold; a TableModel needs pyarrow."""
    kinds: dict[str, Spec] = {"classifier": CLASSIFIER}
    if find_spec("pyarrow"):
        from .table import TABLE_MODEL

        kinds["table"] = TABLE_MODEL
    return kinds
