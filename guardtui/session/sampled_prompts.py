"""The prompts of a large set in the app: a read-only sample."""

from __future__ import annotations

from pathlib import Path

from guardtui.domain.prompt_edit import PromptEdit
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import load_prompts
from guardtui.session.prompt_file import PromptFile
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


def open_prompt_file(path: Path, intent: Intent) -> PromptFile:
    """Open a prompt file, or the sample of a large set.

    `intent` is the topic's, for a file without one. Raises FileError or PromptSetError.
    """
    return SampledPrompts.draw(path) if is_large_set(path) else PromptFile.open(path, intent)


def load_prompts_of(path: Path, intent: Intent = Intent.BLOCK) -> PromptSet:
    """Return the prompts that a session stores under a path: of a large set, the sample.

    `intent` is as in `open_prompt_file`; texts and labels do not depend on it. Raises FileError or
    PromptSetError.
    """
    return SampledPrompts.draw(path).prompts if is_large_set(path) else load_prompts(path, intent)
