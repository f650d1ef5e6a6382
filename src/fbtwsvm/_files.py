"""Files that are replaced in one step: readers see the old content or the new, never a part of it."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

_STALE = 600  # seconds after which a temporary file that nobody holds is taken for one that a killed process left
_NO_SYNC = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EACCES)  # a folder that cannot be synced, or not by us


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when all is written and synced, and is removed after an error.

    The temporary file has a random name of its own, which never follows a link, and only its owner may read it.  The
    finished file has the permissions of the one it replaces; a new one has those of any new file (the umask).
    """
    target = Path(path)
    if target.is_symlink():
        target = target.resolve()  # replace the file, not the link
    _check(target)
    _sweep(target)
    handle, temporary = tempfile.mkstemp(".tmp", f".{target.name}.", target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            _hold(handle)
            yield file
            file.flush()
            if hasattr(os, "fchmod"):
                os.fchmod(handle, _permissions(target))
            os.fsync(handle)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _check(target: Path) -> None:
    """Refuse a place where no file can be written, with words."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} in: make it first.")
    if target.exists() and not target.is_file():
        raise OSError(f"{target} is not a file, so it cannot be replaced by one.")


def _permissions(target: Path) -> int:
    """Return the permissions of the file to replace, or of a new file in its folder."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(target.stat().st_mode)
    # The umask can only be read by changing it, also for other threads; so make an empty file, and look at that.
    probe = target.with_name(f".{target.name}.{os.urandom(8).hex()}.tmp")
    handle = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        return stat.S_IMODE(os.fstat(handle).st_mode)
    finally:
        os.close(handle)
        probe.unlink()


def _hold(handle: int) -> bool:
    """Lock a temporary file as long as it is open; return whether that worked.  A killed process holds nothing."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sweep(target: Path) -> None:
    """Remove temporary files of writers of this file that were killed."""
    for temporary in target.parent.glob(f".{_without_wildcards(target.name)}.*.tmp"):
        with suppress(OSError):  # another process may have removed it, or it belongs to somebody else
            status = temporary.lstat()
            if not stat.S_ISREG(status.st_mode) or time.time() - status.st_mtime <= _STALE:
                continue
            handle = os.open(temporary, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            try:
                abandoned = _hold(handle)
            finally:
                os.close(handle)
            if abandoned:
                temporary.unlink()


def _without_wildcards(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the new name is on disk; not all systems can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
