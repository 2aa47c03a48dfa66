"""A SQLite cache of paid results: survives kill -9, and its failures are harmless."""

from __future__ import annotations

import contextlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from guardtui.files.sqlite_files import enable_write_ahead_log, is_damage


class SqliteCache(ABC):
    """A SQLite file in the cache folder (WAL: several processes may use it concurrently).

    Every statement is its own transaction, so whatever way the process ends, written data stays; a
    power failure may lose the last moments. Any failure of the file (damaged, full disk, read-only
    folder) disables the cache instead of raising; `works` is then False. A damaged file, and one
    with other tables, is replaced by a new one. An object belongs to one thread.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database: sqlite3.Connection | None = None
        with self._failing_softly():
            self._database = self._open()

    @abstractmethod
    def _prepare(self, database: sqlite3.Connection) -> None:
        """Create missing tables, and drop what exceeds the limits."""

    @property
    def works(self) -> bool:
        """Whether results are stored; False if the file cannot be used."""
        return self._database is not None

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
            self._database = None

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self.path, timeout=10, isolation_level=None)
        try:
            enable_write_ahead_log(database)
            database.execute("PRAGMA synchronous=NORMAL")
            self._prepare(database)
        except BaseException:
            database.close()
            raise
        return database

    def _forget(self) -> None:
        for ending in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                Path(f"{self.path}{ending}").unlink()

    @contextlib.contextmanager
    def _failing_softly(self) -> Iterator[sqlite3.Connection | None]:
        try:
            yield self._database
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.close()
            if is_damage(error):
                self._forget()
                with contextlib.suppress(sqlite3.Error, OSError):
                    self._database = self._open()
        except OSError:
            self.close()
