"""Model files as the command uses them: read, checked, written in one step, described in a few lines."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from ..classifier import FBTWSVM, finish_preparation, model_of
from ..data.columns import Choices, Column, Columns
from ..data.sources import DataError
from ..data.sources.address import without_user
from ..data.sources.base import numbered_names
from ..data.table_model import TableModel
from ..export.modelfile import load, save
from .bad_rows import BadRows
from .lock import locked
from .output import few, mebibytes, print_facts, print_json

written: dict[str, int] = {}  # the model files that this command has written, and the rows that each has learned
_locks = ExitStack()


def read_model(path: Path, target: str | None = None) -> TableModel:
    """Read a model; one that was saved from Python gets columns of numbers without scaling."""
    model = load(path)
    if isinstance(model, FBTWSVM):
        if not hasattr(model, "classes_"):
            raise DataError(f"{path} holds a classifier that has not learned anything yet.")
        model = TableModel(_plain_columns(model, target or "y"), model, model.inspect().seen)
    if not isinstance(model, TableModel):
        raise DataError(
            f"{path} holds a pipeline of scikit-learn or a TableClassifier, which only Python can use (fbtwsvm.load). "
            "The command scales and encodes columns itself: see fbtwsvm train --help."
        )
    if model.run is not None:  # older versions stored the name of the user of a database
        model.run.source, model.run.name = without_user(model.run.source), without_user(model.run.name)
    return model


def read_warm_model(path: Path) -> TableModel:
    """Read a model whose map is chosen; refuse one that is still in its warm-up."""
    model = read_model(path)
    inspection = model.estimator.inspect()
    if inspection.stage == "warm_up":
        raise DataError(
            f"{path} is still warming up ({inspection.seen:,} of {inspection.warm_up:,} rows), so its map is not "
            "chosen yet: let it learn more rows first, or train it again with a smaller --warm-up."
        )
    return model


def write_model(model: TableModel, path: Path) -> None:
    """Write a model in one step; the model in memory goes on as the one in the file would."""
    try:
        finish_preparation(model.estimator)
        save(model, path)
    except OSError as error:
        raise DataError(
            f"{path} could not be written: {error.strerror or error}. Any older model there is untouched."
        ) from error
    written[str(path)] = model.rows


def claim(path: Path, verb: str) -> None:
    """Refuse a path where no model can be written, and keep other commands from writing it until this one ends."""
    check_writable(path)
    if path.exists() and not path.is_file():
        raise DataError(f"{path} is a pipe or a device, and a model can only be written to a file.")
    _locks.enter_context(locked(path, f"fbtwsvm {verb}"))


def release() -> None:
    """Let other commands write the model files of this one; it has ended."""
    _locks.close()
    written.clear()


def check_writable(path: Path) -> None:
    """Refuse a path where no file can be written, before any work is done."""
    folder = path.resolve().parent
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder} to write {path.name} into.")
    if path.is_dir() or not os.access(folder, os.W_OK):
        raise DataError(f"{path} cannot be written: {'it is a folder' if path.is_dir() else 'permission denied'}.")


def show_written(model: TableModel, path: Path, as_json: bool, bad: BadRows | None = None) -> None:
    """Print what a model file that was just written holds."""
    classes = [str(label) for label in model.estimator.classes_]
    n_columns = len(model.columns.columns)
    size = path.stat().st_size
    if as_json:
        facts = {"model": str(path), "rows": model.rows, "classes": classes, "columns": n_columns, "bytes": size}
        print_json(facts if bad is None else {**facts, "set_aside": bad.count})
        return
    print_facts(
        f"{path}, {mebibytes(size)}",
        [
            ("rows learned", f"{model.rows:,}"),
            *([] if bad is None else bad.told()),
            ("columns", f"{n_columns}"),
            ("classes", f"{len(classes)}: {few(classes, 10)}"),
        ],
    )


def _plain_columns(model: FBTWSVM, target: str) -> Columns:
    """Return the columns of a model that was saved from Python: numbers, as they are."""
    count = model.n_features_in_
    names = list(getattr(model, "feature_names_in_", numbered_names(count)))
    labels = {"i": "whole", "u": "whole", "f": "number", "b": "truth"}.get(model.classes_.dtype.kind, "text")
    choices = Choices(target=target, scale="none", precision=str(np.dtype(model_of(model).dtype)))
    zero, one = np.zeros(count), np.ones(count)
    columns = [Column(name, None, 0.0) for name in names]
    return Columns(choices, columns, labels, zero, one, zero, one, recent=np.zeros((2, count)))
