"""What the command prints: facts, tables, JSON, progress, and one line for each message."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from .._progress import stream_bar

Report = Callable[..., None]  # of progress: called with (rows, score=None, share=None)


def print_json(result: dict[str, Any]) -> None:
    """Print a result for other programs."""
    print(json.dumps(_plain(result), ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it; NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_facts(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """Print a title and below it names with their values."""
    print(title)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 2))
    table.add_column(style="dim")
    table.add_column()
    for name, value in facts:
        table.add_row(name, value)
    Console().print(table, markup=False)


def print_table(title: str, header: list[str], rows: Iterable[Iterable[Any]]) -> None:
    """Print a table."""
    print(f"\n{title}")
    table = Table(header_style="")
    for name in header:
        table.add_column(name, justify="right", overflow="fold")
    for row in rows:
        table.add_row(*map(str, row))
    Console().print(table, markup=False)


def mebibytes(size: float) -> str:
    """Return a number of bytes in MiB."""
    return f"{size / 2**20:.1f} MiB"


def few(names: list[str], most: int, rest: str = ", ...") -> str:
    """Return the first names as one string, and `rest` if there are more; {} in it is how many."""
    return ", ".join(names[:most]) + (rest.format(len(names) - most) if len(names) > most else "")


def log(message: str) -> None:
    """Print a message that is not the result, on the error stream."""
    print(f"fbtwsvm: {message}", file=sys.stderr, flush=True)


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning in one line."""
    log("warning: " + " ".join(str(message).split()))


def plain_warnings() -> None:
    """Print warnings of the library in one line each."""
    warnings.showwarning = show_warning


@contextmanager
def progress(quiet: bool = False) -> Iterator[Report]:
    """Show a progress bar on a terminal; elsewhere nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda rows, score=None, share=None: None
        return
    with stream_bar(None) as report:
        yield report
