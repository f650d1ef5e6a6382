"""Rows from binary files: Parquet, Arrow, .npy and .npz, in batches."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq

from .base import DataError, FileSource, numbered_table, one_line

_BATCH = 65_536  # rows
_MOST_VALUES = 4_000_000


class ParquetSource(FileSource):
    """A Parquet file."""

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        try:
            with papq.ParquetFile(self.name) as file:
                self.n_rows = file.metadata.num_rows
                self.rows_done = 0
                for batch in file.iter_batches(batch_size=_BATCH):
                    self.rows_done += batch.num_rows
                    yield pa.Table.from_batches([batch])
        except pa.ArrowInvalid as error:
            raise DataError(f"{self.name} cannot be read as Parquet: {one_line(error)}") from error


class ArrowSource(FileSource):
    """An Arrow file (also called Feather) or Arrow stream."""

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        try:
            with pa.memory_map(self.name) as file:
                try:
                    reader = pa.ipc.open_file(file)
                    batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
                except pa.ArrowInvalid:
                    file.seek(0)
                    batches = iter(pa.ipc.open_stream(file))
                for batch in batches:
                    yield pa.Table.from_batches([batch])
        except pa.ArrowInvalid as error:
            raise DataError(f"{self.name} cannot be read as Arrow: {one_line(error)}") from error


class NumpySource(FileSource):
    """A matrix in an .npy file, or X and y in an .npz file: columns x0, x1, ... and the label y.

    In a name like ``letter.npz:train`` the arrays are X_train and y_train.
    """

    def __init__(self, path: str, part: str = "", matrix: bool = False) -> None:
        super().__init__(path)
        self.name = f"{path}:{part}" if part else path
        self.part = part
        self.matrix = matrix

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        try:
            pieces = self._matrix() if self.matrix else self._pair()
            for X, y in pieces:
                self.rows_done += len(X)
                yield numbered_table(_native(X), None if y is None else _native(y))
        except (ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{self.name} cannot be read: {one_line(error)}") from error

    def _matrix(self) -> Iterator[tuple[Any, Any]]:
        X = np.load(self.path, mmap_mode="r", allow_pickle=False)
        self._check(X.shape, X.dtype)
        step = max(1, _MOST_VALUES // X.shape[1])
        for first in range(0, len(X), step):
            yield np.array(X[first : first + step]), None

    def _pair(self) -> Iterator[tuple[Any, Any]]:
        """Read both arrays of an .npz piece by piece."""
        suffix = f"_{self.part}" if self.part else ""
        with zipfile.ZipFile(self.path) as archive:
            names = {name.removesuffix(".npy") for name in archive.namelist()}
            if not {f"X{suffix}", f"y{suffix}"} <= names:
                hint = f" Name a part, as in {self.path}:train." if "X_train" in names and not self.part else ""
                raise DataError(f"{self.path} holds {', '.join(sorted(names))}, not X{suffix} and y{suffix}.{hint}")
            with archive.open(f"X{suffix}.npy") as rows, archive.open(f"y{suffix}.npy") as labels:
                x_shape, x_type, by_columns = _header(rows, self.name)
                y_shape, y_type, _ = _header(labels, self.name)
                self._check(x_shape, x_type)
                if y_shape != x_shape[:1]:
                    raise DataError(f"{self.name}: X has shape {x_shape} and y {y_shape}.")
                matrix = None
                if by_columns:  # as pandas writes it: then rows are complete only when all of it is read
                    matrix = _next(rows, x_shape[0] * x_shape[1], x_type).reshape(x_shape, order="F")
                step = max(1, _MOST_VALUES // x_shape[1])
                for first in range(0, x_shape[0], step):
                    n = min(step, x_shape[0] - first)
                    if matrix is None:
                        X = _next(rows, n * x_shape[1], x_type).reshape(n, x_shape[1])
                    else:
                        X = matrix[first : first + n]
                    yield X, _next(labels, n, y_type)

    def _check(self, shape: tuple[int, ...], dtype: Any) -> None:
        if len(shape) != 2 or not shape[1] or dtype.kind not in "fiub":
            raise DataError(
                f"{self.name} holds an array of shape {shape} and type {dtype}; it must be a matrix of numbers."
            )
        self.n_rows = shape[0]
        self.rows_done = 0


def _native(array: Any) -> Any:
    """Return an array as Arrow can hold it: in the byte order of this machine, at most float64."""
    too_long = array.dtype.kind == "f" and array.dtype.itemsize > 8
    return array.astype(np.float64 if too_long else array.dtype.newbyteorder("="), copy=False)


def _header(file: Any, name: str) -> tuple[tuple[int, ...], Any, bool]:
    """Read shape and type of an array, and whether it is stored by columns."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = read(file)
    if dtype.hasobject:
        raise DataError(f"{name} holds Python objects, which are not read. Save numbers or strings.")
    return shape, dtype, by_columns and len(shape) > 1


def _next(file: Any, count: int, dtype: Any) -> Any:
    """Read the next `count` numbers."""
    data = file.read(count * dtype.itemsize)
    if len(data) != count * dtype.itemsize:
        raise EOFError("the file ends too early")
    return np.frombuffer(data, dtype=dtype)
