"""Replace files in one step: a reader gets the old content or the new, never a part of it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_STALE = 600  # seconds after which a temporary file counts as left behind


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` once it is written and synced; it is removed on an error."""
    target = Path(path)
    if target.is_symlink():
        target = target.resolve()  # the link stays a link
    _sweep(target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(temporary, target.stat().st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sweep(target: Path) -> None:
    """Remove temporary files of this target whose writers were killed."""
    for stale in target.parent.glob(f".{_without_wildcards(target.name)}.*.tmp"):
        with suppress(OSError):  # another process may have removed it
            if time.time() - stale.stat().st_mtime > _STALE:
                stale.unlink()


def _without_wildcards(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the new name survives a crash; some systems cannot."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
