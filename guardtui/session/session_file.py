"""The SQLite file of the sessions of a folder: created, opened, and its errors explained."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import display_start
from guardtui.files.change_signature import change_signature
from guardtui.files.sqlite_files import enable_write_ahead_log
from guardtui.session.schema import MIGRATIONS, migrate

FOLDER = ".guardtui"
"""Name of the folder beside a topic file."""

FILE = "sessions.sqlite3"

DAMAGED = "it is damaged: move it away, and a new one is created (topic files are safe)"

_SMALLEST = 512
"""Bytes of the smallest database; SQLite takes a few bytes for a new file, and overwrites them."""

_WRITABLE = "make the file and its folder writable"
_HELD = "close the other program that holds it, or try again later"
_REMEDIES = {
    sqlite3.SQLITE_PERM: _WRITABLE,
    sqlite3.SQLITE_READONLY: _WRITABLE,
    sqlite3.SQLITE_CANTOPEN: _WRITABLE,
    sqlite3.SQLITE_BUSY: _HELD,
    sqlite3.SQLITE_LOCKED: _HELD,
    sqlite3.SQLITE_FULL: "free some disk space",
    sqlite3.SQLITE_IOERR: "check the disk, and free some space on it",
}
"""Remedies of SQLite errors with a cause outside of the file itself, by primary result code."""


def followed(topic_path: Path) -> Path:
    """Return the topic file that a link leads to: a file has one session by all its names."""
    is_link = os.path.islink(topic_path)  # noqa: PTH114 - without errors
    return Path(os.path.realpath(topic_path)) if is_link else topic_path


def session_file(topic_path: Path) -> Path:
    """Return the file with the sessions of the topic files of a folder."""
    return followed(topic_path).parent / FOLDER / FILE


def has_session(topic_path: Path) -> bool:
    """Return whether the folder of a topic file has sessions, without creating any."""
    return session_file(topic_path).is_file()


class StoreError(GuardtuiError):
    """The session's file cannot be used; the message says which file and what to do."""

    exit_code = 2


class _OutsideError(StoreError):
    """The cause is outside of the file, which may be sound."""


class SessionFile:
    """The file with the sessions of all topic files in one folder.

    Two processes may use one file. Every method raises `StoreError`.
    """

    def __init__(self, folder: Path, *, reading: bool = False) -> None:
        """Open the file of a folder, or create it.

        With `reading`, a file that cannot be written is opened as it is; `writable` is then False.
        """
        self.folder = folder / FOLDER
        self.path = self.folder / FILE
        self.writable = True
        address = f"file:{quote(str(self.path.absolute()))}"
        self._uri = f"{address}?mode=rw"  # does not create the file again if it was deleted
        try:
            self._prepare()
        except _OutsideError:
            if not (reading and self.path.is_file()):
                raise
            # Without a write-ahead log the file is complete and can be read without a lock file.
            log = change_signature(self.path.with_name(f"{FILE}-wal"))
            is_complete = log is None or not log[1]
            self._uri = f"{address}?{'immutable=1' if is_complete else 'mode=ro'}"
            self.writable = False
            self._require_current()

    def _prepare(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            ignore = self.folder / ".gitignore"
            if not ignore.exists() or not ignore.stat().st_size:  # left empty by a full disk
                ignore.write_text("*\n", "utf-8")
            if not self.path.exists():
                self._create()
            size = self.path.stat().st_size
        except OSError as error:
            raise self.folder_problem(error) from error
        if size < _SMALLEST:
            problem = "truncated" if size else "empty"
            raise StoreError(f"{self.path}: the file is {problem}\n  {DAMAGED}")
        with self.connection() as database:
            version = self._require_known(database)
            enable_write_ahead_log(database)
        if version < len(MIGRATIONS):
            with self.transaction() as database:
                migrate(database, self._require_known(database))

    def _create(self) -> None:
        """Create the file with its tables at once: no process sees or leaves an empty one."""
        with contextlib.closing(sqlite3.connect(":memory:")) as database:
            migrate(database, 0)
            content = database.serialize()
        temporary = self.folder / f".{FILE}.{secrets.token_hex(8)}"
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            try:
                self.path.hardlink_to(temporary)
            except FileExistsError:
                return  # another process was faster
            except OSError:  # a file system without hard links
                temporary.replace(self.path)
        finally:
            temporary.unlink(missing_ok=True)

    def _require_known(self, database: sqlite3.Connection) -> int:
        """Return the version of the schema. Raises StoreError for one of a newer guardtui."""
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{self.path}: written by a newer guardtui (schema {version}, "
                f"this one knows {len(MIGRATIONS)})\n  upgrade guardtui, or move the file away"
            )
        return int(version)

    def _require_current(self) -> None:
        with self.connection() as database:
            if self._require_known(database) != len(MIGRATIONS):
                raise StoreError(
                    f"{self.path}: written by an older guardtui, and cannot be brought up to date\n"
                    f"  {_WRITABLE}"
                )

    @contextlib.contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for reading; each statement sees the current file."""
        try:
            database = sqlite3.connect(self._uri, timeout=10, isolation_level=None, uri=True)
        except sqlite3.Error as error:
            raise self._problem(error) from error
        try:
            database.execute("PRAGMA synchronous=FULL")
            yield database
        except sqlite3.Error as error:
            raise self._problem(error) from error
        except UnicodeDecodeError as error:  # in the names of tables
            raise StoreError(f"{self.path}: not a valid text in it\n  {DAMAGED}") from error
        finally:
            database.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a write transaction: other processes cannot write until it ends.

        It is committed durably at the end; any exception rolls it back. Do not nest transactions:
        the inner one would wait for the outer one.
        """
        with self.connection() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # SQLite may have rolled back already
                    database.execute("ROLLBACK")
                raise

    @property
    def signature(self) -> tuple[object, ...]:
        """A value that changes when any process writes to the file: of its time and size."""
        log = self.path.with_name(f"{FILE}-wal")
        return change_signature(self.path), change_signature(log)

    def _has_wrong_header(self) -> bool:
        """Return whether the format versions in the file are unknown: SQLite reports no damage."""
        try:
            with self.path.open("rb") as file:
                versions = set(file.read(20)[18:])
        except OSError:
            return False
        return not versions <= {1, 2}

    def _problem(self, error: sqlite3.Error) -> StoreError:
        code = getattr(error, "sqlite_errorcode", None)
        remedy = None if code is None else _REMEDIES.get(code & 0xFF)
        problem = f"{self.path}: {display_start(str(error), 100)}"
        if remedy is None or self._has_wrong_header():
            return StoreError(f"{problem}\n  {DAMAGED}")
        if not self.path.exists():
            return _OutsideError(
                f"{self.path}: the file is missing: it was deleted or moved since it was opened\n"
                "  put it back, or open the topic again"
            )
        return _OutsideError(f"{problem}\n  {remedy}")

    def folder_problem(self, error: OSError) -> StoreError:
        """Return the error for a folder in which no file can be created."""
        if isinstance(error, FileNotFoundError):
            return _OutsideError(
                f"{self.folder}: the folder is missing: it was deleted or moved\n"
                "  put it back, or open the topic again"
            )
        return _OutsideError(
            f"{self.folder}: cannot be written ({error.strerror or error})\n"
            "  iterations and drafts are stored there: make it writable, free disk space, or copy "
            "the topic and its prompts to a folder of yours"
        )
