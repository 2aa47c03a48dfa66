"""The prompts of a large set in the app: a read-only sample."""

from __future__ import annotations

from pathlib import Path

from guardtui.domain.prompt_edit import PromptEdit
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading, Unlabelled
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileError
from guardtui.session.prompt_file import PromptFile
from guardtui.session.store import SessionStore
from guardtui.shards.large_set import LargeSet, is_large_set, open_set
from guardtui.shards.sample import Sample, draw


class SampledPrompts(PromptFile):
    """A sample in place of a prompt file; `path` is the folder of the large set."""

    def __init__(self, large: LargeSet, sample: Sample) -> None:
        super().__init__(large.folder, sample.prompts)
        self.large, self.sample = large, sample

    @classmethod
    def draw(cls, path: Path) -> SampledPrompts:
        """Draw the sample of the large set in a folder. Raises FileError."""
        large = open_set(path)
        large.require_rows()
        return cls(large, draw(large))

    @property
    def _problem(self) -> FileError:
        return FileError(
            self.path,
            "these prompts are of a large set, of which every shard and verdict would be void",
            f"change {self.large.source} and evaluate it into another folder",
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
        """Return None: shards do not change."""
        return None


def open_prompt_file(path: Path, intent: Intent, reading: Reading = AS_WRITTEN) -> PromptFile:
    """Open a prompt file, or the sample of a large set.

    `intent` is the topic's, for a file without one. Raises FileError or PromptSetError.
    """
    if is_large_set(path):
        return SampledPrompts.draw(path)
    return PromptFile.open(path, intent, reading)


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
