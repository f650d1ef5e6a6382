"""A progress bar for streams (needs rich)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextmanager
def bar(total: int | None) -> Iterator[Callable[[int, Any], None]]:
    """Show a bar over so many chunks on the error stream; call its value with rows and score after each."""
    columns = (
        SpinnerColumn(),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("0 rows", total=total)

        def tell(rows: int, score: Any) -> None:
            right = int(score.counts.trace())
            accuracy = f", accuracy {right / score.tested:.3f}" if score.tested else ""
            progress.update(task, advance=1, description=f"{rows:,} rows{accuracy}")

        yield tell
