"""Locks on files, which the operating system frees when their process ends."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from filelock import FileLock, Timeout

from guardtui.files.problems import FileError, from_os_error

__all__ = ["FileLock", "Timeout", "lock_error"]

# On a file system without locks it writes a file instead, which does as well.
warnings.filterwarnings("ignore", "flock not supported on this filesystem", UserWarning)


def lock_error(path: Path, lock: Path, error: OSError) -> FileError:
    """Return why a file cannot be locked; the lock beside it may be a link or a folder."""
    if lock.is_dir():
        return FileError(lock, "is a folder where a lock should be", "remove it, and try again")
    return from_os_error(lock if os.path.lexists(lock) else path, error)
