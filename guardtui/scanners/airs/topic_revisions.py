"""Texts of topic revisions: AIRS returns only the newest text, but profiles pin older ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Protocol

from guardtui.domain.topic import Topic
from guardtui.scanners.airs.models import CustomTopic

_LOOKED_UP = 200
"""Maximum number of older revisions whose text is compared."""


class TopicRevisions(Protocol):
    """Remembers the text of each topic revision that was seen.

    The text of a revision never changes. Texts are stored as hashes (`text_hash`).
    """

    def find(self, service: str, topic_id: str, revision: int) -> str | None:
        """Return the hash of the text of a revision; None if it was never seen."""

    def find_text(self, service: str, topic_id: str, revisions: range, text: str) -> int:
        """Return the first of these revisions that has this text, or 0."""

    def keep(self, service: str, seen: Iterable[tuple[str, int, str]]) -> None:
        """Remember topic id, revision and text hash of each topic that was seen."""


class SeenRevisions:
    """Topic revisions seen by this process."""

    def __init__(self) -> None:
        self._hashes: dict[tuple[str, str, int], str] = {}

    def find(self, service: str, topic_id: str, revision: int) -> str | None:
        return self._hashes.get((service, topic_id, revision))

    def find_text(self, service: str, topic_id: str, revisions: range, text: str) -> int:
        return next(
            (revision for revision in revisions if self.find(service, topic_id, revision) == text),
            0,
        )

    def keep(self, service: str, seen: Iterable[tuple[str, int, str]]) -> None:
        for topic_id, revision, text in seen:
            self._hashes[service, topic_id, revision] = text


class ServiceRevisions:
    """Topic revisions of one management service; `revisions` remembers them."""

    def __init__(self, service: str, revisions: TopicRevisions | None = None) -> None:
        self._service = service
        self._revisions = SeenRevisions() if revisions is None else revisions

    def keep(self, topics: Iterable[CustomTopic]) -> None:
        """Remember the texts of topics that the service returned."""
        self._revisions.keep(
            self._service,
            [
                (topic.topic_id.lower(), topic.revision, text_hash(topic))
                for topic in topics
                if topic.topic_id and topic.revision > 0
            ],
        )

    def text(self, topic_id: str, revision: int) -> str | None:
        """Return the hash of the text of a revision; None if it was never seen.

        A pin without a revision, or with 0, is the original text.
        """
        return self._revisions.find(self._service, topic_id.lower(), max(revision, 1))

    def older(self, known: CustomTopic, topic: Topic) -> int:
        """Return the newest older revision that is known to have this text, or 0."""
        newest = known.revision - 1
        revisions = range(newest, max(0, newest - _LOOKED_UP), -1)
        return self._revisions.find_text(
            self._service, known.topic_id.lower(), revisions, text_hash(topic)
        )


def text_hash(topic: CustomTopic | Topic) -> str:
    """Return the SHA-256 (64 hex digits) of name, description and examples."""
    name = topic.name if isinstance(topic, Topic) else topic.topic_name
    text = json.dumps([name, topic.description, list(topic.examples)])
    return hashlib.sha256(text.encode()).hexdigest()
