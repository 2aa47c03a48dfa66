"""Ownership of drafts, by a lock that ends with its process, however the process ends."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from guardtui.files.file_locks import FileLock, Timeout


class DraftLock:
    """A name owned by this object until it is released, by a lock on a file.

    The operating system frees the lock when the process ends, even after kill -9.
    """

    def __init__(self, folder: Path) -> None:
        """Claim a new name in `folder`. Raises OSError if no file can be created there."""
        folder.stat()  # which is not created
        self.name = secrets.token_hex(8)
        self._folder = folder
        # Deleting it frees the lock; one worker may claim the name, and another release it.
        self._lock = FileLock(_path(folder, self.name), timeout=0, thread_local=False)
        try:
            self._lock.acquire()
        except OSError:  # of a file system without locks
            forget(folder, self.name)
            raise

    def release(self) -> None:
        """Release the name. Must be called once."""
        self._lock.release()
        forget(self._folder, self.name)


def is_held(folder: Path, name: str) -> bool:
    """Return whether a running process holds this name. Raises ValueError for an odd name."""
    path = _path(folder, name)
    if not path.exists():
        return False
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def forget(folder: Path, name: str) -> None:
    """Remove the file that a dead process left behind."""
    with contextlib.suppress(OSError):
        _path(folder, name).unlink()


def _path(folder: Path, name: str) -> Path:
    if not (isinstance(name, str) and name.isalnum()):  # of a damaged file
        raise ValueError("not the name of a draft")
    return folder / f"draft-{name}.lock"
