"""Trial reads in another process, because some damaged files crash the reading process.

Polars panics on some damaged Parquet files. On others it requests exabytes of memory, for which
Rust aborts the process. A panic arrives as a BaseException of a private class, after Rust has
written it with its backtrace to file descriptor 2 from its own threads. An abort cannot be caught
at all, and would leave the terminal in disorder. Redirecting descriptor 2 meanwhile would affect
every other thread and the screen, which is drawn on it. A second process costs a third of a second,
for Parquet and Excel files only, and turns all of that into an error.
"""

from __future__ import annotations

import hashlib
import os
import sys
from threading import Lock

_REMEMBERED = 64
"""Number of contents remembered as sound; an edit reads the same one several times."""

_SCRIPT = """
import io, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import polars as pl
except (ImportError, OSError, ValueError):
    sys.exit(0)
try:
    READ
except Exception:
    pass
"""

PARQUET = (
    "pl.read_parquet(io.BytesIO(sys.stdin.buffer.read()))"
    ".select(pl.all().cast(pl.String, strict=False))"
)
WORKBOOK = """\
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    pl.read_excel(
        io.BytesIO(sys.stdin.buffer.read()), engine="calamine", has_header=False,
        sheet_name=sys.argv[1] or None,
        raise_if_empty=False, read_options={"dtypes": "string", "skip_rows": 0},
    )"""
"""With a memory limit: a cell in the last row and column makes a sheet of 17e9 cells."""
PARQUET_FILE = """\
scan = pl.scan_parquet(sys.argv[1], glob=False)
    for start in range(0, scan.select(pl.len()).collect().item(), int(sys.argv[2])):
        scan.slice(start, int(sys.argv[2])).collect()"""

_sound: dict[bytes, None] = {}
_lock = Lock()


def survives(read: str, content: bytes = b"", *arguments: str) -> bool:
    """Return whether a process that runs `read` on this content exits normally.

    `read` is a Python statement over `pl`, `io` and `sys`, with the content as standard input. An
    exception counts as survived, because the caller will meet it again. So does a process that
    cannot be started.
    """
    import subprocess

    key = _key(content, *arguments) if content else b""
    with _lock:
        if key in _sound:
            return True
    command = [sys.executable, "-P", "-c", _SCRIPT.replace("READ", read), *arguments]
    try:
        completed = subprocess.run(  # noqa: S603 - our own interpreter and our own statement
            command,
            input=content,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "RUST_BACKTRACE": "0"},
            check=False,
        )
    except OSError:
        return True
    if completed.returncode:
        return False
    if content:
        remember_sound(content, *arguments)
    return True


def _key(content: bytes, *arguments: str) -> bytes:
    return hashlib.sha256(content).digest() + "\0".join(arguments).encode()


def remember_sound(content: bytes, *arguments: str) -> None:
    """Remember content written by this process as sound, so that it needs no trial."""
    with _lock:
        _sound[_key(content, *arguments)] = None
        while len(_sound) > _REMEMBERED:
            del _sound[next(iter(_sound))]
