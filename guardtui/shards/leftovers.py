"""What killed processes left behind: files under temporary names, taken away when all is done."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from guardtui.files.atomic import write_atomically
from guardtui.files.problems import FileError

_TEMPORARY = re.compile(r"\.(?P<name>[^/]+)\.[0-9a-f]{16}")


def write_shared(path: Path, data: bytes) -> None:
    """Write a file that another process may be writing too, with the same meaning.

    As `write_atomically`; and where the other one was first and took our half of a file for a
    leftover, that is as good. Raises FileError.
    """
    try:
        write_atomically(path, data)
    except FileError as problem:
        if not (isinstance(problem.__cause__, FileNotFoundError) and path.is_file()):
            raise


def sweep(*folders: Path) -> int:
    """Remove files under temporary names whose work another process has finished; how many.

    A file is one of these when the name that it was to get is taken. Who still writes one loses
    nothing: what stands there is what it would have put there. Folders need not exist.
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
