"""Removal of temporary files that killed processes left behind."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from guardtui.files.atomic import write_atomically
from guardtui.files.problems import FileError

_TEMPORARY = re.compile(r"\.(?P<name>[^/]+)\.[0-9a-f]{16}")


def write_shared(path: Path, data: bytes) -> None:
    """Write a file that another process may be writing too, with equivalent content.

    As `write_atomically`; it is no error if the other process was first and removed our temporary
    file as a leftover. Raises FileError.
    """
    try:
        write_atomically(path, data)
    except FileError as problem:
        if not (isinstance(problem.__cause__, FileNotFoundError) and path.is_file()):
            raise


def sweep(*folders: Path) -> int:
    """Remove temporary files whose target exists already; returns their number.

    A process that is still writing one loses nothing, because the existing target has equivalent
    content. Folders need not exist.
    """
    removed = 0
    for folder in folders:
        with contextlib.suppress(OSError):
            names = {entry.name for entry in os.scandir(folder)}
            for name in names:
                match = _TEMPORARY.fullmatch(name)
                if match is not None and match["name"] in names:
                    with contextlib.suppress(OSError):
                        (folder / name).unlink()
                        removed += 1
    return removed
