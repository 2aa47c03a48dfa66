"""Reverts of applied changes, and topics left by a rename: read from the undo journal."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from guardtui.domain.topic import Topic
from guardtui.files.command_lines import command_line
from guardtui.http.errors import inert
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.models import SecurityProfile
from guardtui.scanners.airs.policy_paths import is_topic, members, pinned
from guardtui.scanners.airs.undo_journal import Reverted, UndoRecord
from guardtui.session.applied import AppliedLog, JournalEntry
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore, StoreError


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


def revert_words(path: Path, connection: AirsConnection, *options: str) -> tuple[str | Path, ...]:
    """Return the words of the command that reverts the changes applied from a file."""
    tenant = connection.settings.tenant
    of_tenant = ["--set", f"tenant={tenant}"] if tenant else []
    profile = f"airs:{connection.profile}"
    return ("guardtui", "topics", "revert", path, "--guardrail", profile, *of_tenant, *options)


def revert_line(path: Path, connection: AirsConnection, *options: str) -> str:
    """Return the command of `revert_words` as one line."""
    return command_line(*revert_words(path, connection, *options))


@dataclass(frozen=True, slots=True)
class FormerTopic:
    """A topic of a profile, applied from a file before its topic was renamed.

    `text` says so, with what takes it out. `remedy` are the words of the command that does, before
    the definition is applied again; () if no revert does.
    """

    text: str
    remedy: tuple[str | Path, ...]


def former_topic(
    path: Path, connection: AirsConnection, topic: Topic, profile: SecurityProfile
) -> FormerTopic | None:
    """Return the topic that a profile has still, besides the one of a file; None without.

    Reads the undo journal; what cannot be read is not known.
    """
    first: dict[str, UndoRecord] = {}
    with contextlib.suppress(StoreError):
        if has_session(path):
            log = AppliedLog(SessionStore(path, reading=True), connection.key)
            for way in log.ways():
                with contextlib.suppress(ValidationError):
                    record = UndoRecord.model_validate(way)
                    first.setdefault(record.topic_id, record)
    for topic_id, record in first.items():
        if record.topic_name != topic.name and pinned(profile.policy, topic_id):
            break
    else:
        return None
    name = inert(record.topic_name, characters=60)
    text = f"topic {name!r}, renamed in this file, is still in the profile and stops prompts too"
    if any(is_topic(member, topic_id) for _, member in members(record.undo.before)):
        delete = shlex.join(["guardtui", "topics", "delete", record.topic_name, "--force"])
        return FormerTopic(f"{text}; {delete} --updated-by EMAIL deletes it", ())
    line = revert_line(path, connection, "--all")
    remedy = revert_words(path, connection, "--all", "--yes")
    return FormerTopic(f"{text}; '{line}' takes it out, then apply again", remedy)


def _target(before: UndoRecord) -> tuple[str, str, str]:
    return before.profile_name, before.topic_id, str(before.undo.place)
