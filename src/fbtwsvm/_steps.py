"""Long work in pieces: a generator yields between the pieces and returns its result."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from ._threads import one_blas_thread

Result = TypeVar("Result")
Steps = Generator[None, None, Result]


def finish(steps: Steps[Result]) -> Result:
    """Do all pieces at once; return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def one_thread_each(steps: Steps[Result]) -> Steps[Result]:
    """Do each piece with one BLAS thread."""
    while True:
        with one_blas_thread():
            try:
                next(steps)
            except StopIteration as end:
                result: Result = end.value
                return result
        yield
