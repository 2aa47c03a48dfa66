"""Cache of topic revisions on disk, as hashes of their texts, for commands and the app."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from guardtui.session.sqlite_cache import SqliteCache

FILE = "topic-revisions-1.sqlite3"
"""File name in the cache folder; the number is the version of its format."""

LIMIT = 100_000
"""Number of stored revisions; the oldest are deleted when the file is opened."""


class SqliteTopicRevisions:
    """Topic revisions in the cache folder; the file is open only during a call.

    If it cannot be used, nothing is stored.
    """

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self._folder, self._limit = folder, limit

    def find(self, service: str, topic_id: str, revision: int) -> str | None:
        """Return the hash of the text of a revision, or None."""
        with contextlib.closing(_RevisionFile(self._folder / FILE, self._limit)) as file:
            return file.find(service, topic_id, revision)

    def keep(self, service: str, seen: Iterable[tuple[str, int, str]]) -> None:
        """Store topic id, revision and text hash of each topic."""
        rows = [(service, *topic) for topic in seen]
        if rows:
            with contextlib.closing(_RevisionFile(self._folder / FILE, self._limit)) as file:
                file.keep(rows)


class _RevisionFile(SqliteCache):
    def __init__(self, path: Path, limit: int) -> None:
        self._limit = limit
        super().__init__(path)

    def _prepare(self, database: sqlite3.Connection) -> None:
        database.execute(
            "CREATE TABLE IF NOT EXISTS revisions(number INTEGER PRIMARY KEY,"
            " service TEXT NOT NULL, topic TEXT NOT NULL, revision INTEGER NOT NULL,"
            " text TEXT NOT NULL, UNIQUE(service, topic, revision))"
        )
        database.execute(
            "DELETE FROM revisions WHERE number <= (SELECT max(number) FROM revisions) - ?",
            (self._limit,),
        )

    def find(self, service: str, topic_id: str, revision: int) -> str | None:
        with self._failing_softly() as database:
            if database is not None:
                row = database.execute(
                    "SELECT text FROM revisions WHERE service = ? AND topic = ? AND revision = ?",
                    (service, topic_id, revision),
                ).fetchone()
                if row is not None:
                    return str(row[0])
        return None

    def keep(self, rows: list[tuple[str, str, int, str]]) -> None:
        with self._failing_softly() as database:
            if database is not None:
                # Known revisions stay unchanged: a revision keeps its text, and its number.
                database.execute("BEGIN IMMEDIATE")
                database.executemany(
                    "INSERT INTO revisions(service, topic, revision, text) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT DO UPDATE SET text = excluded.text WHERE text != excluded.text",
                    rows,
                )
                database.execute("COMMIT")
