"""Current topics of a profile: bucket, pinned revision, and its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from guardtui.domain.topic import Intent, Topic
from guardtui.http.errors import inert
from guardtui.scanners.airs.connection import ActiveRevision, AirsConnection
from guardtui.scanners.airs.policy_fingerprint import fingerprint_of
from guardtui.scanners.airs.policy_paths import guardrails, members, revision_of
from guardtui.scanners.airs.topic_revisions import text_hash
from guardtui.scanners.airs.topic_writes import newest

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class PinnedTopic:
    """A topic of the profile at one revision.

    `text` is the hash of that revision's text (`text_hash`), None if unknown.
    """

    name: str
    intent: Intent
    revision: int
    text: str | None


@dataclass(frozen=True, slots=True)
class ProfileState:
    """The active revision of a profile, and its topics.

    `closed` tells whether prompts that match no topic are stopped; None if the parts of the policy
    differ in that, or the profile has no topics.
    """

    now: ActiveRevision
    topics: tuple[PinnedTopic, ...]
    closed: bool | None

    def find(self, name: str) -> PinnedTopic | None:
        """Return the topic with this name, or None."""
        return next((topic for topic in self.topics if topic.name == name), None)

    def differences(self, topics: Sequence[Topic]) -> list[str]:
        """Return the differences between local definitions and the profile, a sentence each."""
        differences = []
        for topic in topics:
            name, pinned = inert(topic.name, characters=_SHOWN), self.find(topic.name)
            if pinned is None:
                differences.append(
                    f"topic {name} is not in the profile, so it cannot match any prompt"
                )
            elif pinned.intent is not topic.intent:
                differences.append(
                    f"topic {name} has intent {pinned.intent} in the profile, not as in its file"
                )
            elif pinned.text is None:
                differences.append(
                    f"topic {name} is pinned at revision {pinned.revision}, whose text AIRS does "
                    "not return: it may differ from the file"
                )
            elif pinned.text != text_hash(topic):
                differences.append(f"topic {name} has another text in the profile than in its file")
        return differences


async def read_profile_state(connection: AirsConnection) -> ProfileState | None:
    """Look up the profile; None without a service account. Raises AirsError and ServiceError."""
    if not connection.manages:
        return None
    async with connection.management() as client:
        row = await newest(client, connection.profile)
        known = {topic.topic_id.lower(): topic for topic in await client.topics()}
        revisions = client.revisions
    topics: dict[str, PinnedTopic] = {}
    defaults = set()
    for path, item in guardrails(row.policy):
        if path.direction not in ("", "prompt"):
            continue
        defaults.add(str(item.get("action")))
        for action, member in members(item):
            topic_id, revision = str(member.get("topic_id")), revision_of(member)
            topic = known.get(topic_id.lower())
            name = str(member.get("topic_name") or (topic.topic_name if topic else ""))
            intent = Intent.ALLOW if action == "allow" else Intent.BLOCK
            text = revisions.text(topic_id, revision)
            topics.setdefault(name, PinnedTopic(name, intent, revision, text))
    closed = {"allow": False, "block": True}.get(defaults.pop()) if len(defaults) == 1 else None
    return ProfileState(
        ActiveRevision(row, fingerprint_of(row, "")), tuple(topics.values()), closed
    )
