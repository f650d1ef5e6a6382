"""Progress bars for streams and searches (need rich)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextmanager
def steps(total: int) -> Iterator[Callable[[str], None]]:
    """Show a progress bar on the error stream; call the value with a text after each step."""
    columns = (
        BarColumn(bar_width=24),
        TextColumn("{task.completed} of {task.total}  {task.description}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda text: progress.update(task, advance=1, description=text)


@contextmanager
def bar(total: int | None) -> Iterator[Callable[..., None]]:
    """Show a progress bar over `total` chunks on the error stream.

    Call the value after each chunk with the rows so far and their score.  If the number of chunks is not known, also
    pass the share of the source that has been read.
    """
    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("0 rows", total=total)
        start: list[Any] = []

        def advance(rows: int, score: Any = None, share: float | None = None) -> None:
            if not start:
                start[:] = [perf_counter(), rows]
            correct = int(score.counts.trace()) if score is not None else 0
            accuracy = f", accuracy {correct / score.tested:.3f}" if score is not None and score.tested else ""
            speed = (rows - start[1]) / max(perf_counter() - start[0], 1e-9)
            rate = f", {speed:,.0f} rows/s" if rows > start[1] else ""
            text = f"{rows:,} rows{rate}{accuracy}"
            if total is not None:
                progress.update(task, advance=1, description=text)
            elif share is not None:
                progress.update(task, completed=share, total=1.0, description=text)
            else:
                progress.update(task, description=text)

        yield advance
