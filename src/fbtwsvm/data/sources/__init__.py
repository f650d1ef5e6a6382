"""Sources of rows: files, pipes, databases, live streams and generators, read in chunks with constant memory.

====================================  =========================================================================
``rows.csv``, ``rows.tsv``            also .gz and .zst; the first line names the columns
``-``                                 CSV from standard input, compressed or not
``rows.parquet``, ``rows.arrow``      also .feather and .ipc
``rows.libsvm``, ``rows.svm``         label and index:value pairs; columns x0, x1, ..., label y
``rows.arff``                         nominal attributes are categories
``rows.npy``, ``rows.npz``            a matrix with columns x0, x1, ...; X and y (``rows.npz:train``: X_train, y_train)
``sqlite:///file.db?query=SELECT``    any SQLAlchemy address, with ``query=`` or ``table=``
``redis://host/0?stream=rows``        a live stream; ``&idle=10`` ends it after ten seconds without rows
``generate:sea?rows=100000&seed=1``   a generator, see :mod:`fbtwsvm.data.generators`
====================================  =========================================================================
"""

from __future__ import annotations

import os
import re
from typing import Any

try:
    import pyarrow  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError("Sources of rows need pyarrow: pip install 'fbtwsvm[table]'.") from error

from .address import masked
from .base import DataError, Source
from .chunks import in_chunks, joined

__all__ = ["FORMATS", "DataError", "Source", "in_chunks", "joined", "open_source"]

FORMATS = ("csv", "tsv", "arff", "libsvm", "parquet", "arrow", "npy", "npz")
_NOT_READ = ("http", "https", "ftp", "ftps", "sftp", "s3", "gs", "gcs", "az", "abfs", "abfss", "hdfs", "file")
_SUFFIXES = {"svm": "libsvm", "svmlight": "libsvm", "feather": "arrow", "ipc": "arrow", "pq": "parquet", "txt": "csv"}


def open_source(
    address: str,
    *,
    form: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    n_features: int | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    mark_malformed: bool = False,
) -> Source:
    """Open a source of rows by its address; nothing is read yet.

    Parameters
    ----------
    address : str
        A path, "-" for standard input, or an address as listed in :mod:`fbtwsvm.data.sources`.
    form : str, default=None
        Format, one of `FORMATS`; by default the name of the file decides.
    delimiter : str, default=None
        Separator of columns in text; by default the first line decides.
    header : bool, default=True
        Whether the first line of text names the columns.
    n_features : int, default=None
        Number of columns of libsvm text; by default that of the first megabyte.
    decimal : {".", ","}, default="."
        Decimal point of numbers in CSV and TSV.
    encoding : str, default=None
        Encoding of CSV and TSV, such as "latin-1"; by default UTF-8.
    mark_malformed : bool, default=False
        Whether a row of CSV, TSV or ARFF with too many or too few fields comes as a row without values, with what is
        wrong in a column ``_malformed``, instead of being an error.

    Returns
    -------
    Source
        The source; its `tables()` yield the rows.

    Examples
    --------
    >>> from fbtwsvm.data.sources import open_source
    >>> table = next(open_source("generate:sea?rows=3").tables())
    >>> table.column_names, table.num_rows
    (['x0', 'x1', 'x2', 'y'], 3)
    """
    source = _not_a_file(address)
    if source is None:
        path, part = address, ""
        if not os.path.exists(path) and re.search(r"\.npz:\w+$", path):
            path, _, part = path.rpartition(":")
        form = form or _form(path)
        _check_readable(path)
        if form in ("csv", "tsv"):
            from .delimited import DelimitedSource

            delimiter = delimiter or ("\t" if form == "tsv" else None)
            options: dict[str, Any] = {"decimal": decimal, "encoding": encoding, "mark_malformed": mark_malformed}
            return DelimitedSource(path, delimiter, header, **options)
        source = _other_file(path, part, form, n_features, mark_malformed)
    if decimal != "." or encoding is not None:
        raise DataError(f"--decimal and --encoding are for CSV and TSV, and {source.name} is neither.")
    return source


def _not_a_file(address: str) -> Source | None:
    """Return the server or generator that an address names, or None if it names a file."""
    found = re.match(r"([a-z][a-z0-9+]*):", address, re.IGNORECASE)
    scheme, rest = (found[1].lower(), address[found.end() :]) if found else ("", "")
    if scheme in ("redis", "rediss"):
        from .redis import RedisSource

        return RedisSource(f"{scheme}:{rest}")
    if scheme == "generate":
        from .generated import GeneratedSource

        return GeneratedSource(f"{scheme}:{rest}")
    if scheme in _NOT_READ:
        raise DataError(
            f"{masked(address)}: addresses of {scheme} are not read. Fetch the file first, or pipe it into the command "
            "(SOURCE is - then)."
        )
    if rest.startswith("//"):
        from .sql import SqlSource

        return SqlSource(f"{scheme}:{rest}")
    return None


def _form(path: str) -> str:
    """Return the format that the name of a file stands for."""
    if path == "-":
        return "csv"
    stem = re.sub(r"\.(gz|zst|zstd)$", "", path.lower())
    suffix = os.path.splitext(stem)[1].removeprefix(".")
    form = _SUFFIXES.get(suffix, suffix)
    if form not in FORMATS:
        raise DataError(
            f"{masked(path)}: the name does not tell the format. Add --format, one of {', '.join(FORMATS)}."
        )
    return form


def _check_readable(path: str) -> None:
    if path == "-":
        return
    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no file {masked(path)}.")
    if os.path.isdir(path):
        raise DataError(f"{path} is a folder, not a file.")


def _other_file(path: str, part: str, form: str, n_features: int | None, mark_malformed: bool) -> Source:
    from . import files
    from .arff import ArffSource
    from .libsvm import LibsvmSource

    match form:
        case "arff":
            return ArffSource(path, mark_malformed=mark_malformed)
        case "libsvm":
            return LibsvmSource(path, n_features)
        case "parquet":
            return files.ParquetSource(path)
        case "arrow":
            return files.ArrowSource(path)
        case "npy" | "npz":
            return files.NumpySource(path, part, matrix=form == "npy")
    raise DataError(f"{form!r} is not one of the formats {', '.join(FORMATS)}.")
