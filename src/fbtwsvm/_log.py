"""Messages about what a fit is doing: the logger "fbtwsvm", printed where `verbose` asks for it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LOG = logging.getLogger("fbtwsvm")


@contextmanager
def shown(verbose: int) -> Iterator[None]:
    """Print the messages of a call: its steps from 1 on, those of the solver from 2 on."""
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
