"""Progress bars for streams, fits and searches (need rich)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn


def _bar(text: str) -> Progress:
    """Return a bar on the error stream, with this text and the time that has passed and is left."""
    times = (TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
    columns = (SpinnerColumn(), BarColumn(bar_width=24), TextColumn(text), *times)
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def step_bar(total: int) -> Iterator[Callable[..., None]]:
    """Show a bar over a number of steps.

    Call its value with a text after each step, or with `more` steps that have turned out to be needed.
    """
    with _bar("{task.completed} of {task.total}  {task.description}") as progress:
        task = progress.add_task("", total=total)
        steps = total

        def report(text: str = "", *, more: int = 0) -> None:
            nonlocal steps
            steps += more
            if more:
                progress.update(task, total=steps)
            else:
                progress.update(task, advance=1, description=text)

        yield report


@contextmanager
def stream_bar(total: int | None) -> Iterator[Callable[..., None]]:
    """Show a bar over the chunks of a stream.

    Call its value after each chunk with the rows so far and their score.  Where the number of chunks is not known, also
    pass the share of the source that has been read.
    """
    with _bar("{task.description}") as progress:
        task = progress.add_task("0 rows", total=total)
        start: list[Any] = []  # time and number of rows at the first call

        def report(rows: int, score: Any = None, share: float | None = None) -> None:
            if not start:
                start[:] = [perf_counter(), rows]
            text = f"{rows:,} rows"
            if rows > start[1]:
                text += f", {(rows - start[1]) / max(perf_counter() - start[0], 1e-9):,.0f} rows/s"
            if score is not None and score.tested:
                text += f", accuracy {score.counts.trace() / score.tested:.3f}"
            if total is not None:
                progress.update(task, advance=1, description=text)
            elif share is not None:
                progress.update(task, completed=share, total=1.0, description=text)
            else:
                progress.update(task, description=text)

        yield report


@contextmanager
def fit_bar() -> Iterator[None]:
    """Show a bar over a fit: its last message and, while planes are solved, for how many classes they are."""
    log = logging.getLogger("fbtwsvm")
    level = log.level
    with _bar("{task.description}") as progress:
        progress.add_task("learning", total=None)
        handler = _Messages(progress)
        log.addHandler(handler)
        log.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            log.removeHandler(handler)
            log.setLevel(level)


class _Messages(logging.Handler):
    """Shows messages of the library as the text of a bar; "3 of 10" in a message moves the bar."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self.progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message."""
        text = record.getMessage()
        counted = re.search(r"(\d+) of (\d+)", text)
        (task,) = self.progress.tasks
        task.total = int(counted[2]) if counted else None  # None: how much is left is not known
        self.progress.update(task.id, completed=int(counted[1]) if counted else 0, description=text)
