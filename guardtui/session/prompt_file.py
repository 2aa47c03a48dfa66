"""The prompt file of an opened topic: edits, undo, changes by other programs, samples."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.prompt_edit import (
    Add,
    PromptEdit,
    Relabel,
    Remove,
    RemovedRow,
    Restore,
    Rewrite,
)
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading, Unlabelled
from guardtui.domain.prompts import LARGE, PromptSet
from guardtui.domain.text import display_text
from guardtui.domain.topic import Intent
from guardtui.files.atomic import write_atomically
from guardtui.files.change_signature import Signature, change_signature
from guardtui.files.inbox_file import inbox_path
from guardtui.files.problems import FileError, read_bytes
from guardtui.files.prompt_documents import read_only_error
from guardtui.files.prompt_edits import PromptsChangedError, edit_prompts
from guardtui.files.prompt_files import load_prompts, parse_prompts
from guardtui.large_sets.sample import Sample, draw
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore

UNDO_STEPS = 50
UNDO_BYTES = 64 * 1024 * 1024
"""Total size of old contents stored for undo; the latest is stored whatever its size."""

_LINES = 6  # named in a sentence


@dataclass(frozen=True, eq=False)
class _FileStep:
    """An undoable edit: the file's content before, and the SHA-256 of its content after."""

    before: bytes
    prompts: PromptSet
    after: str
    done: str


class PromptFile:
    """Prompts and their file; `prompts` is replaced as a whole, when a call succeeds.

    Of a large file they are a read-only `sample`. Calls may come from several threads; they are
    serialised.
    """

    def __init__(
        self, path: Path, intent: Intent | None = None, reading: Reading = AS_WRITTEN
    ) -> None:
        """Read a prompt file; `intent` is the topic's, for a file without one.

        Raises FileError or PromptSetError.
        """
        self.path = path
        self.reading = reading
        self.removed: tuple[RemovedRow, ...] = ()
        """Rows of the last edit, if it was a restorable removal."""
        self._steps: list[_FileStep] = []
        self._lock = threading.Lock()
        self.problem = ""
        """Why the file cannot be read, as `changed` last saw it, or ""."""
        # Taken before reading, so that a write in between is detected as a change.
        self._signature = self._seen = self._signatures()
        self.prompts = load_prompts(path, intent, reading)
        self.sample: Sample | None = None
        if len(self.prompts) > LARGE:
            self.sample = draw(self.prompts)
            self.prompts = self.sample.prompts

    @property
    def refusal(self) -> str:
        """Why these prompts cannot be edited, or ""."""
        if self.sample is not None:
            return str(self._sample_problem(self.sample))
        return str(read_only_error(self.path)) if self.prompts.read_only else ""

    def _sample_problem(self, sample: Sample) -> FileError:
        return FileError(
            self.path,
            f"these prompts are a {sample.text}, which cannot be edited here",
            "edit the file with another program, and open it again",
        )

    def edit(self, edit: PromptEdit, backups: Path) -> str:
        """Edit the file and return a sentence on what was done. Raises FileError."""
        if self.sample is not None:
            raise self._sample_problem(self.sample)
        with self._lock:
            old = self.prompts
            result = edit_prompts(self.path, old, edit, backup_folder=backups, reading=self.reading)
            if not result.count:
                return "no changes: the prompts already have these values"
            done = _edit_text(edit, result.count, self.path, old)
            digest = hashlib.sha256(result.after).hexdigest()
            self._steps.append(_FileStep(result.before, old, digest, done))
            del self._steps[:-UNDO_STEPS]
            while (
                len(self._steps) > 1 and sum(len(step.before) for step in self._steps) > UNDO_BYTES
            ):
                del self._steps[0]
            self._take(result.prompts)
            self.removed = result.removed
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
        if self.sample is not None:
            raise self._sample_problem(self.sample)
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
        """Return the prompts if another program changed the file or its inbox, else None.

        Cheap while nothing changed. A change counts only after it stayed the same between two
        calls. A sample stays as it was drawn. Raises PromptSetError or FileError if the file is
        missing or cannot be used, once for each change.
        """
        if self.sample is not None:
            return None
        if not self._lock.acquire(blocking=False):
            return None  # this process is writing it
        try:
            signature = self._signatures()
            if signature == self._signature:
                return None
            if signature != self._seen:
                self._seen = signature
                return None
            self._signature = signature
            current = self.prompts
            try:
                changed = self._read_again(missing=signature[0] is None)
            except GuardtuiError as problem:
                self.problem = str(problem)
                raise
            self.problem = ""
            same = (
                changed.intent is current.intent
                and changed.intent_given is current.intent_given
                and changed.waiting == current.waiting
                and changed.frame.equals(current.frame)
            )
            return None if same else changed
        finally:
            self._lock.release()

    def _read_again(self, *, missing: bool) -> PromptSet:
        if missing:
            raise FileError(
                self.path,
                "the file is missing: it was deleted or moved",
                "put it back, or open another one; until then its prompts stay as they are",
            )
        content = read_bytes(self.path)
        return parse_prompts(self.path, content, self.prompts.intent, self.reading)

    def reread(self) -> None:
        """Read the file again, which this process changed by other means: labels of the inbox.

        Raises FileError or PromptSetError; the prompts are then as they were.
        """
        if self.sample is None:
            with self._lock:
                self._take(load_prompts(self.path, self.prompts.intent, self.reading))

    def adopt(self, prompts: PromptSet) -> None:
        """Continue with another program's prompts.

        If it changed more than the inbox, earlier edits can no longer be undone.
        """
        with self._lock:
            if not prompts.frame.equals(self.prompts.frame):
                self._steps.clear()
            self.prompts = prompts

    def _take(self, prompts: PromptSet) -> None:
        self.prompts = prompts
        self._signature = self._seen = self._signatures()

    def _signatures(self) -> tuple[Signature, Signature]:
        """Return the change signatures of the file and of its inbox."""
        return change_signature(self.path), change_signature(inbox_path(self.path))


