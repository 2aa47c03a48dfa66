"""The prompt file of an opened topic: edited, put back, and watched for other programs."""

from __future__ import annotations

import hashlib
import stat
import threading
from dataclasses import dataclass
from pathlib import Path

from guardtui.domain.prompt_edit import Add, PromptEdit, Relabel, Remove, Rewrite
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.domain.topic import Intent
from guardtui.files.atomic import write_atomically
from guardtui.files.problems import read_bytes
from guardtui.files.prompt_documents import refusal_of
from guardtui.files.prompt_edits import PromptsChangedError, edit_prompts
from guardtui.files.prompt_files import load_prompts, parse_prompts

UNDO_STEPS = 50
UNDO_BYTES = 64 * 1024 * 1024
"""Old contents that are kept for undoing, together; the newest is kept whatever its size."""

_LINES = 6  # named in a sentence

_Signature = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class _Step:
    """An edit that can be undone: what the file held before, and a sha256 of what it held after."""

    before: bytes
    prompts: PromptSet
    after: str
    done: str


class PromptFile:
    """The prompts and their file. `prompts` is replaced as a whole, and only when a call succeeds.

    Calls may come from several threads; one works at a time.
    """

    def __init__(self, path: Path, prompts: PromptSet, signature: _Signature | None = None) -> None:
        self.path = path
        self.prompts = prompts
        self._steps: list[_Step] = []
        self._lock = threading.Lock()
        self._signature = signature or _signature(path)
        self._seen = self._signature

    @classmethod
    def open(cls, path: Path, intent: Intent | None = None) -> PromptFile:
        """Read a prompt file; `intent` is the topic's, for one that does not give it.

        Raises FileError or PromptSetError.
        """
        # Before it is read: what is written meanwhile is then seen as a change.
        signature = _signature(path)
        return cls(path, load_prompts(path, intent), signature)

    @property
    def refusal(self) -> str:
        """Why these prompts are not edited; "" where they are."""
        problem = refusal_of(self.path)
        return "" if problem is None else str(problem)

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to undo."""
        return bool(self._steps)

    def edit(self, edit: PromptEdit, backups: Path) -> str:
        """Change the file; one sentence of what was done. Raises FileError."""
        with self._lock:
            old = self.prompts
            result = edit_prompts(self.path, old, edit, backup_folder=backups)
            if not result.count:
                return "nothing to change: the prompts are so already"
            done = _told(edit, result.count, self.path, old)
            digest = hashlib.sha256(result.after).hexdigest()
            self._steps.append(_Step(result.before, old, digest, done))
            self._forget_oldest()
            self._take(result.prompts)
            lines = _contradictory(result.prompts)
            if len(lines) > len(_contradictory(old)):
                where = ", ".join(map(str, lines[:_LINES])) + " …" * (len(lines) > _LINES)
                return f"{done}; the same prompt now stands with both labels: lines {where}"
            return done

    def undo(self, backups: Path) -> str:
        """Put the file back as it was before the last edit; what was undone, "" when nothing.

        Raises PromptsChangedError when another program wrote it since, FileError when it cannot be
        written.
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
        """The prompts as another program left them since they were read or written here, or None.

        Cheap while nothing happened. The file is read when it stayed the same between two calls;
        one that is gone is looked at again later. Raises PromptSetError or FileError when it
        cannot be used, once for each change.
        """
        if not self._lock.acquire(blocking=False):
            return None  # it is being written here
        try:
            signature = _signature(self.path)
            if signature is None or signature == self._signature:
                return None
            if signature != self._seen:
                self._seen = signature
                return None
            self._signature = signature
            known = self.prompts
            found = parse_prompts(self.path, read_bytes(self.path), known.intent)
            same = (
                found.intent is known.intent
                and found.intent_given is known.intent_given
                and found.frame.equals(known.frame)
            )
            return None if same else found
        finally:
            self._lock.release()

    def adopt(self, prompts: PromptSet) -> None:
        """Go on from the prompts as another program left them; edits before can't be undone."""
        with self._lock:
            self._steps.clear()
            self.prompts = prompts

    def _take(self, prompts: PromptSet) -> None:
        self.prompts = prompts
        self._signature = self._seen = _signature(self.path)

    def _forget_oldest(self) -> None:
        del self._steps[:-UNDO_STEPS]
        while len(self._steps) > 1 and sum(len(one.before) for one in self._steps) > UNDO_BYTES:
            del self._steps[0]


def _signature(path: Path) -> _Signature | None:
    """What changes whenever a file is written; None when there is none, or it is a pipe."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _told(edit: PromptEdit, count: int, path: Path, old: PromptSet) -> str:
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
    what = "relabelled" if isinstance(edit, Relabel) else "duplicated"
    return f"{prompts} {what} in {name}"


def _contradictory(prompts: PromptSet) -> tuple[int, ...]:
    """Lines of prompts that stand with both labels."""
    found = (one.lines for one in prompts.findings if one.code == "contradictory-label")
    return next(found, ())
