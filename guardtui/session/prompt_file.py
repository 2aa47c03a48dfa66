"""The prompt file of an opened topic: edits, undo, and changes by other programs."""

from __future__ import annotations

import hashlib
import stat
import threading
from dataclasses import dataclass
from pathlib import Path

from guardtui.domain.prompt_edit import Add, PromptEdit, Relabel, Remove, Rewrite
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.domain.topic import Intent
from guardtui.files.atomic import write_atomically
from guardtui.files.problems import FileError, read_bytes
from guardtui.files.prompt_documents import read_only_error
from guardtui.files.prompt_edits import PromptsChangedError, edit_prompts
from guardtui.files.prompt_files import load_prompts, parse_prompts

UNDO_STEPS = 50
UNDO_BYTES = 64 * 1024 * 1024
"""Total size of old contents stored for undo; the latest is stored whatever its size."""

_LINES = 6  # named in a sentence

_Signature = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class _FileStep:
    """An undoable edit: the file's content before, and the SHA-256 of its content after."""

    before: bytes
    prompts: PromptSet
    after: str
    done: str


class PromptFile:
    """Prompts and their file; `prompts` is replaced as a whole, when a call succeeds.

    Calls may come from several threads; they are serialised.
    """

    def __init__(
        self,
        path: Path,
        prompts: PromptSet,
        signature: _Signature | None = None,
        reading: Reading = AS_WRITTEN,
    ) -> None:
        self.path = path
        self.reading = reading
        self.prompts = prompts
        self._steps: list[_FileStep] = []
        self._lock = threading.Lock()
        self._signature = signature or change_signature(path)
        self._seen = self._signature

    @classmethod
    def open(
        cls, path: Path, intent: Intent | None = None, reading: Reading = AS_WRITTEN
    ) -> PromptFile:
        """Read a prompt file; `intent` is the topic's, for a file without one.

        Raises FileError or PromptSetError.
        """
        # Taken before reading, so that a write in between is detected as a change.
        signature = change_signature(path)
        return cls(path, load_prompts(path, intent, reading), signature, reading)

    @property
    def refusal(self) -> str:
        """Why these prompts cannot be edited, or ""."""
        return str(read_only_error(self.path)) if self.prompts.read_only else ""

    def edit(self, edit: PromptEdit, backups: Path) -> str:
        """Edit the file and return a sentence on what was done. Raises FileError."""
        with self._lock:
            old = self.prompts
            result = edit_prompts(self.path, old, edit, backup_folder=backups, reading=self.reading)
            if not result.count:
                return "no changes: the prompts already have these values"
            done = _edit_text(edit, result.count, self.path, old)
            digest = hashlib.sha256(result.after).hexdigest()
            self._steps.append(_FileStep(result.before, old, digest, done))
            self._forget_oldest()
            self._take(result.prompts)
            lines = _contradictory(result.prompts)
            if len(lines) > len(_contradictory(old)):
                numbers = ", ".join(map(str, lines[:_LINES])) + " …" * (len(lines) > _LINES)
                return f"{done}; the same prompt now has both labels: lines {numbers}"
            return done

    def undo(self, backups: Path) -> str:
        """Restore the file's content before the last edit; returns what was undone, or "".

        Raises PromptsChangedError if another program changed the file since, and FileError if it
        cannot be written.
        """
        with self._lock:
            if not self._steps:
                return ""
            step = self._steps[-1]
            if hashlib.sha256(read_bytes(self.path)).hexdigest() != step.after:
                raise PromptsChangedError(self.path, "undoing would lose that: nothing was written")
            write_atomically(self.path, step.before, backup_folder=backups)
            self._steps.pop()
            self._take(step.prompts)
            return f"undone: {step.done}"

    def changed(self) -> PromptSet | None:
        """Return the prompts if another program changed the file, else None.

        Cheap while nothing changed. A change counts only after it stayed the same between two
        calls. Raises PromptSetError or FileError if the file is missing or cannot be used, once for
        each change.
        """
        if not self._lock.acquire(blocking=False):
            return None  # this process is writing it
        try:
            signature = change_signature(self.path)
            if signature == self._signature:
                return None
            if signature != self._seen:
                self._seen = signature
                return None
            self._signature = signature
            if signature is None:
                raise FileError(
                    self.path,
                    "the file is missing: it was deleted or moved",
                    "put it back, or open another one; until then its prompts stay as they are",
                )
            current = self.prompts
            content = read_bytes(self.path)
            changed = parse_prompts(self.path, content, current.intent, self.reading)
            same = (
                changed.intent is current.intent
                and changed.intent_given is current.intent_given
                and changed.frame.equals(current.frame)
            )
            return None if same else changed
        finally:
            self._lock.release()

    def adopt(self, prompts: PromptSet) -> None:
        """Continue with another program's prompts; earlier edits can no longer be undone."""
        with self._lock:
            self._steps.clear()
            self.prompts = prompts

    def _take(self, prompts: PromptSet) -> None:
        self.prompts = prompts
        self._signature = self._seen = change_signature(self.path)

    def _forget_oldest(self) -> None:
        del self._steps[:-UNDO_STEPS]
        while len(self._steps) > 1 and sum(len(step.before) for step in self._steps) > UNDO_BYTES:
            del self._steps[0]


def change_signature(path: Path) -> _Signature | None:
    """Return the change signature (mtime, size, inode); None if missing or not a regular file."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _edit_text(edit: PromptEdit, count: int, path: Path, old: PromptSet) -> str:
    prompts = f"{count} prompt{'s' * (count != 1)}"
    name = display_text(path.name)
    if isinstance(edit, Add):
        return f"{prompts} added to {name}"
    if isinstance(edit, Remove):
        return f"{prompts} removed from {name}"
    if isinstance(edit, Rewrite):
        row = old.row_of(edit.key)
        same = row is not None and old.prompts[row] == edit.prompt
        verdicts = "" if same else "; verdicts recorded for its old text no longer count"
        return f"{prompts} edited in {name}{verdicts}"
    verb = "relabelled" if isinstance(edit, Relabel) else "duplicated"
    return f"{prompts} {verb} in {name}"


def _contradictory(prompts: PromptSet) -> tuple[int, ...]:
    """Return the lines of prompts that occur with both labels."""
    lines = (finding.lines for finding in prompts.findings if finding.code == "contradictory-label")
    return next(lines, ())
