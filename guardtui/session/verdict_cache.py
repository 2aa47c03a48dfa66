"""Verdicts of remote scanners, on disk: asked for once, safe against kill -9."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from guardtui.scanners.base import KeptVerdict

FILE = "verdicts-1.sqlite3"
"""Name in the cache folder; the number is that of the file's form."""

LIMIT = 2_000_000
"""Verdicts that are kept, about 100 bytes each; the oldest go when the file is opened."""


class SqliteVerdicts:
    """Verdicts in one SQLite file (WAL: several processes may use it at once).

    Each verdict is a transaction of its own, so that any end of the process keeps it; a power
    failure may lose the last moments. Of what was asked the file holds hashes only. Every failure
    of the file (damaged, full disk, read-only folder) makes the cache forget, never fail: `works`
    is False then. A damaged file is begun anew. Belongs to one thread.
    """

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.path = folder / FILE
        self._database: sqlite3.Connection | None = None
        for attempt in range(2):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._database = self._open(limit)
                return
            except sqlite3.DatabaseError as error:
                damaged = not isinstance(error, sqlite3.OperationalError)
                if attempt or not damaged:
                    return
                self._forget()
            except OSError:
                return

    @property
    def works(self) -> bool:
        """Whether verdicts are kept; False when the file cannot be used."""
        return self._database is not None

    def find(self, key: bytes) -> KeptVerdict | None:
        """The verdict under a key, or None."""
        with self._failing_softly() as database:
            if database is not None:
                row = database.execute(
                    "SELECT triggered, note FROM verdicts WHERE key = ?", (key,)
                ).fetchone()
                if row is not None and row[0] in (0, 1):
                    return KeptVerdict(bool(row[0]), str(row[1]))
        return None

    def keep(self, key: bytes, verdict: KeptVerdict) -> None:
        """Keep a verdict, in the place of an older one; kill -9 cannot undo it afterwards."""
        with self._failing_softly() as database:
            if database is not None:
                note = verdict.note.encode("utf-8", "replace").decode()
                database.execute(
                    "INSERT OR REPLACE INTO verdicts(key, triggered, note) VALUES (?, ?, ?)",
                    (key, int(verdict.triggered), note),
                )

    def close(self) -> None:
        """Release the file."""
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
            self._database = None

    def _open(self, limit: int) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=10, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")
            database.execute(
                "CREATE TABLE IF NOT EXISTS verdicts(number INTEGER PRIMARY KEY,"
                " key BLOB UNIQUE NOT NULL, triggered INTEGER NOT NULL, note TEXT NOT NULL)"
            )
            database.execute(
                "DELETE FROM verdicts WHERE number <= (SELECT max(number) FROM verdicts) - ?",
                (limit,),
            )
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
        except sqlite3.Error:
            self.close()
