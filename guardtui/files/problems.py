"""Errors of reading and writing files, with place, problem and remedy."""

from __future__ import annotations

import copyreg
import errno
import json
import os
import select
import stat
import sys
from pathlib import Path
from typing import Any

from guardtui.domain.errors import GuardtuiError

SIZE_LIMIT = 1024**3
"""Files larger than this number of bytes are rejected before they are read."""


class FileError(GuardtuiError):
    """A file that cannot be used; the text names file, line (from 1) and remedy."""

    exit_code = 2

    can_force = False
    """True if overwriting the file anyway can help."""

    def __init__(
        self, path: Path | str, problem: str, remedy: str = "", line: int | None = None
    ) -> None:
        self.path, self.problem, self.remedy, self.line = str(path), problem, remedy, line
        location = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{location}: {problem}" + (f"\n  {remedy}" if remedy else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, an exception is pickled as its text, from which it cannot be rebuilt.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class ContentError(FileError):
    """A readable file whose content cannot be used."""

    can_force = True


_REMEDIES = {
    errno.ENOENT: ("no such file", "check the name and the current folder"),
    errno.EISDIR: ("is a folder", "name a file in it"),
    errno.ENOTDIR: ("a part of this path is a file, not a folder", "name another folder"),
    errno.EACCES: ("permission denied", "make it readable and writable for you"),
    errno.EPERM: ("operation not permitted", "make it readable and writable for you"),
    errno.EROFS: ("the file system is read-only", "copy it to a writable folder"),
    errno.ENOSPC: ("the disk is full", "free some space and try again: nothing was changed"),
    errno.EDQUOT: ("your disk quota is used up", "free some space: nothing was changed"),
    errno.EFBIG: ("the file would become too large", "free some space: nothing was changed"),
}

_HELD = (5, 32)
"""Errors of Windows for a file that cannot be replaced while a program has it open."""


def from_os_error(path: Path | str, error: OSError) -> FileError:
    """Return the FileError for an error of the operating system."""
    if getattr(error, "winerror", None) in _HELD:
        return FileError(path, "another program has it open", "close it there, and try again")
    problem, remedy = _REMEDIES.get(
        error.errno or 0, (error.strerror or type(error).__name__, "check its permissions")
    )
    return FileError(path, problem, remedy)


def json_error(
    path: Path,
    error: ValueError | RecursionError,
    remedy: str = "fix the JSON",
    problem: str = "invalid JSON",
) -> FileError:
    """Return the FileError for an error of reading JSON, with its line if that is known.

    A comma after the last entry is located at the comma, as Python does from 3.13 on.
    """
    if isinstance(error, RecursionError):
        return FileError(path, "this JSON is nested too deeply", remedy)
    if not isinstance(error, json.JSONDecodeError):  # thousands of digits
        problem = "this JSON holds a number that cannot be read"
        return FileError(path, problem, "put long numbers in quotes")
    text, position, message = error.doc, error.pos, error.msg
    before = text[:position].rstrip()
    if before.endswith(",") and text.startswith(("}", "]"), position):
        position, message = len(before) - 1, "Illegal trailing comma"
    elif message.startswith("Illegal trailing comma"):
        message = "Illegal trailing comma"
    column = position - text.rfind("\n", 0, position)
    line = text.count("\n", 0, position) + 1
    return FileError(path, f"{problem}: {message} (column {column})", remedy, line)


def read_bytes(
    path: Path, *, pipes: bool = False, if_empty: str = "", limit: int = SIZE_LIMIT
) -> bytes:
    """Return the content of a regular file: not empty, and at most `limit` bytes.

    With `pipes`, a pipe is read until its writer closes it. `if_empty` is the remedy for an empty
    file. Raises FileError.
    """
    try:
        if path.is_dir():
            raise FileError(path, *_REMEDIES[errno.EISDIR])
        status = path.stat()
        if stat.S_ISFIFO(status.st_mode) and pipes:
            content = _piped(path, limit)
        elif not stat.S_ISREG(status.st_mode):
            raise FileError(path, "not a regular file", "name a regular file")
        elif status.st_size > limit:
            raise _too_large(path, status.st_size, limit)
        else:
            content = path.read_bytes()
    except OSError as error:
        raise from_os_error(path, error) from error
    except ValueError as error:  # a NUL in the name
        raise FileError(repr(str(path)), "not a valid file name") from error
    return _not_empty(path, content, if_empty)


def read_standard_input(name: Path, *, if_empty: str = "", limit: int = SIZE_LIMIT) -> bytes:
    """Return all of standard input, called `name` in messages. Raises FileError."""
    if sys.stdin is None or sys.stdin.closed:
        raise FileError(name, "it is closed", "pipe a file into the command")
    try:
        content = sys.stdin.buffer.read(limit + 1)
    except OSError as error:
        raise from_os_error(name, error) from error
    if len(content) > limit:
        raise FileError(name, f"more than the {limit / 1024**3:.3g} GiB allowed", "split it")
    return _not_empty(name, content, if_empty)


def _not_empty(path: Path, content: bytes, if_empty: str) -> bytes:
    if not content.strip(b"\xef\xbb\xbf \t\r\n"):
        raise ContentError(path, "the file is empty", if_empty)
    return content


def _too_large(path: Path, size: int, limit: int) -> FileError:
    problem = f"{size / 1024**3:.1f} GiB is more than the {limit / 1024**3:.3g} GiB allowed"
    return FileError(path, problem, "split the file")


def _piped(path: Path, limit: int) -> bytes:
    """Return all data of a pipe; waits in short steps, so that it can be interrupted."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    parts: list[bytes] = []
    size = 0
    try:
        while True:
            if not select.select([handle], [], [], 0.1)[0]:
                continue
            part = os.read(handle, 1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)
            size += len(part)
            if size > limit:
                raise _too_large(path, size, limit)
    finally:
        os.close(handle)


def decode(path: Path, content: bytes) -> str:
    """Return the text of a UTF-8 file, with or without a byte order mark. Raises FileError."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ContentError(path, "the file is UTF-16", "save it as UTF-8")
    zero = content.find(b"\0")
    if zero >= 0:
        line = content.count(b"\n", 0, zero) + 1
        raise ContentError(
            path, "not a text file: it contains a NUL byte", "name a text file", line
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise ContentError(
            path,
            f"not UTF-8: byte 0x{byte:02x} at offset {error.start}",
            "save it as UTF-8; it looks like Latin-1 or Windows-1252",
            line,
        ) from error
