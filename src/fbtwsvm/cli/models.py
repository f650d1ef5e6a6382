"""Models as the command sees them: files that are read, checked and written in one step."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ..classifier import FBTWSVM, model_of
from ..data.columns import Choices, Column, Columns
from ..data.sources import DataError
from ..data.sources.base import numbered_names
from ..data.table_model import TableModel
from ..export.modelfile import load, save


def read_model(path: Path, target: str | None = None) -> TableModel:
    """Read a model; one that was saved from Python reads numbers as they are, named like its columns."""
    model = load(path)
    if isinstance(model, FBTWSVM):
        if not hasattr(model, "classes_"):
            raise DataError(f"{path} holds a classifier that has not learned anything yet.")
        model = TableModel(_plain_columns(model, target or "y"), model, model.inspect().seen)
    return model  # type: ignore[no-any-return]


def write_model(model: TableModel, path: Path) -> None:
    """Write a model in one step."""
    try:
        save(model, path)
    except OSError as error:
        raise DataError(
            f"{path} could not be written: {error.strerror or error}. Any older model there is untouched."
        ) from error


def check_writable(path: Path) -> None:
    """Refuse a place where no model can be written, before any work is done."""
    folder = path.resolve().parent
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder} to write {path.name} into.")
    if path.is_dir() or not os.access(folder, os.W_OK):
        raise DataError(f"{path} cannot be written: {'it is a folder' if path.is_dir() else 'permission denied'}.")


def _plain_columns(model: FBTWSVM, target: str) -> Columns:
    count = model.n_features_in_
    names = list(getattr(model, "feature_names_in_", numbered_names(count)))
    labels = {"i": "whole", "u": "whole", "f": "number", "b": "truth"}.get(model.classes_.dtype.kind, "text")
    choices = Choices(target=target, scale="none", precision=str(np.dtype(model_of(model).dtype)))
    zero, one = np.zeros(count), np.ones(count)
    columns = [Column(name, None, 0.0) for name in names]
    return Columns(choices, columns, labels, zero, one, zero, one, recent=np.zeros((2, count)))
