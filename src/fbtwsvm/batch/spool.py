"""Rows that do not fit into memory: chunks, written once to a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import Array

Checked = tuple[Array, Array]


def are_chunks(X: Any, y: Any) -> bool:
    """Whether `fit` was given chunks instead of rows: an iterable of (X, y) pairs, and no labels."""
    is_rows = hasattr(X, "shape") or hasattr(X, "__array__") or sp.issparse(X) or isinstance(X, str | bytes)
    return y is None and not is_rows and hasattr(X, "__iter__") and _first_is_pair(X)


def _first_is_pair(X: Any) -> bool:
    if iter(X) is X:
        return True  # an iterator: reading would consume it, and `chunks_of` refuses it anyway
    first = next(iter(X), None)
    return isinstance(first, tuple) and len(first) == 2 and hasattr(first[0], "__len__")


def chunks_of(X: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the chunks; raise ValueError for an iterator, which cannot be read again."""
    if iter(X) is X:
        raise ValueError(
            "fit was given an iterator, which can be read only once. Give it a list of (X, y) chunks, or an object "
            "whose __iter__ starts again from the first chunk; or learn from the iterator with partial_fit, chunk by "
            "chunk."
        )
    for number, chunk in enumerate(X):
        if not (isinstance(chunk, tuple) and len(chunk) == 2):
            raise ValueError(f"Chunk {number} is not a pair (X, y) but {type(chunk).__name__}.")
        yield chunk


def code_type(count: int) -> np.dtype:
    """Return a small integer type that can number so many classes."""
    return np.dtype(np.int16 if count < 2**15 else np.int64)


class CodedLabels:
    """Labels of very many rows, as numbers of their names; an index or a slice returns labels."""

    def __init__(self, chunks: list[tuple[Array, Array]]) -> None:
        """Join chunks of (names, codes)."""
        self.names = np.unique(np.concatenate([names for names, _ in chunks]))
        self.codes = np.empty(sum(len(codes) for _, codes in chunks), dtype=code_type(len(self.names)))
        first = 0
        for names, codes in chunks:
            self.codes[first : first + len(codes)] = np.searchsorted(self.names, names)[codes]
            first += len(codes)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> Array:
        labels: Array = self.names[self.codes[index]]
        return labels


class Spool:
    """Rows in a temporary file, read by slice or by index.

    Examples
    --------
    >>> import numpy as np
    >>> from fbtwsvm.batch.spool import Spool
    >>> rows = Spool([(np.ones((2, 3)), np.array([0, 1])), (np.zeros((1, 3)), np.array([1]))], lambda X, y: (X, y))
    >>> rows.shape, rows.y[:].tolist(), rows[[2, 0]][:, 0].tolist()
    ((3, 3), [0, 1, 1], [0.0, 1.0])
    """

    def __init__(self, chunks: Iterable[tuple[Any, Any]], check: Callable[[Any, Any], Checked]) -> None:
        self._file = tempfile.TemporaryFile(prefix="fbtwsvm")  # noqa: SIM115 (open as long as the spool is)
        self.dtype = np.dtype(np.float64)
        labels: list[tuple[Array, Array]] = []
        n_columns = 0
        try:
            for number, (X, y) in enumerate(chunks):
                if not len(y):
                    continue
                try:
                    rows, chunk_labels = check(X, y)
                except ValueError as error:
                    raise ValueError(f"Chunk {number}: {error}") from error
                if labels and chunk_labels.dtype.kind != labels[0][0].dtype.kind:
                    kinds = f"{labels[0][0].dtype} in the first chunk, {chunk_labels.dtype} in a later one"
                    raise ValueError(f"Labels must be of one kind in all chunks, got {kinds}.")
                self.dtype = self.dtype if labels else rows.dtype
                n_columns = rows.shape[1]
                np.ascontiguousarray(rows, dtype=self.dtype).tofile(self._file)
                names, codes = np.unique(chunk_labels, return_inverse=True)
                labels.append((names, codes.astype(code_type(len(names)))))
            if not labels:
                raise ValueError("fit was given no chunks.")
            self._file.flush()
        except BaseException:
            self.close()
            raise
        self.y = CodedLabels(labels)
        self.shape = (len(self.y), n_columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Array:
        rows = np.memmap(self._file, dtype=self.dtype, mode="r", shape=self.shape)  # for this call only
        return np.array(rows[index])

    def close(self) -> None:
        """Close the file, which removes it."""
        self._file.close()
