"""Writing a file so that it is whole at every moment, with the old content kept as a backup."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from pathlib import Path

from guardtui.files.problems import FileProblem, from_os_error

BACKUPS_KEPT = 10


def write_atomically(path: Path, data: bytes, *, backup_folder: Path | None = None) -> None:
    """Replace the content of a file, or make it; links are followed, and its mode stays.

    The new content is complete on disk before it takes the old one's place. With `backup_folder`
    the old content is copied there first (the last 10 are kept). Raises FileProblem, and then the
    file is as it was.
    """
    target = Path(os.path.realpath(path))
    temporary: str | None = None
    try:
        if target.is_dir():
            raise FileProblem(path, "this is a folder", "name a file in it")
        if path.exists() and not path.is_file():
            # A device or a pipe takes what it is given; it must not be replaced by a file.
            path.write_bytes(data)
            return
        if target.exists():
            if not os.access(target, os.W_OK):
                raise FileProblem(path, "the file is read-only", "make it writable and try again")
            if backup_folder is not None:
                _back_up(target, backup_folder)
        name = f".{target.name[:100]}.{secrets.token_hex(8)}"
        handle = os.open(target.parent / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        temporary = str(target.parent / name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        Path(temporary).replace(target)
        temporary = None
    except OSError as error:
        raise from_os_error(path, error) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def refuse_overwriting(output: Path, *inputs: Path) -> None:
    """Raise FileProblem when `output` is one of the files that a command reads."""
    for path in inputs:
        with contextlib.suppress(OSError):
            if path.is_file() and path.samefile(output):
                raise FileProblem(
                    output,
                    f"this is what is read ({path}): it would be lost"
                    if path != output
                    else "this is what is read: it would be lost",
                    "name another file to write to",
                )


def _back_up(target: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pattern = re.compile(re.escape(target.name) + r"\.(\d+)\.bak")
    numbers = sorted(
        int(match[1]) for file in folder.iterdir() if (match := pattern.fullmatch(file.name))
    )
    following = numbers[-1] + 1 if numbers else 1
    content = target.read_bytes()
    if numbers and (folder / f"{target.name}.{numbers[-1]}.bak").read_bytes() == content:
        return
    # Whole or not at all: half a backup would later push a good one out.
    temporary = folder / f".{target.name[:100]}.{secrets.token_hex(8)}"
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(target, temporary)
        temporary.replace(folder / f"{target.name}.{following}.bak")
    finally:
        temporary.unlink(missing_ok=True)
    for number in numbers[: max(0, len(numbers) + 1 - BACKUPS_KEPT)]:
        (folder / f"{target.name}.{number}.bak").unlink(missing_ok=True)
