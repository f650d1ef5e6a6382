"""Progress bars for streams and searches (need rich)."""

from __future__ import annotations

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
def step_bar(total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar over a number of steps; call its value with a text after each step."""
    with _bar("{task.completed} of {task.total}  {task.description}") as progress:
        task = progress.add_task("", total=total)
        yield lambda text: progress.update(task, advance=1, description=text)


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
