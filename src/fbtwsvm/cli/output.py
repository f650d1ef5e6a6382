"""What the command prints: facts, tables, JSON, progress, and one line for each message."""

from __future__ import annotations

import errno
import json
import logging
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rich.console import Console
from rich.table import Table

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
Report = Callable[..., None]  # of progress: called with (rows, score=None, share=None)
# Control characters, marks that reverse the direction of writing, and halves of characters, which cannot be printed.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: Any) -> str:
    r"""Return a text as a terminal may get it: what could command the terminal is written as an escape, \x1b.

    Labels, names of columns and files come from strangers.  All that the command prints passes through here.
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


def say(text: str = "") -> None:
    """Print one line of the result."""
    print(visible(text))


def print_json(result: dict[str, Any]) -> None:
    """Print a result for other programs."""
    print(json_line(result))


def json_line(value: Any) -> str:
    """Return a value as JSON in one line, with control characters as escapes."""
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, default=str)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it; NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # an array, or a number of NumPy
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_facts(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """Print a title and below it names with their values."""
    say(title)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 2))
    table.add_column(style="dim")
    table.add_column()
    for name, value in facts:
        table.add_row(visible(name), visible(value))
    _print(table)


def print_table(title: str, header: list[str], rows: Iterable[Iterable[Any]]) -> None:
    """Print a table."""
    say()
    say(title)
    table = Table(header_style="")
    for name in header:
        table.add_column(visible(name), justify="right", overflow="fold")
    for row in rows:
        table.add_row(*map(visible, row))
    _print(table)


def _print(table: Table) -> None:
    """Print a table whose texts are what they are: no markup, no names of emoji."""
    Console(markup=False, emoji=False, highlight=False).print(table)


def mebibytes(size: float) -> str:
    """Return a number of bytes in MiB."""
    count = size / 2**20
    return f"{count:,.1f} MiB" if count >= 0.1 else f"{count:.2g} MiB"


def few(names: list[str], most: int, rest: str = ", ...") -> str:
    """Return the first names as one string, and `rest` if there are more; {} in it is how many."""
    return ", ".join(names[:most]) + (rest.format(len(names) - most) if len(names) > most else "")


def log(message: str) -> None:
    """Print a message that is not the result, on the error stream."""
    print(f"fbtwsvm: {visible(message)}", file=sys.stderr, flush=True)


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning in one line."""
    log("warning: " + " ".join(str(message).split()))


@contextmanager
def plain_messages() -> Iterator[None]:
    """Print warnings, and messages of the library that cannot wait, in one line each."""
    warnings.showwarning = show_warning
    handler, library = _Lines(logging.WARNING), logging.getLogger("fbtwsvm")
    library.addHandler(handler)
    try:
        yield
    finally:
        library.removeHandler(handler)


class _Lines(logging.Handler):
    """Prints messages of the library."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        log(record.getMessage())


@contextmanager
def naming_full_disk(output: object) -> Iterator[None]:
    """Name the output (- for standard output) for which there is no space left; reading never fails like that."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        from ..data.sources import DataError

        name = "Standard output" if output == "-" else output
        raise DataError(f"{name} could not be written: {error.strerror}.") from error


@contextmanager
def progress(quiet: bool = False) -> Iterator[Report]:
    """Show a progress bar over rows on a terminal; elsewhere nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda rows, score=None, share=None: None
        return
    from .._progress import stream_bar

    with stream_bar(None) as report:
        yield report


def fit_progress(quiet: bool = False) -> AbstractContextManager[None]:
    """Show a progress bar over a fit on a terminal; elsewhere nothing."""
    if quiet or not sys.stderr.isatty():
        return nullcontext()
    from .._progress import fit_bar

    return fit_bar()
