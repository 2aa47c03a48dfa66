"""The topics of a profile as they stand in it now: bucket, pinned revision, and its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from guardtui.domain.topic import Intent, Topic
from guardtui.http.errors import inert
from guardtui.scanners.airs.connection import AirsConnection, InEffect
from guardtui.scanners.airs.effect import effect_of
from guardtui.scanners.airs.places import guardrails, members, revision_of
from guardtui.scanners.airs.topic_revisions import text_hash
from guardtui.scanners.airs.writes import newest

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Pinned:
    """A topic of the profile at one revision.

    `text` is the hash of that revision's text (`text_hash`), None where it is not known.
    """

    name: str
    intent: Intent
    revision: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Standing:
    """A profile as it is: what is in effect, its topics, and whether it stops what none matches.

    `closed` is None where the parts of the policy differ in that, or none has topics.
    """

    now: InEffect
    topics: tuple[Pinned, ...]
    closed: bool | None

    def find(self, name: str) -> Pinned | None:
        """The topic of this name, or None."""
        return next((one for one in self.topics if one.name == name), None)

    def differences(self, topics: Sequence[Topic]) -> list[str]:
        """What is not in the profile as it is defined here, a sentence each."""
        told = []
        for topic in topics:
            name, pinned = inert(topic.name)[:_SHOWN], self.find(topic.name)
            if pinned is None:
                told.append(f"topic {name} is not in the profile: it cannot match anything there")
            elif pinned.intent is not topic.intent:
                told.append(f"topic {name} is there to {pinned.intent}, its file says otherwise")
            elif pinned.text is None:
                told.append(
                    f"topic {name} is pinned there at revision {pinned.revision}, whose text AIRS "
                    "does not show: it may differ from the file"
                )
            elif pinned.text != text_hash(topic):
                told.append(f"topic {name} has another text there than in its file")
        return told


async def standing(connection: AirsConnection) -> Standing | None:
    """Look the profile up; None without a service account. Raises AirsError and ServiceError."""
    if not connection.manages:
        return None
    async with connection.management() as client:
        row = await newest(client, connection.profile)
        known = {one.topic_id.lower(): one for one in await client.topics()}
        revisions = client.revisions
    found: dict[str, Pinned] = {}
    defaults = set()
    for place, item in guardrails(row.policy):
        if place.direction not in ("", "prompt"):
            continue
        defaults.add(str(item.get("action")))
        for action, member in members(item):
            topic_id, revision = str(member.get("topic_id")), revision_of(member)
            topic = known.get(topic_id.lower())
            name = str(member.get("topic_name") or (topic.topic_name if topic else ""))
            intent = Intent.ALLOW if action == "allow" else Intent.BLOCK
            text = revisions.text(topic_id, revision)
            found.setdefault(name, Pinned(name, intent, revision, text))
    closed = {"allow": False, "block": True}.get(defaults.pop()) if len(defaults) == 1 else None
    return Standing(InEffect(row, effect_of(row, "")), tuple(found.values()), closed)
