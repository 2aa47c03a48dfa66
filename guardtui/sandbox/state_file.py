"""The file that keeps topics and profiles: whole at every moment, and of one server at a time."""

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
    """Keeps a tenant in `path`, or nowhere without one.

    Holds a lock beside the file until `close`; the system frees it when the process ends.
    """

    def __init__(self, path: Path | None) -> None:
        """Raises `FileError` when another server holds the file, or no lock can be made."""
        self._path = path
        self._handle: int | None = None
        self._kept = b""
        if path is not None:
            target = path.resolve()  # a link and its file are one state
            if target.is_dir():
                raise FileError(path, "this is a folder", "name a file in it")
            self._lock = target.with_name(f"{target.name}.lock")
            self._handle = self._acquire(path)

    def load(self) -> TenantData | None:
        """What was kept, or None when there is no file yet. Raises `FileError`."""
        if self._path is None or not self._path.exists():
            return None
        try:
            self._kept = read_bytes(self._path)
            return TenantData.model_validate_json(self._kept)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise FileError(
                self._path,
                f"this is no state of the sandbox: {where + ': ' if where else ''}{first['msg']}",
                "name another file with --state, or delete this one to begin anew",
            ) from error

    def save(self, data: TenantData) -> None:
        """Keep it. Raises `FileError`, and then the file is as it was, and `data` as in it."""
        if self._path is None:
            return
        content = data.model_dump_json(indent=1).encode() + b"\n"
        try:
            write_atomically(self._path, content)
        except FileError:
            kept = TenantData.model_validate_json(self._kept)
            data.topics, data.profiles = kept.topics, kept.profiles
            raise
        self._kept = content

    def close(self) -> None:
        """Let another server have the file."""
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
        # Its holder may have removed the file just before it was locked here.
        if _locked(handle) and _is_at(handle, self._lock):
            return handle
        os.close(handle)
        raise FileError(
            path,
            "another sandbox uses this state",
            "end the other one, or name another file with --state",
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
