"""Files of one command that must not be the same: what it writes, and what it reads."""

from __future__ import annotations

import os
import re
import stat
from itertools import combinations
from pathlib import Path

import typer

_STANDARD_INPUT = 0


def refuse_same_files(files: dict[str, str | Path | None]) -> None:
    """Refuse arguments, of those that were given, that name one file, also through links.

    `files` are the arguments by their names; a source may be any address.
    """
    given = {name: _file(value) for name, value in files.items() if value is not None}
    for one, other in combinations(given, 2):
        if _same(given[one], given[other]):
            raise typer.BadParameter(f"{one} and {other} are the same file, {files[other]}: name another one")


def _file(value: str | Path) -> int | Path:
    """Return the file that an argument names; that of a database is in its address."""
    text = os.fspath(value)
    if text == "-":
        return _STANDARD_INPUT
    database = re.match(r"sqlite[a-z+]*:///([^?]+)", text, re.IGNORECASE)
    return Path(database[1] if database else re.sub(r"(?<=\.npz):\w+$", "", text))


def _same(one: int | Path, other: int | Path) -> bool:
    """Whether two names stand for one file, or will when it is written; pipes and devices may be named twice."""
    try:
        first, second = os.stat(one), os.stat(other)
    except OSError:  # at least one does not exist yet
        return isinstance(one, Path) and isinstance(other, Path) and one.resolve() == other.resolve()
    return stat.S_ISREG(first.st_mode) and os.path.samestat(first, second)
