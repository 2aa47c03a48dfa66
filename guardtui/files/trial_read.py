"""Trial reads in another process, because some damaged files crash the reading process.

Polars panics on some damaged Parquet files. On others it requests exabytes of memory, for which
Rust aborts the process. A panic arrives as a BaseException of a private class, after Rust has
written it with its backtrace to file descriptor 2 from its own threads. An abort cannot be caught
at all, and would leave the terminal in disorder. Small files can also unpack to more memory than
there is, for which the system ends some process. Redirecting descriptor 2 meanwhile would affect
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

_MEMORY = 4 << 30
"""Bytes of address space for a trial, besides twice the size of its content."""

_SCRIPT = """
import contextlib, io, sys
try:
    import resource
    import polars as pl
except ImportError:
    sys.exit(0)
content = sys.stdin.buffer.read()
limit = MEMORY + 2 * len(content)
with contextlib.suppress(OSError, ValueError):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    READ
except MemoryError:
    sys.exit(1)
except Exception:
    pass
"""

PARQUET = """\
rows = pl.scan_parquet(io.BytesIO(content))
    if 16 * rows.select(pl.len()).collect().item() * len(rows.collect_schema()) > limit:
        sys.exit(1)
    pl.read_parquet(io.BytesIO(content)).select(pl.all().cast(pl.String, strict=False))"""
"""The reference to a text has 16 bytes, however often a dictionary repeats it."""
WORKBOOK = """\
pl.read_excel(
        io.BytesIO(content), engine="calamine", has_header=False,
        sheet_name=sys.argv[1] or None,
        raise_if_empty=False, read_options={"dtypes": "string", "skip_rows": 0},
    )"""
"""A cell in the last row and column makes a sheet of 17e9 cells."""

_sound: dict[bytes, None] = {}
_lock = Lock()


def survives(read: str, content: bytes, *arguments: str) -> bool:
    """Return whether a process that runs `read` on this content exits normally.

    `read` are Python statements over `pl`, `io`, `sys`, `content` and `limit`, the bytes of memory
    that they may take. An exception counts as survived, because the caller will meet it again. So
    does a process that cannot be started.
    """
    import subprocess

    with _lock:
        if _key(content, *arguments) in _sound:
            return True
    command = [
        sys.executable,
        "-P",
        "-c",
        _SCRIPT.replace("MEMORY", str(_MEMORY)).replace("READ", read),
        *arguments,
    ]
    try:
        completed = subprocess.run(  # noqa: S603 - our own interpreter and our own statement
            command,
            input=content,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Each thread reserves address space.
            env={**os.environ, "RUST_BACKTRACE": "0", "POLARS_MAX_THREADS": "1"},
            check=False,
        )
    except OSError:
        return True
    if completed.returncode:
        return False
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
