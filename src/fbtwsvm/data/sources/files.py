"""Rows from binary files: Parquet, Arrow, .npy and .npz, in batches."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq

from .arrow_messages import largest_unpacked_batch
from .base import (
    MOST_CHUNK_BYTES,
    MOST_COLUMNS,
    MOST_LABEL_LETTERS,
    MOST_VALUES,
    DataError,
    FileSource,
    distinct,
    numbered_table,
    sentence,
)
from .row_sizes import bounded, fixed_bytes, is_nested, is_text

_MOST_ROWS = 65_536  # of one batch
_BATCH_BYTES = 32 * 2**20  # of the numbers of one batch
_BOMB = 100  # a group of rows that unpacks to so many times its bytes, and to more than a chunk may have, is refused


class ParquetSource(FileSource):
    """A Parquet file."""

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        try:
            with papq.ParquetFile(self.path) as file:
                schema = file.schema_arrow
                self._check(file.metadata, schema)
                self.n_rows = file.metadata.num_rows
            self.column_names = schema.names
            self.rows_done = 0
            # texts come as dictionaries first, so that a long one that is repeated is in memory once
            texts = [field.name for field in schema if is_text(field.type)]
            flat = [field.name for field in schema if not is_nested(field.type)]
            numbers = set(flat) - set(texts)
            width = sum(fixed_bytes(field.type) for field in schema if field.name in numbers) + 1
            rows = max(1, min(_MOST_ROWS, _BATCH_BYTES // width))
            options = {"read_dictionary": texts, "pre_buffer": False, "buffer_size": 2**20}
            with papq.ParquetFile(self.path, **options) as file:
                for batch in file.iter_batches(batch_size=rows, columns=flat):
                    for table in bounded(pa.Table.from_batches([batch]), schema, self.name, self.rows_done):
                        self.rows_done += table.num_rows
                        yield table
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno:
                raise
            raise DataError(f"{self.name} cannot be read as Parquet: {sentence(error)}") from error

    def _check(self, metadata: Any, schema: Any) -> None:
        """Refuse what would not fit into memory."""
        _check_columns(schema.names, self.name)
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            columns = [group.column(k) for k in range(group.num_columns)]
            packed = sum(max(column.total_compressed_size, 1) for column in columns)
            unpacked = sum(column.total_uncompressed_size for column in columns)
            if unpacked > max(MOST_CHUNK_BYTES, _BOMB * packed):
                raise DataError(
                    f"{self.name}: group {number + 1} of its rows takes {packed:,} bytes and would unpack to "
                    f"{unpacked:,}. Write it in smaller groups of rows."
                )


class ArrowSource(FileSource):
    """An Arrow file (also called Feather) or Arrow stream; a file is read as the stream that it holds."""

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        rows = 0
        try:
            with pa.memory_map(self.path) as file:
                start = 8 if file.read(6) == b"ARROW1" else 0
                file.seek(start)
                unpacked = largest_unpacked_batch(file)
                if unpacked > MOST_CHUNK_BYTES:
                    raise DataError(
                        f"{self.name} has a batch of rows that would unpack to {unpacked:,} bytes, more than the "
                        f"{MOST_CHUNK_BYTES:,} that are read at once. Write it in smaller batches."
                    )
                file.seek(start)
                reader = pa.ipc.open_stream(file)
                self.column_names = reader.schema.names
                _check_columns(self.column_names, self.name)
                for batch in reader:
                    for table in bounded(pa.Table.from_batches([batch]), reader.schema, self.name, rows):
                        rows += table.num_rows
                        yield table
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno:
                raise
            raise DataError(f"{self.name} cannot be read as Arrow: {sentence(error)}") from error


def _check_columns(names: list[str], source: str) -> None:
    if len(names) > MOST_COLUMNS:
        raise DataError(f"{source} has {len(names):,} columns; at most {MOST_COLUMNS:,} are read.")
    distinct(names, source)


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
        except (ValueError, EOFError, zipfile.BadZipFile, KeyError, zlib.error, NotImplementedError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{self.name} cannot be read: {sentence(error)}") from error

    def _matrix(self) -> Iterator[tuple[Any, Any]]:
        X = np.load(self.path, mmap_mode="r", allow_pickle=False)
        self._check(X.shape, X.dtype)
        step = max(1, MOST_VALUES // X.shape[1])
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
                if y_type.kind not in "fiubUS" or y_type.itemsize > 4 * MOST_LABEL_LETTERS:
                    raise DataError(
                        f"{self.name}: y has type {y_type}; labels are numbers, or texts of up to {MOST_LABEL_LETTERS} "
                        "letters."
                    )
                matrix = None
                if by_columns:  # as pandas writes it: then rows are complete only when all of it is read
                    self._check_whole(x_shape, x_type)
                    matrix = _next(rows, x_shape[0] * x_shape[1], x_type).reshape(x_shape, order="F")
                step = max(1, MOST_VALUES // x_shape[1])
                for first in range(0, x_shape[0], step):
                    n = min(step, x_shape[0] - first)
                    if matrix is None:
                        X = _next(rows, n * x_shape[1], x_type).reshape(n, x_shape[1])
                    else:
                        X = matrix[first : first + n]
                    yield X, _next(labels, n, y_type)

    def _check_whole(self, shape: tuple[int, ...], dtype: Any) -> None:
        size = shape[0] * shape[1] * dtype.itemsize
        if size > MOST_CHUNK_BYTES:
            raise DataError(
                f"{self.name} is stored by columns, so it must be read whole, and has {size:,} bytes, more than "
                f"{MOST_CHUNK_BYTES:,}. Save it by rows: np.savez(file, X=np.ascontiguousarray(X), y=y)."
            )

    def _check(self, shape: tuple[int, ...], dtype: Any) -> None:
        if len(shape) != 2 or not shape[1] or dtype.kind not in "fiub":
            raise DataError(
                f"{self.name} holds an array of shape {shape} and type {dtype}; it must be a matrix of numbers."
            )
        if shape[1] > MOST_COLUMNS:
            raise DataError(f"{self.name} has {shape[1]:,} columns; at most {MOST_COLUMNS:,} are read.")
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
