"""Caches of paid results on disk: they survive kill -9, and their failures are harmless."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from guardtui.domain.verdicts import Triggered, Verdict
from guardtui.files.sqlite_files import enable_write_ahead_log, is_damage
from guardtui.scanners.base import verdict_key

LIMIT_BYTES = 512 * 1024**2
"""Limit of stored text; beyond it the oldest texts are deleted when the file is opened."""

_FREE_SHARE = 0.8  # a full cache is reduced to this share of its limit


class SqliteCache:
    """Texts by key in a SQLite file (WAL: several processes may use it concurrently).

    Every call is its own transaction, so whatever way the process ends, written data stays; a power
    failure may lose the last moments. Any failure of the file (damaged, full disk, read-only
    folder) disables the cache instead of raising; `works` is then False. A damaged file, and one
    with other tables, is replaced by a new one. An object belongs to one thread.
    """

    def __init__(self, path: Path, limit: int = LIMIT_BYTES) -> None:
        self.path = path
        self._limit = limit
        self._database: sqlite3.Connection | None = None
        with self._failing_softly():
            self._database = self._open()

    @property
    def works(self) -> bool:
        """Return whether results are stored; False if the file cannot be used."""
        return self._database is not None

    def find(self, key: bytes) -> str | None:
        """Return the text of a key, or None."""
        with self._failing_softly() as database:
            if database is not None:
                row = database.execute("SELECT text FROM cache WHERE key = ?", (key,)).fetchone()
                return row[0] if row and isinstance(row[0], str) else None
        return None

    def keep(self, key: bytes, text: str) -> None:
        """Store a text, replacing an older one; it survives a later kill -9."""
        self.keep_all([(key, text)])

    def keep_all(self, rows: Iterable[tuple[bytes, str]]) -> None:
        """Store the text of each key, as `keep`, in one transaction."""
        with self._failing_softly() as database:
            if database is not None:
                database.execute("BEGIN IMMEDIATE")
                database.executemany(
                    "INSERT INTO cache(key, text) VALUES (?, ?)"
                    " ON CONFLICT DO UPDATE SET text = excluded.text WHERE text != excluded.text",
                    [(key, text.encode("utf-8", "replace").decode()) for key, text in rows],
                )
                database.execute("COMMIT")

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
            database.execute(
                "CREATE TABLE IF NOT EXISTS cache(number INTEGER PRIMARY KEY,"
                " key BLOB UNIQUE NOT NULL, text TEXT NOT NULL)"
            )
            self._make_room(database)
        except BaseException:
            database.close()
            raise
        return database

    def _make_room(self, database: sqlite3.Connection) -> None:
        if self.path.stat().st_size <= self._limit:
            return
        sizes = database.execute(
            "SELECT number, length(CAST(text AS BLOB)) + 100 FROM cache ORDER BY number DESC"
        ).fetchall()
        total = 0
        for number, size in sizes:
            total += size
            if total > self._limit * _FREE_SHARE:
                database.execute("DELETE FROM cache WHERE number <= ?", (number,))
                # Fails while another process reads; a later start will shrink the file.
                with contextlib.suppress(sqlite3.OperationalError):
                    database.execute("VACUUM")
                return

    @contextlib.contextmanager
    def _failing_softly(self) -> Iterator[sqlite3.Connection | None]:
        try:
            yield self._database
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.close()
            if is_damage(error):
                for ending in ("", "-wal", "-shm"):
                    with contextlib.suppress(OSError):
                        Path(f"{self.path}{ending}").unlink()
                with contextlib.suppress(sqlite3.Error, OSError):
                    self._database = self._open()
        except OSError:
            self.close()


# The number in the name of a file is the version of its format.


def open_answers(folder: Path) -> SqliteCache:
    """Open the answers of graders and writers, by `verdict_key` of the model and the prompt."""
    return SqliteCache(folder / "answers-1.sqlite3")


class SqliteVerdicts:
    """Verdicts of remote scanners by hashes of their requests: a `VerdictCache`.

    Prompts are not in the file, but a judge's reasons are, which may quote them.
    """

    def __init__(self, folder: Path) -> None:
        self._cache = SqliteCache(folder / "verdicts-4.sqlite3")
        self.path = self._cache.path

    @property
    def works(self) -> bool:
        """Return whether verdicts are stored; False if the file cannot be used."""
        return self._cache.works

    def close(self) -> None:
        """Close the file."""
        self._cache.close()

    def find(self, key: bytes) -> Verdict | None:
        """Return the verdict of a key; None if there is none that can be read."""
        text = self._cache.find(key)
        if text is None:
            return None
        try:
            triggered, note, topics, reason, score = json.loads(text)
            if not (score is None or 0 <= score <= 1):
                return None
            answer = Triggered.YES if triggered else Triggered.NO
            return Verdict(answer, str(note), tuple(map(str, topics)), str(reason), score=score)
        except (ValueError, TypeError, RecursionError):
            return None

    def keep(self, key: bytes, verdict: Verdict) -> None:
        """Store an answer, its note, topics, reason and score, in the place of an older one."""
        triggered = verdict.triggered is Triggered.YES
        parts = (triggered, verdict.note, verdict.topics, verdict.reason, verdict.score)
        self._cache.keep(key, json.dumps(parts, ensure_ascii=False))


class SqliteTopicRevisions:
    """Texts of topic revisions, as hashes, for commands and the app: a `TopicRevisions`.

    The file is open only during a call. If it cannot be used, nothing is stored.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "topic-revisions-2.sqlite3"

    def find(self, service: str, topic_id: str, revision: int) -> str | None:
        """Return the hash of the text of a revision, or None."""
        with contextlib.closing(SqliteCache(self._path)) as cache:
            return cache.find(verdict_key(service, topic_id, str(revision)))

    def find_text(self, service: str, topic_id: str, revisions: range, text: str) -> int:
        """Return the first of these revisions that has this text, or 0."""
        with contextlib.closing(SqliteCache(self._path)) as cache:
            keys = (
                (revision, verdict_key(service, topic_id, str(revision))) for revision in revisions
            )
            return next((revision for revision, key in keys if cache.find(key) == text), 0)

    def keep(self, service: str, seen: Iterable[tuple[str, int, str]]) -> None:
        """Store topic id, revision and text hash of each topic."""
        rows = [
            (verdict_key(service, topic_id, str(revision)), text)
            for topic_id, revision, text in seen
        ]
        if rows:
            with contextlib.closing(SqliteCache(self._path)) as cache:
                cache.keep_all(rows)
