"""Models in files that are safe to open: no pickle, one documented format, a checksum, written in one step."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

from ...classifier import FBTWSVM
from .classifier import CLASSIFIER
from .container import FORMAT, ModelFileError, Writer, reading, write
from .schema import Choice, Context, Spec

__all__ = ["FORMAT", "ModelFileError", "load", "save"]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model into a file, in place of an older one only when all of it is on disk.

    Parameters
    ----------
    model : FBTWSVM or TableModel
        The model, learned or not.  Its parameters must be plain values: kernels that are functions, transformers and
        drift detectors of other packages are code, which the file does not hold (pickle does).
    path : path-like
        Where to write it, usually ``something.fbt``.

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
    """Read a model from a file; no code of the file is run, since there is none in it.

    Parameters
    ----------
    path : path-like
        A file written by :func:`save` or by the command, of this or an older version.

    Returns
    -------
    FBTWSVM or TableModel
        The model, with the columns that it reads if it came from the command line: it answers with the same bits, and
        goes on learning as if it had never been saved.

    Raises
    ------
    ModelFileError
        If the file is not a model, is truncated, altered, or from a newer version; the message says which.
    """
    with reading(path) as reader:
        model = Choice(_kinds(), str).read(reader.tree, Context(reader))
        reader.check_all_used()
    return model


def _kinds() -> dict[str, Spec]:
    """Return what a file may hold; a model of tables needs pyarrow, which not every user has."""
    kinds: dict[str, Spec] = {"classifier": CLASSIFIER}
    if find_spec("pyarrow"):
        from .table import TABLE_MODEL

        kinds["table"] = TABLE_MODEL
    return kinds
