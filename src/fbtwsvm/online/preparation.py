"""A model that is prepared piece by piece while another one answers: at the end of a warm-up, or with new landmarks.

One piece of work is done for each row that comes, so that no call takes long.  The rows that come meanwhile wait; when
the model is complete it learns them, a few for each new row, and then takes over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from .._log import warn
from .._steps import Steps
from ..model.rows import CheckedRows
from ..model.settings import Parameters

_CATCH_UP = 2  # waiting rows that are learned for each new row

Work = Generator[None, "CheckedRows | None", Any]


class _Progress:
    """A generator at work and the number of rows that it was sent; nothing of it is copied or pickled."""

    def __init__(self) -> None:
        self.work: Work | None = None
        self.n_rows = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Progress, ())


@dataclass(frozen=True)
class Preparation:
    """A model in preparation; never changed, so that a call that fails leaves it as it was.

    begin, arguments  a function that returns the work in pieces, and its arguments
    parameters        with which waiting rows are learned
    rows              those that have come since the work began, one by one
    progress          the work itself; if it does not fit the rows (after a failed call, in a copy), it is begun again
    """

    begin: Callable[..., Steps[Any]]
    arguments: tuple[Any, ...]
    parameters: Parameters
    rows: tuple[CheckedRows, ...] = ()
    progress: _Progress = field(default_factory=_Progress)

    def after(self, row: CheckedRows) -> Preparation | Any:
        """Do a piece of work and let a row wait, or be learned.

        Returns the preparation, or the model if it is ready; None if there will be none.
        """
        work = self._work()
        self.progress.n_rows += 1
        try:
            work.send(row)
        except StopIteration as end:
            return end.value
        return Preparation(self.begin, self.arguments, self.parameters, (*self.rows, row), self.progress)

    def copy(self) -> Preparation:
        """Return a copy, which does the work again that was done so far."""
        return Preparation(self.begin, self.arguments, self.parameters, self.rows)

    def with_parameters(self, arguments: tuple[Any, ...], parameters: Parameters) -> Preparation:
        """Return a preparation of the same rows with other arguments and parameters."""
        return Preparation(self.begin, arguments, parameters, self.rows)

    def finished(self) -> Any:
        """Do all that is left at once; return the model."""
        work = self.copy()._work()
        try:
            work.send(None)
        except StopIteration as end:
            return end.value
        raise RuntimeError("A preparation did not end.")

    def _work(self) -> Work:
        """Return the work as it stands after the rows so far."""
        progress = self.progress
        if progress.work is None or progress.n_rows != len(self.rows):
            work = _in_pieces(self.begin(*self.arguments), self.parameters)
            next(work)
            for row in self.rows:
                work.send(row)
            progress.work, progress.n_rows = work, len(self.rows)
        return progress.work


def _in_pieces(build: Steps[Any], parameters: Parameters) -> Work:
    """Build a model, one piece for each row that is sent, and let it learn these rows; None ends all at once."""
    waiting: deque[CheckedRows] = deque()
    model, hurry = None, False
    while model is None or waiting:
        if not hurry:
            row = yield
            hurry = row is None
            if row is not None:
                waiting.append(row)
        if model is None:
            try:
                next(build)
            except StopIteration as end:
                model = end.value
                if model is None:  # there is nothing to take over
                    return None
        else:
            for _ in range(min(_CATCH_UP, len(waiting))):
                row = waiting.popleft()
                if model.takes(row, parameters):
                    model = model.learn(row, parameters)
                    model.publish()
                else:
                    warn(
                        "A row that came while a feature map was prepared was left out: in that map it weighs so much "
                        "that all others would be lost next to it. Leave such rows out, or scale them.",
                        UserWarning,
                    )
    return model
