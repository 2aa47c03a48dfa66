"""What graders answered, on disk: asked once for a model and a prompt, safe against kill -9."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from pathlib import Path

from guardtui.session.kept_file import KeptFile

FILE = "graders-1.sqlite3"
"""Name in the cache folder; the number is that of the file's form."""

LIMIT_BYTES = 512 * 1024**2
"""Texts that are kept; beyond that the oldest go when the file is opened."""

_FREE_SHARE = 0.8  # a full cache is emptied down to this share of its limit


def answer_key(model: str, prompt: str) -> bytes:
    """32 bytes that name a prompt to a model (an address with the model's name)."""
    digest = hashlib.blake2b(digest_size=32)
    for part in (model, prompt):
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.digest()


class AnswerCache(KeptFile):
    """Answers of graders; prompts and addresses are not in the file, only their hashes."""

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
        kept = 0
        for number, size in sizes:
            kept += size
            if kept > self._limit * _FREE_SHARE:
                database.execute("DELETE FROM answers WHERE number <= ?", (number,))
                # Another process may be reading: then the file shrinks another time.
                with contextlib.suppress(sqlite3.OperationalError):
                    database.execute("VACUUM")
                return

    def find(self, key: bytes) -> str | None:
        """The answer under a key, or None."""
        with self._failing_softly() as database:
            if database is not None:
                row = database.execute(
                    "SELECT answer FROM answers WHERE key = ?", (key,)
                ).fetchone()
                return row[0] if row and isinstance(row[0], str) else None
        return None

    def keep(self, key: bytes, answer: str) -> None:
        """Keep an answer, in the place of an older one; it is on disk when this returns."""
        with self._failing_softly() as database:
            if database is not None:
                text = answer.encode("utf-8", "replace").decode()
                database.execute(
                    "INSERT OR REPLACE INTO answers(key, answer) VALUES (?, ?)", (key, text)
                )