def _edit_text(edit: PromptEdit, count: int, path: Path, old: PromptSet) -> str:
    prompts = f"{count} prompt{'s' * (count != 1)}"
    name = display_text(path.name)
    if isinstance(edit, Add):
        return f"{prompts} added to {name}"
    if isinstance(edit, Remove):
        return f"{prompts} removed from {name}"
    if isinstance(edit, Restore):
        return f"{prompts} put back into {name}"
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


# --- the file that a session remembers -------------------------------------------------------


def load_prompts_of(topic: Path, store: SessionStore) -> PromptSet:
    """Return the prompts that a topic's session remembers: of a large set, the sample.

    By default those of NAME.csv beside the topic file.
    The intent may not be the topic's; texts and labels do not depend on it. Raises FileError or
    PromptSetError.
    """
    name = store.prompt_file() or topic.with_suffix(".csv").name
    path = topic.parent / name  # an absolute path stays unchanged
    return PromptFile(path, Intent.BLOCK, reading_of(store)).prompts


_READING = "prompt_reading"


def reading_of(store: SessionStore) -> Reading:
    """Return how the session's prompt file was read last."""
    try:
        saved = store.setting(_READING)
        return Reading(Unlabelled(saved["unlabelled"]), str(saved["sheet"]))
    except (TypeError, KeyError, ValueError):  # never saved, or by another version
        return AS_WRITTEN


def usual_reading(topic: Path, prompts: Path) -> Reading:
    """Return how these prompts were read if they were used last."""
    if has_session(topic):
        store = SessionStore(topic, reading=True)
        if store.prompt_file() == str(prompts.resolve()):
            return reading_of(store)
    return AS_WRITTEN


def remember_reading(store: SessionStore, reading: Reading) -> None:
    """Remember how the session's prompt file is read. Raises StoreError."""
    if reading != reading_of(store):
        saved = {"unlabelled": reading.unlabelled.value, "sheet": reading.sheet}
        store.update_settings({_READING: saved})
