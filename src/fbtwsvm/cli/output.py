"""What the command shows: tables, JSON, progress, warnings, errors in one line."""

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

from .._progress import bar

Tell = Callable[..., None]


def print_json(result: dict[str, Any]) -> None:
    """Print a result for other programs."""
    print(json.dumps(_plain(result), ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it; numbers that are none become null."""
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
    """Print names and values below each other."""
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


def say(message: str) -> None:
    """Say something that is not the result."""
    print(f"fbtwsvm: {message}", file=sys.stderr, flush=True)


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning in one line."""
    say("warning: " + " ".join(str(message).split()))


def plain_warnings() -> None:
    """Let warnings of the library be lines like all others."""
    warnings.showwarning = show_warning


@contextmanager
def progress(quiet: bool = False) -> Iterator[Tell]:
    """Show a progress bar on a terminal; elsewhere nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda rows, score=None, share=None: None
        return
    with bar(None) as tell:
        yield tell
