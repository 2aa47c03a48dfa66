"""Texts of topic revisions on disk, as hashes, for every command and the app."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from guardtui.session.kept_file import KeptFile

FILE = "topic-revisions-1.sqlite3"
"""Name in the cache folder; the number is that of the file's form."""

LIMIT = 100_000
"""Revisions that are kept; the oldest go when the file is opened."""


class SqliteTopicRevisions:
    """Topic revisions in the cache folder; the file is open during a call only.

    Where it cannot be used, nothing is remembered.
    """

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self._folder, self._limit = folder, limit

    def find(self, service: str, topic_id: str, revision: int) -> str | None:
        """Hash of the text of a revision, or None."""
        with contextlib.closing(_File(self._folder / FILE, self._limit)) as file:
            return file.find(service, topic_id, revision)

    def keep(self, service: str, seen: Iterable[tuple[str, int, str]]) -> None:
        """Remember topic id, revision and text hash of each topic that was seen."""
        rows = [(service, *one) for one in seen]
        if rows:
            with contextlib.closing(_File(self._folder / FILE, self._limit)) as file:
                file.keep(rows)


class _File(KeptFile):
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
                # What is known is left alone: a revision keeps its text, and its number.
                database.execute("BEGIN IMMEDIATE")
                database.executemany(
                    "INSERT INTO revisions(service, topic, revision, text) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT DO UPDATE SET text = excluded.text WHERE text != excluded.text",
                    rows,
                )
                database.execute("COMMIT")
