"""Reverts of applied changes: read from the undo journal, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from guardtui.domain.topic import Topic
from guardtui.files.command_lines import command_line
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.undo_journal import Reverted, UndoRecord
from guardtui.session.applied import AppliedLog, JournalEntry


class UnreadableJournalError(AirsError):
    """An entry of the undo journal is invalid."""


@dataclass(frozen=True, slots=True)
class RevertStep:
    """Changes of one topic in one place that are reverted together, oldest first."""

    entry_ids: tuple[int, ...]
    ways: tuple[UndoRecord, ...]

    @property
    def way(self) -> UndoRecord:
        """The state before all of the changes."""
        return reduce(UndoRecord.then, self.ways)

    @property
    def probe(self) -> Topic:
        """Topic for a probe: the restored one, or its name if there was none."""
        before = self.ways[0]
        examples = (before.topic or {}).get("examples") or ()
        name = before.topic_name
        return Topic(name=name, description=name, examples=tuple(map(str, examples)))

    def after(self, later: RevertStep, done: Reverted) -> RevertStep:
        """Return this step after a later one was reverted, which is not a change by others."""
        *earlier, newest = self.ways
        return replace(self, ways=(*earlier, newest.after(later.way, done)))

    def forget(self, log: AppliedLog, done: Reverted) -> None:
        """Remove the reverted changes from the journal. Raises StoreError.

        The change before them is amended: the revert is not a change by others.
        """
        before = self.way

        def amend(earlier: dict[str, Any]) -> dict[str, Any]:
            try:
                return (
                    UndoRecord.model_validate(earlier).after(before, done).model_dump(mode="json")
                )
            except ValidationError:
                return earlier

        log.drop(self.entry_ids, amend)


def steps_back(entries: Sequence[JournalEntry]) -> list[RevertStep]:
    """Return the revert steps of journal entries, newest first. Raises UnreadableJournalError."""
    steps: list[RevertStep] = []
    for entry in reversed(entries):
        try:
            before = UndoRecord.model_validate(entry.way)
        except ValidationError as error:
            raise UnreadableJournalError(
                "the journal entry of the last apply cannot be read: nothing was changed"
            ) from error
        if steps and _target(steps[-1].ways[0]) == _target(before):
            last = steps[-1]
            steps[-1] = RevertStep((entry.id, *last.entry_ids), (before, *last.ways))
        else:
            steps.append(RevertStep((entry.id,), (before,)))
    return steps


def revert_line(path: Path, connection: AirsConnection) -> str:
    """Return the command that reverts the changes applied from a file."""
    tenant = connection.settings.tenant
    of_tenant = ["--set", f"tenant={tenant}"] if tenant else []
    profile = f"airs:{connection.profile}"
    return command_line("guardtui", "topics", "revert", path, "--guardrail", profile, *of_tenant)


def _target(before: UndoRecord) -> tuple[str, str, str]:
    return before.profile_name, before.topic_id, str(before.undo.place)
