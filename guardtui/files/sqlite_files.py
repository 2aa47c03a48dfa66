"""SQLite files that several processes open: their write-ahead log, and what is damage."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

PATIENCE = 10.0
"""Seconds for which another process may hold the file."""
_PAUSE = 0.01


_DAMAGE = {
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_NOTADB,
}


def is_damage(error: Exception) -> bool:
    """Return whether an error comes from the content of a file: damage, or other tables.

    Python raises UnicodeDecodeError for damaged names of tables, and an OperationalError without a
    code for damaged texts.
    """
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:
            return isinstance(error, sqlite3.OperationalError)
        return code & 0xFF in _DAMAGE
    return isinstance(error, UnicodeDecodeError)


def enable_write_ahead_log(
    database: sqlite3.Connection,
    *,
    patience: float = PATIENCE,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Have a database use a write-ahead log, so that reading and writing do not block each other.

    SQLite itself does not wait for another process that opens a new file at the same moment: it
    reports the file as locked at once. Raises `sqlite3.OperationalError` if the file is still
    locked after `patience` seconds, and `sqlite3.Error` for every other failure.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            locked = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not locked or time.monotonic() >= deadline:
                raise
        wait(_PAUSE)
