"""A lock on a model file: of two commands that would change it, the second is refused.

The lock is one of the operating system, on a file ``.NAME.lock`` beside the model.  It ends with the process, however
that ends; after ``kill -9`` (and on Windows) the file stays, but does not lock anything.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..data.sources import DataError
from .output import log

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_FAR = 2**30  # on Windows the locked byte cannot be read, so it is none of the text
_HELD = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_HOW = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_MOST_TEXT = 1000  # bytes


@contextmanager
def locked(path: Path, command: str) -> Iterator[None]:
    """Keep other commands from changing a model file; `command` is what they are told about this one."""
    model = path.resolve()  # all links to a model have one lock
    place = model.with_name(f".{model.name}.lock")
    handle = _take(place, path)
    try:
        text = f"{command}, process {os.getpid()} on {socket.gethostname()}, since {time.strftime('%Y-%m-%d %H:%M:%S')}"
        os.ftruncate(handle, 0)
        os.write(handle, text.encode()[:_MOST_TEXT])
        yield
    finally:
        with suppress(OSError):  # while it is locked, so that whoever opened it before sees that it is gone
            place.unlink()
        os.close(handle)


def _take(place: Path, path: Path) -> int:
    """Open the lock file and lock it."""
    while True:
        handle = _open(place)
        try:
            _lock(handle, path)
            if _is_at(handle, place):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # its last owner has removed it since it was opened


def _open(place: Path) -> int:
    """Open the lock file, or make it; never another file through a link."""
    try:
        handle = os.open(place, _HOW, 0o600)
    except OSError as error:
        if not os.path.lexists(place):
            raise DataError(
                f"{place.parent} takes no new files ({error.strerror}), so no model can be written there. Name another "
                "folder."
            ) from error
        raise DataError(
            f"The lock file {place} cannot be opened: {error.strerror}. If no command uses the model, remove it."
        ) from error
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(handle)
        raise DataError(f"{place} is not a lock file of this command, but another file or a link: remove it.")
    return handle


def _lock(handle: int, path: Path) -> None:
    """Lock an open file, or say who has locked it."""
    try:
        if sys.platform == "win32":
            os.lseek(handle, _FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _HELD:
            log(f"warning: {path} cannot be locked ({error.strerror}): let only one command change it at a time")
            return
        os.lseek(handle, 0, os.SEEK_SET)
        holder = os.read(handle, _MOST_TEXT).decode(errors="replace")
        holder = "".join(letter if letter.isprintable() else "?" for letter in holder)
        raise DataError(
            f"{path} is in use by another command ({holder or 'it has just begun'}). Wait until it ends, or write to "
            "another file."
        ) from error


def _is_at(handle: int, place: Path) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(place, follow_symlinks=False))
    except FileNotFoundError:
        return False
