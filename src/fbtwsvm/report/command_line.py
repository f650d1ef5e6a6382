"""The command line as a report shows it: ready to copy, without user names and passwords."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ..data.sources.address import masked


def shown_command(arguments: Sequence[str]) -> str:
    """Return the command with its arguments, quoted for a shell, without secrets."""
    return shlex.join(["fbtwsvm", *map(masked, arguments)])
