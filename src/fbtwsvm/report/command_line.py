"""The command line as a report shows it: ready to copy, without user names and passwords."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

_SCHEME = re.compile(r"(?<![\w+.-])[A-Za-z][\w+.-]+:/{0,2}(?!/)")
_OPTIONS = re.compile(r"[?&](?:query|table|stream)=")  # what follows the place of a server
_SECRETS = re.compile(r"\b(user(?:name)?|\w*passw(?:or)?d|pwd|secret|token)=[^&\s]*", re.IGNORECASE)


def shown_command(arguments: Sequence[str]) -> str:
    """Return the command with its arguments, quoted for a shell, without secrets."""
    return shlex.join(["fbtwsvm", *map(without_secrets, arguments)])


def without_secrets(address: str) -> str:
    """Return an address with *** for user name and password; a text that is not an address stays as it is.

    It hides too much rather than too little: a password may hold any character, also @ and ?.

    Examples
    --------
    >>> from fbtwsvm.report.command_line import without_secrets
    >>> without_secrets("redis://joe:pa@ss@host/0?stream=rows")
    'redis://***@host/0?stream=rows'
    """
    scheme = _SCHEME.search(address)
    if scheme is None:
        return address
    options = _OPTIONS.search(address, scheme.end())
    end = len(address) if options is None else options.start()
    at = address.rfind("@", scheme.end(), end)
    if at >= 0:
        address = f"{address[: scheme.end()]}***{address[at:]}"
    return _SECRETS.sub(r"\1=***", address)
