"""Cache of remote scanners' verdicts on disk: one request each, survives kill -9."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from guardtui.domain.verdicts import Triggered, Verdict
from guardtui.session.sqlite_cache import SqliteCache

FILE = "verdicts-3.sqlite3"
"""File name in the cache folder; the number is the version of its format."""

LIMIT = 2_000_000
"""Number of stored verdicts, about 100 bytes each; the oldest are deleted on opening."""


class SqliteVerdicts(SqliteCache):
    """Verdicts by hashes of their requests.

    Prompts are not in the file, but a judge's reasons are, which may quote them.
    """

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self._limit = limit
        super().__init__(folder / FILE)

    def _prepare(self, database: sqlite3.Connection) -> None:
        database.execute(
            "CREATE TABLE IF NOT EXISTS verdicts(number INTEGER PRIMARY KEY,"
            " key BLOB UNIQUE NOT NULL, triggered INTEGER NOT NULL, note TEXT NOT NULL,"
            " details TEXT NOT NULL)"
        )
        database.execute(
            "DELETE FROM verdicts WHERE number <= (SELECT max(number) FROM verdicts) - ?",
            (self._limit,),
        )

    def find(self, key: bytes) -> Verdict | None:
        """Return the verdict of a key, or None."""
        with self._failing_softly() as database:
            if database is not None:
                row = database.execute(
                    "SELECT triggered, note, details FROM verdicts WHERE key = ?", (key,)
                ).fetchone()
                if row is not None and row[0] in (0, 1):
                    return _verdict(Triggered(row[0]), str(row[1]), row[2])
        return None

    def keep(self, key: bytes, verdict: Verdict) -> None:
        """Store an answer, its note, topics, reason and score, in the place of an older one.

        It survives a later kill -9.
        """
        with self._failing_softly() as database:
            if database is not None:
                note = verdict.note.encode("utf-8", "replace").decode()
                details: dict[str, Any] = {"topics": verdict.topics, "reason": verdict.reason}
                if verdict.score is not None:
                    details["score"] = verdict.score
                database.execute(
                    "INSERT OR REPLACE INTO verdicts(key, triggered, note, details)"
                    " VALUES (?, ?, ?, ?)",
                    (key, int(verdict.triggered), note, json.dumps(details)),
                )


def _verdict(triggered: Triggered, note: str, text: object) -> Verdict:
    """Return a verdict with its topics, reason and score; unreadable ones are omitted."""
    try:
        details = json.loads(str(text))
        topics, reason = tuple(map(str, details["topics"])), str(details["reason"])
        score = details.get("score")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Verdict(triggered, note)
    known = isinstance(score, float) and 0 <= score <= 1
    return Verdict(triggered, note, topics, reason, score=score if known else None)
