"""Model files that are safe to open: a documented format without code, with a checksum, written in one step."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

from ...classifier import FBTWSVM
from .classifier import CLASSIFIER
from .container import FORMAT, ModelFileError, Writer, reading, write
from .value_types import Context, Spec

__all__ = ["FORMAT", "ModelFileError", "load", "save"]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a model to a file.

    An older file is replaced in one step, when the new one is complete.

    Parameters
    ----------
    model : FBTWSVM, TableClassifier, Pipeline, FBTWSVMCV or TableModel
        The model.  Its parameters must be plain values: a file holds no code, so a model with a kernel function, or
        with a transformer or drift detector of another package, cannot be saved (use pickle).  A pipeline may have
        scikit-learn's scalers, encoders and imputers before an FBTWSVM.  Of a fitted search (also GridSearchCV) its
        best estimator is saved.
    path : path-like
        Path of the file, usually ``something.fbt``.

    Raises
    ------
    ModelFileError
        If something of the model cannot be in a file; the message says what, and what to do.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import fbtwsvm
    >>> X, y = load_iris(return_X_y=True)
    >>> path = os.path.join(tempfile.mkdtemp(), "iris.fbt")
    >>> model = make_pipeline(StandardScaler(), fbtwsvm.FBTWSVM()).fit(X, y)
    >>> fbtwsvm.save(model, path)
    >>> bool((fbtwsvm.load(path).predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    model = getattr(model, "best_estimator_", model)
    name = _name_of_kind(model)
    writer = Writer()
    tree = [name, _spec(name).write(model, writer)]
    write(path, tree, writer.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model from a file, without running any code from it.

    Parameters
    ----------
    path : path-like
        A file written by :func:`save` or by the command, of this or an older version.

    Returns
    -------
    FBTWSVM, TableClassifier, Pipeline or TableModel
        The model; a TableModel if the command wrote it.  It predicts exactly as before, and goes on learning as if it
        had not been saved; what a stream was preparing in pieces is finished.

    Raises
    ------
    ModelFileError
        If the file is not a model, is truncated or altered, or is from a newer version; the message says which.
    """
    with reading(path) as reader:
        match reader.tree:
            case [str(name), part]:
                model = _spec(name).read(part, Context(reader))
            case _:
                raise ModelFileError("it names no kind of model")
        reader.check_all_used()
    return model


_TABLES = "fbtwsvm.data"


def _name_of_kind(model: Any) -> str:
    """Return the name of the kind of a model, or say what can be saved."""
    if isinstance(model, FBTWSVM):
        return "classifier"
    # Without these modules there are no models of their classes.
    kinds = (("pipeline", "sklearn.pipeline", "Pipeline"), ("table", f"{_TABLES}.table_model", "TableModel"))
    for name, module, cls in (*kinds, ("table_classifier", f"{_TABLES}.table_classifier", "TableClassifier")):
        if module in sys.modules and isinstance(model, getattr(sys.modules[module], cls)):
            return name
    if hasattr(model, "refit") and not hasattr(model, "cv_results_"):
        raise ModelFileError(f"This {type(model).__name__} is not fitted: fit it first; its best estimator is saved.")
    raise ModelFileError(
        f"A {type(model).__name__} cannot be saved to a model file: it takes an FBTWSVM, a pipeline of scikit-learn "
        "that ends in one, a TableClassifier, a fitted search with refit=True (its best estimator is saved), or a "
        "TableModel. Use joblib or skops."
    )


def _spec(name: str) -> Spec:
    """Return the description of a kind of model; what is not always needed is imported here."""
    if name == "classifier":
        return CLASSIFIER
    if name == "pipeline":
        from .pipeline import PIPELINE

        return PIPELINE
    if name in ("table", "table_classifier"):
        if not find_spec("pyarrow"):
            raise ModelFileError("it reads tables, which needs pyarrow: pip install 'fbtwsvm[table]'")
        if name == "table":
            from .table import TABLE_MODEL

            return TABLE_MODEL
        from .table_classifier import TABLE_CLASSIFIER

        return TABLE_CLASSIFIER
    raise ModelFileError("it is of an unknown kind")
