"""Write-ahead logging: a file that another process creates at the same moment is waited for."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from guardtui.files.sqlite_files import enable_write_ahead_log


def opened(path: Path) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(sqlite3.connect(path, timeout=0, isolation_level=None))


def test_a_locked_file_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite3"
    with opened(path) as other, opened(path) as database:
        other.execute("BEGIN EXCLUSIVE")
        pauses = []

        def wait(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                other.execute("COMMIT")

        enable_write_ahead_log(database, wait=wait)
        assert len(pauses) == 3
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_file_that_stays_locked_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite3"
    with opened(path) as other, opened(path) as database:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            enable_write_ahead_log(database, patience=0)


def test_other_failures_are_raised_at_once(tmp_path: Path) -> None:
    path = tmp_path / "text.sqlite3"
    path.write_bytes(b"This is no database." * 100)
    with opened(path) as database, pytest.raises(sqlite3.DatabaseError, match="not a database"):
        enable_write_ahead_log(database, wait=lambda _: pytest.fail("waited"))
