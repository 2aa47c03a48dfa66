"""Ways back from what was applied: values that are kept in a file and lead back one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.scanners.airs.policy import Undo, merged


@dataclass(frozen=True, slots=True)
class Reverted:
    """What was done to go back, in words. `topic_revision` is the text's, if it was given back."""

    profile: SecurityProfile
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    topic_revision: int | None = None


class Before(BaseModel):
    """How things were before a topic was applied; JSON, so that it can be kept in a file.

    `topic` is None when the service had none of this name. `revision` is that of the profile
    after the change, by which is known whether others changed it since.
    """

    model_config = ConfigDict(frozen=True)

    profile_name: str
    topic_id: str
    topic_name: str
    topic: dict[str, Any] | None
    changed_topic: bool
    undo: Undo
    revision: int
    topic_revision: int
    """That of the topic after the change; another one was not made here."""
    revision_before: int = 0
    """That of the profile before the change, by which two changes are known to be neighbours."""

    def then(self, later: Before) -> Before:
        """The way back over this change and a later one of the same topic and profile."""
        if (self.profile_name, self.topic_id) != (later.profile_name, later.topic_id):
            raise ValueError("these are changes of two topics or profiles")
        return self.model_copy(
            update={
                "changed_topic": self.changed_topic or later.changed_topic,
                "undo": merged(self.undo, later.undo),
                "revision": later.revision,
                "topic_revision": later.topic_revision,
            }
        )

    def after(self, later: Before, back: Reverted) -> Before:
        """This way back once the later one was gone, with what came of that: no change of others.

        Where others changed the profile or the topic between the two, that is still told.
        """
        now: dict[str, int] = {}
        if self.profile_name == later.profile_name and self.revision == later.revision_before:
            now["revision"] = back.profile.revision
        between = 0 if later.topic is None else later.topic.get("revision")
        if self.topic_id == later.topic_id and self.topic_revision == between:
            now["topic_revision"] = back.topic_revision or self.topic_revision
        return self.model_copy(update=now)


Journal = Callable[[Before | None], None]
"""Told of the way back before a change is sent that needs it, and again whenever it is another one;

None when it turned out that nothing was changed. Each takes the place of the one before, so that
a process that ends in the middle leaves the last one behind.
"""


@dataclass(slots=True)
class Way:
    """The way back of one `apply`, and who is told of it."""

    profile: str
    known: CustomTopic | None
    changed_topic: bool
    journal: Journal | None
    topic_name: str
    revision_before: int
    told: Before | None = None

    def back(self, topic_id: str, topic_revision: int, undo: Undo, revision: int) -> Before:
        known = self.known
        return Before(
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

    def tell(self, topic_id: str, topic_revision: int, undo: Undo, revision: int) -> None:
        way = self.back(topic_id, topic_revision, undo, revision)
        if self.journal is not None and way != self.told:
            self.journal(way)
        self.told = way

    def retract(self) -> None:
        if self.journal is not None and self.told is not None:
            self.journal(None)
        self.told = None
