"""The file with topics and profiles: written atomically, and used by one server at a time."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from guardtui.files.atomic import write_atomically
from guardtui.files.file_locks import FileLock, Timeout, lock_error
from guardtui.files.problems import FileError, read_bytes
from guardtui.sandbox.tenant import TenantData


class StateFile:
    """Stores a tenant in `path`; without a path it is not stored.

    Holds a lock beside the file until `close`; the system releases it when the process ends.
    """

    def __init__(self, path: Path | None) -> None:
        """Lock the file.

        Raises `FileError` if it is no state, another server holds it, or locking fails.
        """
        self._path = path
        self._stored = b""
        self._lock: FileLock | None = None
        if path is not None:
            target = path.resolve()  # a link and its file are one state
            if target.is_dir():
                raise FileError(path, "is a folder", "name a file in it")
            self.load()  # another file is refused before a lock is written beside it
            lock = target.with_name(f".{target.name}.lock")
            self._lock = FileLock(lock, timeout=0, thread_local=False)
            try:
                target.parent.stat()  # which is not created
                self._lock.acquire()
            except Timeout as error:
                raise FileError(
                    path,
                    "another sandbox uses this state",
                    "stop that sandbox, or name another file with --state",
                ) from error
            except OSError as error:
                raise lock_error(path, lock, error) from error

    def load(self) -> TenantData | None:
        """Return the stored tenant, or None if the file does not exist. Raises `FileError`."""
        if self._path is None or not self._path.exists():
            return None
        try:
            self._stored = read_bytes(self._path)
            return TenantData.model_validate_json(self._stored)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            raise FileError(
                self._path,
                f"not a state of the sandbox: {field + ': ' if field else ''}{first['msg']}",
                "name another file with --state, or delete this file to start over",
            ) from error

    def save(self, data: TenantData) -> None:
        """Store a tenant. Raises `FileError` and resets `data` to the unchanged file."""
        if self._path is None:
            return
        content = data.model_dump_json(indent=1).encode() + b"\n"
        try:
            write_atomically(self._path, content)
        except FileError:
            stored = TenantData.model_validate_json(self._stored)
            data.topics, data.profiles = stored.topics, stored.profiles
            raise
        self._stored = content

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.release()
