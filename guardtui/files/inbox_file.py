"""The file of an inbox: JSON Lines that are only appended to, by several programs in turn.

Each line has the `id` of a prompt and what became known of it: its text and origin, why and when
it was asked, its label. Later lines add to earlier ones; `removed` means that nothing is known of
it any more. A killed program leaves at most an unfinished last line, which is ignored, and taken
away by the next one that writes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

from guardtui.domain.inbox import State, WhyAsked
from guardtui.files.change_signature import change_signature
from guardtui.files.file_locks import FileLock, Timeout, lock_error
from guardtui.files.problems import FileError, from_os_error
from guardtui.files.table_formats import unpacked_name

_PRIVATE = 0o600
_POLL, _PATIENCE = 0.01, 30.0  # seconds
_CHUNK = 1 << 20
_DAMAGED = "not a line of an inbox (a JSON object with an id)"
_REPAIR = "correct or remove this line"

_waiting: dict[Path, tuple[tuple[int, int, int], Waiting]] = {}
"""What waits in each inbox, as of a change signature."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Keys of the prompts whose text an inbox holds, labelled or not, and of those set aside.

    `chosen` are those that were asked because their label teaches most, and that no audit drew.
    """

    texts: frozenset[int] = frozenset()
    set_aside: frozenset[int] = frozenset()
    chosen: frozenset[int] = frozenset()


def inbox_path(prompts: Path) -> Path:
    """Return the file of the inbox of a prompt set: NAME.inbox.jsonl beside it."""
    return prompts.with_name(f"{unpacked_name(prompts).stem}.inbox.jsonl")


class InboxFile:
    """Reads and writes one inbox file, which need not exist; readable by its owner only."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))
        self._read_to = 0
        self._inode = 0

    def lines(self) -> Iterator[Mapping[str, Any]]:
        """Yield all lines, one in memory at a time. Raises FileError with the line."""
        self._read_to = 0
        yield from self.new_lines()

    @property
    def replaced(self) -> bool:
        """Return whether another program, such as an editor, replaced what was read."""
        signature = change_signature(self.path)
        if signature is None:
            return self._read_to > 0
        return self._read_to > 0 and (signature[2] != self._inode or signature[1] < self._read_to)

    def new_lines(self) -> Iterator[Mapping[str, Any]]:
        """Yield the lines after those that were read before. Raises FileError."""
        try:
            with self.path.open("rb") as file:
                self._inode = os.fstat(file.fileno()).st_ino
                file.seek(self._read_to)
                for line in file:
                    value = _parsed(line)
                    if value is None and line[:1] not in b" \r\n":
                        if line.endswith(b"\n"):
                            raise self._damaged(file)
                        return  # being written, or its writer was killed
                    self._read_to += len(line)
                    if value is not None:
                        yield value
        except FileNotFoundError:
            return
        except OSError as error:
            raise from_os_error(self.path, error) from error

    def _damaged(self, file: BinaryIO) -> FileError:
        end = self._read_to
        file.seek(0)
        number = 1
        while end > 0 and (block := file.read(min(_CHUNK, end))):
            number += block.count(b"\n")
            end -= len(block)
        return FileError(self.path, _DAMAGED, _REPAIR, number)

    @contextmanager
    def locked(self) -> Iterator[InboxWriter]:
        """Keep all other programs from writing, and yield what writes. Raises FileError."""
        path = self.path.with_name(f".{self.path.name}.lock")
        lock = FileLock(path, _PATIENCE, mode=_PRIVATE, poll_interval=_POLL)
        try:
            self.path.parent.stat()  # which is not created
            lock.acquire()
        except Timeout as error:
            problem = f"another program has been writing it for {_PATIENCE:.0f} s"
            raise FileError(self.path, problem, f"stop it, or remove {path.name}") from error
        except OSError as error:
            raise lock_error(self.path, path, error) from error
        try:
            with self._opened() as file:
                self.path.chmod(_PRIVATE)
                yield InboxWriter(self.path, file.fileno())
        except OSError as error:
            raise from_os_error(self.path, error) from error
        finally:
            lock.release()

    def _opened(self) -> FileIO:
        return FileIO(self.path, "a+", opener=lambda name, flags: os.open(name, flags, _PRIVATE))


class InboxWriter:
    """Writes to an inbox file while it has the lock."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path, self._handle = path, handle
        self._finish_last_line()

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Add lines; they are on disk when this returns."""
        block = bytearray()
        for line in lines:
            block += _written(line)
            if len(block) > _CHUNK:
                _write(self._handle, block)
                block.clear()
        _write(self._handle, block)
        os.fsync(self._handle)

    def remove(self, ids: Collection[str]) -> None:
        """Overwrite all lines of prompts with blanks, and say that they are gone.

        The other lines stay where they are, so that who read them reads on. A line counts as
        removed from its first blank on: a killed program leaves none that cannot be read.
        """
        position, spans = 0, []
        with self._path.open("r+b") as file:
            for line in file:
                value = _parsed(line)
                if value is not None and value["id"] in ids:
                    spans.append((position, len(line.rstrip(b"\n"))))
                position += len(line)
            for start, length in spans:
                for offset, blanks in ((start, 1), (start + 1, length - 1)):
                    file.seek(offset)
                    file.write(b" " * blanks)
                    file.flush()
            os.fsync(file.fileno())
        self.append({"id": name, "removed": True} for name in ids)

    def _finish_last_line(self) -> None:
        """End a last line without a line feed, or remove it if its writer was killed."""
        size = os.lseek(self._handle, 0, os.SEEK_END)
        tail = b""
        while size > len(tail) and b"\n" not in tail:
            start = max(size - len(tail) - _CHUNK, 0)
            os.lseek(self._handle, start, os.SEEK_SET)
            tail = os.read(self._handle, size - len(tail) - start) + tail
        last = tail[tail.rfind(b"\n") + 1 :]
        if not last:
            return
        if _parsed(last) is not None:
            _write(self._handle, b"\n")
        else:
            os.ftruncate(self._handle, size - len(last))


def waiting(path: Path) -> Waiting:
    """Return what waits in an inbox; it is read again only after a change. Raises FileError."""
    signature = change_signature(path)
    if signature is None:
        return Waiting()
    known = _waiting.get(path)
    if known is None or known[0] != signature:
        texts, aside, why = set[int](), set[int](), dict[int, str]()
        for line in InboxFile(path).lines():
            key = int(line["id"], 16)
            if "removed" in line:
                texts.discard(key)
                aside.discard(key)
                why.pop(key, None)
            if "why_asked" in line and why.get(key) != WhyAsked.AUDIT:
                why[key] = str(line["why_asked"])
            if "text" in line:
                texts.add(key)
            if line.get("state") == State.SET_ASIDE:
                aside.add(key)
            elif "state" in line:
                aside.discard(key)
        chosen = frozenset(key for key, word in why.items() if word == WhyAsked.CHOSEN)
        read = Waiting(frozenset(texts), frozenset(aside), chosen)
        known = _waiting[path] = (signature, read)
    return known[1]


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Return the value of a line, or None if it is not one of an inbox, or was removed."""
    if line.startswith(b" "):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        return None
    try:
        int(value["id"], 16)
    except ValueError:
        return None
    return value


def _written(line: Mapping[str, Any]) -> bytes:
    # Invisible characters are escaped: the file may be looked at in any terminal.
    return json.dumps(line).encode() + b"\n"


def _write(handle: int, block: bytes | bytearray) -> None:
    remaining = memoryview(bytes(block))
    while remaining:
        remaining = remaining[os.write(handle, remaining) :]
