"""Messages about the progress of a fit: the logger "fbtwsvm", printed if `verbose` is set, and warnings."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOG = logging.getLogger("fbtwsvm")


@contextmanager
def shown(verbose: int) -> Iterator[None]:
    """Print the messages of a call: its steps from `verbose` 1 on, the progress of the solver from 2 on."""
    if not verbose:
        yield
        return
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("[FBTWSVM] %(message)s"))
    level = LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO if verbose == 1 else logging.DEBUG)
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(level)


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and name the line outside this package that made the call."""
    inside = str(Path(__file__).parent)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
