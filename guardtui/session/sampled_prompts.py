"""The prompts of a large set in the app: a read-only sample."""

from __future__ import annotations

from pathlib import Path

from guardtui.domain.prompt_edit import PromptEdit
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading, Unlabelled
from guardtui.domain.prompts import LARGE, PromptSet
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileError
from guardtui.large_sets.sample import Sample, draw
from guardtui.session.prompt_file import PromptFile
from guardtui.session.store import SessionStore


class SampledPrompts(PromptFile):
    """A sample of a large prompt file."""

    def __init__(self, path: Path, sample: Sample, reading: Reading = AS_WRITTEN) -> None:
        super().__init__(path, sample.prompts, reading=reading)
        self.sample = sample

    @property
    def _problem(self) -> FileError:
        return FileError(
            self.path,
            f"these prompts are a {self.sample.text}, which cannot be edited here",
            "edit the file with another program, and open it again",
        )

    @property
    def refusal(self) -> str:
        return str(self._problem)

    def edit(self, edit: PromptEdit, backups: Path) -> str:
        """Raise FileError: a sample cannot be edited."""
        raise self._problem

    def undo(self, backups: Path) -> str:
        """Raise FileError: a sample cannot be edited."""
        raise self._problem

    def changed(self) -> PromptSet | None:
        """Return None: a sample stays as it was drawn."""
        return None


def open_prompt_file(path: Path, intent: Intent, reading: Reading = AS_WRITTEN) -> PromptFile:
    """Open a prompt file; of a large one, a sample.

    `intent` is the topic's, for a file without one. Raises FileError or PromptSetError.
    """
    file = PromptFile.open(path, intent, reading)
    if len(file.prompts) <= LARGE:
        return file
    return SampledPrompts(path, draw(file.prompts), reading)


def load_prompts_of(topic: Path, store: SessionStore) -> PromptSet:
    """Return the prompts that a topic's session remembers: of a large set, the sample.

    The intent may not be the topic's; texts and labels do not depend on it. Raises FileError or
    PromptSetError.
    """
    path = topic.parent / store.prompt_file()  # an absolute path stays unchanged
    return open_prompt_file(path, Intent.BLOCK, reading_of(store)).prompts


_READING = "prompt_reading"


def reading_of(store: SessionStore) -> Reading:
    """Return how the session's prompt file was read last."""
    try:
        saved = store.setting(_READING)
        return Reading(Unlabelled(saved["unlabelled"]), str(saved["sheet"]))
    except (TypeError, KeyError, ValueError):  # never saved, or by another version
        return AS_WRITTEN


def remember_reading(store: SessionStore, reading: Reading) -> None:
    """Remember how the session's prompt file is read. Raises StoreError."""
    if reading != reading_of(store):
        saved = {"unlabelled": reading.unlabelled.value, "sheet": reading.sheet}
        store.update_settings({_READING: saved})
