"""What is wrong with a file, where, and what to do: the one error of reading and writing."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

SIZE_LIMIT = 1024**3
"""Bytes from which on a file is refused before it is read."""


class FileProblem(Exception):  # noqa: N818 - it says what it is
    """A file cannot be used. The text names file, line (from 1) and remedy."""

    can_force = False
    """Whether writing over the file all the same can help."""

    def __init__(
        self, path: Path | str, problem: str, remedy: str = "", line: int | None = None
    ) -> None:
        self.path, self.problem, self.remedy, self.line = str(path), problem, remedy, line
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {problem}" + (f"\n  {remedy}" if remedy else ""))


_REMEDIES = {
    errno.ENOENT: ("there is no such file", "check the name, or the folder you are in"),
    errno.EISDIR: ("this is a folder", "name a file in it"),
    errno.EACCES: ("permission denied", "make it readable and writable for you"),
    errno.EPERM: ("operation not permitted", "make it readable and writable for you"),
    errno.EROFS: ("the file system is read-only", "copy it to a place you can write"),
    errno.ENOSPC: ("the disk is full", "free some space and try again: nothing was changed"),
    errno.EDQUOT: ("your disk quota is used up", "free some space: nothing was changed"),
    errno.EFBIG: ("the file would become too large", "free some space: nothing was changed"),
}


def from_os_error(path: Path | str, error: OSError) -> FileProblem:
    """The problem behind an error of the operating system."""
    problem, remedy = _REMEDIES.get(
        error.errno or 0, (error.strerror or type(error).__name__, "see whether it is accessible")
    )
    return FileProblem(path, problem, remedy)


def read_bytes(path: Path) -> bytes:
    """Content of a file that exists, is no folder, not empty, and not larger than 1 GiB.

    Raises FileProblem.
    """
    try:
        if path.is_dir():
            raise FileProblem(path, *_REMEDIES[errno.EISDIR])
        status = path.stat()
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
            raise FileProblem(path, "this is no ordinary file", "name an ordinary file")
        size = status.st_size
        if size > SIZE_LIMIT:
            raise FileProblem(
                path, f"{size / 1024**3:.1f} GiB is more than the 1 GiB allowed", "split the file"
            )
        content = path.read_bytes()
    except OSError as error:
        raise from_os_error(path, error) from error
    except ValueError as error:  # a NUL in the name
        raise FileProblem(repr(str(path)), "this is no file name") from error
    if not content.strip(b"\xef\xbb\xbf \t\r\n"):
        raise FileProblem(path, "the file is empty", "guardtui sample prints an example")
    return content


def decode(path: Path, content: bytes) -> str:
    """The text of a file in UTF-8, with or without a byte order mark. Raises FileProblem."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileProblem(path, "this is UTF-16", "save it as UTF-8")
    zero = content.find(b"\0")
    if zero >= 0:
        line = content.count(b"\n", 0, zero) + 1
        raise FileProblem(path, "this is no text: it holds a NUL byte", "name a text file", line)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise FileProblem(
            path,
            f"not UTF-8: byte 0x{byte:02x} at offset {error.start}",
            "save it as UTF-8; it looks like Latin-1 or Windows-1252",
            line,
        ) from error
