"""The file with topics and profiles: written atomically, and used by one server at a time."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from pydantic import ValidationError

from guardtui.files.atomic import write_atomically
from guardtui.files.problems import FileError, from_os_error, read_bytes
from guardtui.sandbox.tenant import TenantData

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class StateFile:
    """Stores a tenant in `path`; without a path it is not stored.

    Holds a lock beside the file until `close`; the system releases it when the process ends.
    """

    def __init__(self, path: Path | None) -> None:
        """Lock the file. Raises `FileError` if another server holds it, or locking fails."""
        self._path = path
        self._handle: int | None = None
        self._stored = b""
        if path is not None:
            target = path.resolve()  # a link and its file are one state
            if target.is_dir():
                raise FileError(path, "is a folder", "name a file in it")
            self._lock = target.with_name(f"{target.name}.lock")
            self._handle = self._acquire(path)

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
        if self._handle is not None:
            with contextlib.suppress(OSError):
                self._lock.unlink()
            os.close(self._handle)
            self._handle = None

    def _acquire(self, path: Path) -> int:
        try:
            handle = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise from_os_error(path, error) from error
        # Its previous holder may have removed the file just before it was locked here.
        if _locked(handle) and _is_at(handle, self._lock):
            return handle
        os.close(handle)
        raise FileError(
            path,
            "another sandbox uses this state",
            "stop that sandbox, or name another file with --state",
        )


def _locked(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False
