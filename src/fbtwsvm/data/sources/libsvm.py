"""Rows from text in libsvm format."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from .base import MOST_VALUES, DataError, numbered_table, sentence
from .text import LineCutter, TextSource


class LibsvmSource(TextSource):
    """Text in libsvm format, "label index:value ..." with indices from 1: columns x0, x1, ... and the label y.

    Without `n_features` the number of columns is that of the first megabyte.
    """

    def __init__(self, path: str, n_features: int | None = None) -> None:
        super().__init__(path)
        self.n_features = n_features
        self._count: int | None = None  # columns of this text

    def _read_head(self, text: bytes, ended: bool) -> int | None:
        """Find the number of columns, which are those of the complete lines of the first piece; there is no head."""
        lines, line_end, _ = text.rpartition(b"\n")
        if not (line_end or ended):
            return None
        self._count = _largest_index(lines + line_end or text) if self.n_features is None else self.n_features
        self._check_columns(self._count)
        return 0

    def _cutter(self) -> LineCutter:
        return LineCutter(lambda line: bool(line.partition(b"#")[0].strip()))

    def _parse(self, block: bytes, rows: int, count: int) -> Iterator[pa.Table]:
        X, y = self._read(block, rows)
        step = max(1, MOST_VALUES // max(X.shape[1], 1))
        for first in range(0, len(y), step):
            part = slice(first, first + step)
            yield numbered_table(X[part].toarray(), _integers(y[part]))

    def _read(self, block: bytes, rows: int) -> tuple[Any, Any]:
        """Return complete rows as a sparse matrix and labels."""
        from sklearn.datasets import load_svmlight_file  # slow to import

        try:
            X, y = load_svmlight_file(io.BytesIO(block), n_features=self._count, zero_based=False)
        except (ValueError, UnicodeDecodeError, OverflowError) as error:
            advice = " Give --n-features." if "n_features" in str(error) else ""
            raise DataError(
                f"{self.name}: row {rows + 1:,} cannot be read as libsvm text: {sentence(error)}{advice}"
            ) from error
        return X, y


def _largest_index(text: bytes) -> int:
    """Return the largest index of complete rows, also if some of them cannot be read; 0 if there is none."""
    rows = re.sub(rb"#[^\n]*", b"", text)
    return max((int(index[:9]) for index in re.findall(rb"\s(\d+):", rows)), default=0)


def _integers(labels: Any) -> Any:
    """Return labels as integers if they are all integers."""
    if not (np.abs(labels) < 2**53).all():
        return labels
    integers = labels.astype(np.int64)
    return integers if (integers == labels).all() else labels
