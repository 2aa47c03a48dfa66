"""Writing a file so that it is whole at every moment, with the old content kept as a backup."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import select
import shutil
import stat
import time
from pathlib import Path

from guardtui.files.problems import FileError, from_os_error

BACKUPS_KEPT = 10


def write_atomically(path: Path, data: bytes, *, backup_folder: Path | None = None) -> None:
    """Replace the content of a file, or make it; links are followed, and its mode stays.

    The new content is complete on disk before it takes the old one's place. With `backup_folder`
    the old content is copied there first (the last 10 are kept). Raises FileError, and then the
    file is as it was. A device, a pipe or an open descriptor (/dev/stdout) is written into; there,
    a reader that stops early is no error.
    """
    temporary: Path | None = None
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise FileError(path, "this is a folder", "name a file in it")
        if (number := descriptor_of(path)) is not None:
            # Even a file that stands behind it: it goes on where its owner has got to.
            _write_into(os.dup(number), data)
            return
        if path.exists() and not path.is_file():
            # A device or a pipe takes what it is given; it must not be replaced by a file.
            _write_into(_open_for_writing(path), data)
            return
        if target.exists():
            if not os.access(target, os.W_OK):
                raise FileError(path, "the file is read-only", "make it writable and try again")
            if backup_folder is not None:
                _back_up(target, backup_folder)
        # Known before it exists, so that a signal in between leaves none behind.
        temporary = target.parent / f".{target.name[:100]}.{secrets.token_hex(8)}"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
        temporary = None
    except OSError as error:
        raise from_os_error(path, error) from error
    except ValueError as error:  # a NUL in the name
        raise FileError(repr(str(path)), "this is no file name") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()


_DESCRIPTORS = re.compile(r"/(?:dev|proc/self|proc/\d+)/fd/(\d{1,6})")
_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_LINKS_AT_MOST = 40


def descriptor_of(path: Path) -> int | None:
    """Number of the open descriptor of this process that a path names, also through links."""
    name = os.path.abspath(path)  # noqa: PTH100 - resolve() would follow the link to the end
    for _ in range(_LINKS_AT_MOST):
        if name in _STREAMS:
            return _STREAMS[name]
        if match := _DESCRIPTORS.fullmatch(name):
            own = name.startswith(("/dev/", "/proc/self/", f"/proc/{os.getpid()}/"))
            return int(match[1]) if own else None
        if not os.path.islink(name):  # noqa: PTH114 - names, not paths, are at work here
            return None
        folder = os.path.dirname(name)  # noqa: PTH120
        name = os.path.normpath(os.path.join(folder, os.readlink(name)))  # noqa: PTH115, PTH118
    return None


def _open_for_writing(path: Path) -> int:
    """A handle of a device or pipe. Waits for a pipe's reader, and hears an interrupt meanwhile."""
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK | getattr(os, "O_NOCTTY", 0))
        except OSError as error:
            if error.errno != errno.ENXIO or not stat.S_ISFIFO(path.stat().st_mode):
                raise
            time.sleep(_STEP)
            continue
        os.set_blocking(handle, True)
        return handle


_STEP = 0.1  # seconds
_PIECE = 4096  # bytes that a pipe takes at once when it says that it takes any


def _write_into(handle: int, data: bytes) -> None:
    """Write all and close. Waits in short steps, so that an interrupt is heard."""
    rest = memoryview(data)
    try:
        while rest:
            if select.select([], [handle], [], _STEP)[1]:
                rest = rest[os.write(handle, rest[:_PIECE]) :]
    except BrokenPipeError:
        return  # who reads has seen enough
    finally:
        os.close(handle)


def refuse_overwriting(output: Path, *inputs: Path) -> None:
    """Raise FileError when `output` is one of the files that a command reads."""
    for path in inputs:
        with contextlib.suppress(OSError, ValueError):
            if (path.is_file() or path.is_fifo()) and path.samefile(output):
                raise FileError(
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
