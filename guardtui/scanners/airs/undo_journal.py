"""Undo records of applied changes: JSON values that are stored in a file and reverted in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.scanners.airs.policy import PolicyUndo, merged


@dataclass(frozen=True, slots=True)
class Reverted:
    """Result of a revert, in words. `topic_revision` is that of the restored text, if any."""

    profile: SecurityProfile
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    topic_revision: int | None = None


class ExperimentMark(BaseModel):
    """The definition of an experiment that a profile has: 0 is the current one, then candidates.

    `owner` names the lock that the experiment's process holds while it runs.
    """

    model_config = ConfigDict(frozen=True)

    number: int
    owner: str


class UndoRecord(BaseModel):
    """State before a topic was applied; JSON, so that it can be stored in a file.

    `topic` is None if the service had no topic with this name. `revision` is that of the profile
    after the change, which reveals later changes by others.
    """

    model_config = ConfigDict(frozen=True)

    profile_name: str
    topic_id: str
    topic_name: str
    topic: dict[str, Any] | None
    changed_topic: bool
    undo: PolicyUndo
    revision: int
    topic_revision: int
    """Revision of the topic after the change; any other was made elsewhere."""
    revision_before: int = 0
    """Revision of the profile before the change; shows whether two changes were consecutive."""
    experiment: ExperimentMark | None = None
    """Set in the changes of an experiment, which reverts them itself unless it is killed."""

    def then(self, later: UndoRecord) -> UndoRecord:
        """Return the record that reverts both this change and a later one of the same topic."""
        if (self.profile_name, self.topic_id) != (later.profile_name, later.topic_id):
            raise ValueError("the changes are of different topics or profiles")
        return self.model_copy(
            update={
                "changed_topic": self.changed_topic or later.changed_topic,
                "undo": merged(self.undo, later.undo),
                "revision": later.revision,
                "topic_revision": later.topic_revision,
                "experiment": later.experiment,
            }
        )

    def after(self, later: UndoRecord, back: Reverted) -> UndoRecord:
        """Return this record once the later one was reverted, so that it is no foreign change.

        Changes that others made to profile or topic between the two are still reported.
        """
        revisions: dict[str, int] = {}
        if self.profile_name == later.profile_name and self.revision == later.revision_before:
            revisions["revision"] = back.profile.revision
        between = 0 if later.topic is None else later.topic.get("revision")
        if self.topic_id == later.topic_id and self.topic_revision == between:
            revisions["topic_revision"] = back.topic_revision or self.topic_revision
        return self.model_copy(update=revisions)


Journal = Callable[[UndoRecord | None], None]
"""Called with the undo record before a change is sent, and again whenever the record changes.

Called with None if nothing was changed after all. Each record replaces the previous one, so that a
process that is interrupted leaves the last one behind.
"""


@dataclass(slots=True)
class PendingUndo:
    """The undo record of one `apply`, and the journal that stores it."""

    profile: str
    known: CustomTopic | None
    changed_topic: bool
    journal: Journal | None
    topic_name: str
    revision_before: int
    written: UndoRecord | None = None

    def record(
        self, topic_id: str, topic_revision: int, undo: PolicyUndo, revision: int
    ) -> UndoRecord:
        known = self.known
        return UndoRecord(
            profile_name=self.profile,
            topic_id=topic_id,
            topic_name=self.topic_name,
            topic=None if known is None else known.model_dump(mode="json"),
            changed_topic=self.changed_topic,
            undo=undo,
            revision=revision,
            topic_revision=topic_revision,
            revision_before=self.revision_before,
        )

    def write(self, topic_id: str, topic_revision: int, undo: PolicyUndo, revision: int) -> None:
        record = self.record(topic_id, topic_revision, undo, revision)
        if self.journal is not None and record != self.written:
            self.journal(record)
        self.written = record

    def retract(self) -> None:
        if self.journal is not None and self.written is not None:
            self.journal(None)
        self.written = None
