"""Optional debug log of calls: time, URL and outcome; no keys, prompts or responses."""

from __future__ import annotations

import os
import stat
import sys
import threading
from datetime import UTC, datetime
from urllib.parse import urlsplit

VARIABLE = "GUARDTUI_HTTP_LOG"
"""Environment variable with the log file's name; without it there is no log."""

_lock = threading.Lock()


def trace(method: str, url: str, outcome: str, seconds: float, attempt: int) -> None:
    """Append one line for an attempt of a call.

    Queries are omitted, as they may be sensitive. The file is created readable for its owner only.
    A file that others may read, or that is not a regular file, is not written to. Failures to write
    are ignored.
    """
    name = os.environ.get(VARIABLE, "")
    if not name:
        return
    parts = urlsplit(url)
    when = datetime.now(UTC).isoformat(timespec="milliseconds")
    line = (
        f"{when} {method} {parts.scheme}://{parts.netloc}{parts.path} {outcome} "
        f"{seconds * 1000:.0f} ms attempt {attempt}\n"
    )
    try:
        with _lock:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            handle = os.open(name, flags, 0o600)
            try:
                status = os.fstat(handle)
                # On Windows the mode says nothing: a file is as private as its folder.
                private = sys.platform == "win32" or not status.st_mode & 0o077
                if stat.S_ISREG(status.st_mode) and private:
                    os.write(handle, line.encode("utf-8", "backslashreplace"))
            finally:
                os.close(handle)
    except (OSError, ValueError):
        return
