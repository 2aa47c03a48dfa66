"""Detection of changes of a file, without reading it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TypeAlias

Signature: TypeAlias = "tuple[int, int, int] | None"


def change_signature(path: Path) -> Signature:
    """Return mtime, size and inode of a file; None if missing or not a regular file."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
