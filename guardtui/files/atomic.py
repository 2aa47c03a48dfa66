"""Atomic writing of files, with the old content kept as a backup."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import select
import shutil
import stat
import sys
import time
from pathlib import Path
from typing import BinaryIO

from guardtui.files.problems import FileError, from_os_error

BACKUPS_KEPT = 10


def write_atomically(
    path: Path, data: bytes, *, backup_folder: Path | None = None, private: bool = False
) -> None:
    """Replace the content of a file, or create it; links are followed, and its mode is kept.

    The new content is complete on disk before it replaces the old one. With `backup_folder`, the
    old content is copied there first (the last 10 are kept). A device, a pipe or an open descriptor
    (/dev/stdout) is written to directly; a reader that stops early is no error there. Only its
    owner can read a `private` file, whatever its mode was.

    Raises FileError; the file is then unchanged.
    """
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise FileError(path, "is a folder", "name a file in it")
        if (number := descriptor_of(path)) is not None:
            # Even if it is a file: write at the current position of its owner.
            _write_into(os.dup(number), data)
        elif path.exists() and not path.is_file():
            # Write to a device or pipe; it must not be replaced by a file.
            _write_into(_open_for_writing(path), data)
        else:
            if target.exists() and not os.access(target, os.W_OK):
                raise FileError(path, "the file is read-only", "make it writable and try again")
            if target.exists() and backup_folder is not None:
                _back_up(target, backup_folder)
            _replace(target, data, mode_of=None if private else target)
    except OSError as error:
        raise from_os_error(path, error) from error
    except ValueError as error:  # a NUL in the name
        raise FileError(repr(str(path)), "not a valid file name") from error


def _replace(target: Path, data: bytes, mode_of: Path | None) -> None:
    """Write a file that is complete on disk before it takes the place of the target.

    With None, only its owner can read it.
    """
    # Named before it exists, so that `finally` removes it after a signal too.
    temporary = target.parent / f".{target.name[:100]}.{secrets.token_hex(8)}"
    try:
        with private_file(temporary) if mode_of is None else temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode_of is not None and mode_of.exists():
            shutil.copymode(mode_of, temporary)
        temporary.replace(target)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def private_file(path: Path) -> BinaryIO:
    """Create a file that only its owner can read, and open it. Raises OSError if it exists."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o600), "w+b")


_DESCRIPTORS = re.compile(r"/(?:dev|proc/self|proc/\d+)/fd/(\d{1,6})")
_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_LINKS_AT_MOST = 40


def descriptor_of(path: Path) -> int | None:
    """Return the open descriptor of this process that a path names, also through links."""
    name = os.path.abspath(path)  # noqa: PTH100 - resolve() would follow the link to the end
    for _ in range(_LINKS_AT_MOST):
        if name in _STREAMS:
            return _STREAMS[name]
        if match := _DESCRIPTORS.fullmatch(name):
            own = name.startswith(("/dev/", "/proc/self/", f"/proc/{os.getpid()}/"))
            return int(match[1]) if own else None
        if not os.path.islink(name):  # noqa: PTH114 - this works on names, not paths
            return None
        folder = os.path.dirname(name)  # noqa: PTH120
        name = os.path.normpath(os.path.join(folder, os.readlink(name)))  # noqa: PTH115, PTH118
    return None


def _open_for_writing(path: Path) -> int:
    """Open a device or pipe for writing; waits for a pipe's reader, and can be interrupted."""
    flags = os.O_WRONLY
    for name in ("O_NONBLOCK", "O_NOCTTY"):  # Windows has neither
        flags |= getattr(os, name, 0)
    while True:
        try:
            handle = os.open(path, flags)
        except OSError as error:
            if error.errno != errno.ENXIO or not stat.S_ISFIFO(path.stat().st_mode):
                raise
            time.sleep(_STEP)
            continue
        if sys.platform != "win32":
            os.set_blocking(handle, True)
        return handle


_STEP = 0.1  # seconds
_PIECE = 4096  # bytes that a writable pipe accepts without blocking


def _write_into(handle: int, data: bytes) -> None:
    """Write all data and close; waits in short steps, so that it can be interrupted."""
    remaining = memoryview(data)
    try:
        while remaining:
            # On Windows only sockets can be waited for.
            if sys.platform == "win32" or select.select([], [handle], [], _STEP)[1]:
                remaining = remaining[os.write(handle, remaining[:_PIECE]) :]
    except BrokenPipeError:
        return  # the reader has stopped reading
    finally:
        os.close(handle)


def refuse_overwriting(output: Path, *inputs: Path) -> None:
    """Raise FileError if `output` is one of the files that a command reads."""
    for path in inputs:
        with contextlib.suppress(OSError, ValueError):
            if (path.is_file() or path.is_fifo()) and path.samefile(output):
                raise FileError(
                    output,
                    f"this is an input ({path}): it would be overwritten"
                    if path != output
                    else "this is an input: it would be overwritten",
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
    # Atomic: an incomplete backup would later displace a good one.
    _replace(folder / f"{target.name}.{following}.bak", content, mode_of=target)
    for number in numbers[: max(0, len(numbers) + 1 - BACKUPS_KEPT)]:
        (folder / f"{target.name}.{number}.bak").unlink(missing_ok=True)
