"""Ownership of drafts, by a lock that ends with its process, however the process ends."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl


class DraftLock:
    """A name owned by this object until it is released, by a lock on a file.

    The operating system frees the lock when the process ends, even after kill -9.
    """

    def __init__(self, folder: Path) -> None:
        """Claim a new name in `folder`. Raises OSError if no file can be created there."""
        self.name = secrets.token_hex(8)
        self._path = _path(folder, self.name)
        # A file object, because deleting it closes the file and frees the lock.
        self._file = self._path.open("xb")
        _lock(self._file.fileno())

    def release(self) -> None:
        """Release the name. Must be called once."""
        with contextlib.suppress(OSError):
            self._path.unlink()
        self._file.close()


def is_held(folder: Path, name: str) -> bool:
    """Return whether a running process holds this name. Raises ValueError for an odd name."""
    try:
        handle = os.open(_path(folder, name), os.O_RDWR)
    except OSError:
        return False
    try:
        return not _lock(handle)
    finally:
        os.close(handle)


def forget(folder: Path, name: str) -> None:
    """Remove the file that a dead process left behind."""
    with contextlib.suppress(OSError):
        _path(folder, name).unlink()


def _path(folder: Path, name: str) -> Path:
    if not (isinstance(name, str) and name.isalnum()):  # of a damaged file
        raise ValueError("not the name of a draft")
    return folder / f"draft-{name}.lock"


def _lock(handle: int) -> bool:
    if sys.platform == "win32":
        # No such lock here: drafts of other processes are offered too, which only copies them.
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
