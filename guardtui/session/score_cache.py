"""Cache of answers of graders and writers on disk: one request each, survives kill -9."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from pathlib import Path

from guardtui.session.sqlite_cache import SqliteCache

FILE = "graders-1.sqlite3"
"""File name in the cache folder; the number is the version of its format."""

LIMIT_BYTES = 512 * 1024**2
"""Limit of stored text; beyond it the oldest answers are deleted when the file is opened."""

_FREE_SHARE = 0.8  # a full cache is reduced to this share of its limit


def answer_key(model: str, prompt: str) -> bytes:
    """Return the 32-byte key of a model (URL with the model's name) and a prompt."""
    digest = hashlib.blake2b(digest_size=32)
    for part in (model, prompt):
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.digest()


class AnswerCache(SqliteCache):
    """Answers of graders and writers; the file holds only hashes of prompts and URLs."""

    def __init__(self, folder: Path, limit: int = LIMIT_BYTES) -> None:
        self._limit = limit
        super().__init__(folder / FILE)

    def _prepare(self, database: sqlite3.Connection) -> None:
        database.execute(
            "CREATE TABLE IF NOT EXISTS answers(number INTEGER PRIMARY KEY,"
            " key BLOB UNIQUE NOT NULL, answer TEXT NOT NULL)"
        )
        self._make_room(database)

    def _make_room(self, database: sqlite3.Connection) -> None:
        if self.path.stat().st_size <= self._limit:
            return
        sizes = database.execute(
            "SELECT number, length(CAST(answer AS BLOB)) + 100 FROM answers ORDER BY number DESC"
        ).fetchall()
        total = 0
        for number, size in sizes:
            total += size
            if total > self._limit * _FREE_SHARE:
                database.execute("DELETE FROM answers WHERE number <= ?", (number,))
                # Fails while another process reads; a later start will shrink the file.
                with contextlib.suppress(sqlite3.OperationalError):
                    database.execute("VACUUM")
                return

    def find(self, key: bytes) -> str | None:
        """Return the answer of a key, or None."""
        with self._failing_softly() as database:
            if database is not None:
                row = database.execute(
                    "SELECT answer FROM answers WHERE key = ?", (key,)
                ).fetchone()
                return row[0] if row and isinstance(row[0], str) else None
        return None

    def keep(self, key: bytes, answer: str) -> None:
        """Store an answer, replacing an older one; it is on disk on return."""
        with self._failing_softly() as database:
            if database is not None:
                text = answer.encode("utf-8", "replace").decode()
                database.execute(
                    "INSERT OR REPLACE INTO answers(key, answer) VALUES (?, ?)", (key, text)
                )
