"""The topics of an AIRS tenant as the screen lists them, and who holds one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from guardtui.domain.topic import Intent, Topic
from guardtui.http.errors import inert
from guardtui.scanners.airs import lifecycle
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.scanners.airs.places import guardrails, members, pinned, references
from guardtui.scanners.airs.topic_revisions import text_hash

LONGEST = 2000
"""Characters of a text beyond which it is no definition's, and is not compared or taken over."""
_PROFILES = 6
_REVISIONS = 4


@dataclass(frozen=True, slots=True)
class Listing:
    """All topics by name, and the newest revision of the profile; None where there is none."""

    topics: tuple[CustomTopic, ...]
    profile: SecurityProfile | None
    same_text: frozenset[tuple[str, int]] = frozenset()
    """Topic id and revision of pins that are not the newest, but have the newest text."""

    def is_older(self, topic: CustomTopic, revision: int) -> bool:
        """Whether a pinned revision may have another text than the newest."""
        return revision != topic.revision and (topic.topic_id, revision) not in self.same_text

    def pins(self, topic: CustomTopic) -> tuple[tuple[str, int], ...]:
        """Action and revision of each place where the profile has the topic; neither inert."""
        if self.profile is None:
            return ()
        found = pinned(self.profile.policy, topic.topic_id)
        return tuple((action, revision) for _, action, revision in found)

    def intent(self, topic: CustomTopic) -> Intent | None:
        """What the profile does with the topic; None where it does not say, or says both."""
        actions = {action for action, _ in self.pins(topic)}
        return Intent(actions.pop()) if len(actions) == 1 and actions <= set(Intent) else None

    def strangers(self) -> tuple[str, ...]:
        """Names of topics that the profile has and the tenant does not, made inert."""
        if self.profile is None:
            return ()
        known = {one.topic_id.lower() for one in self.topics}
        found = (
            inert(str(member.get("topic_name")))[:60]
            for _, item in guardrails(self.profile.policy)
            for _, member in members(item)
            if str(member.get("topic_id")).lower() not in known
        )
        return tuple(dict.fromkeys(found))


def same_text(topic: CustomTopic, here: Topic) -> bool:
    """Whether a topic has the description and the examples of a definition."""
    return (topic.description, topic.examples) == (here.description, here.examples)


def too_large(topic: CustomTopic) -> bool:
    """Whether a topic is beyond what any definition holds."""
    texts = (topic.topic_name, topic.description, *topic.examples)
    return sum(map(len, texts)) > LONGEST


async def read_listing(connection: AirsConnection) -> Listing:
    """What the tenant has now. Raises AirsError and ServiceError."""
    async with connection.management() as client:
        topics = await client.topics()
        profile = await client.profile(connection.profile)
        revisions = client.revisions
    topics.sort(key=lambda one: (one.topic_name.casefold(), one.topic_id))
    listing = Listing(tuple(topics), profile)
    same = {
        (topic.topic_id, revision)
        for topic in topics
        for _, revision in listing.pins(topic)
        if revisions.text(topic.topic_id, revision) == text_hash(topic)
    }
    return replace(listing, same_text=frozenset(same))


async def holders(connection: AirsConnection, topic: CustomTopic) -> tuple[str, ...]:
    """Which profiles name the topic in any revision, a line each, inert. Raises ServiceError."""
    async with connection.management() as client:
        rows = await client.profiles()
    newest: dict[str, int] = {}
    held: dict[str, list[int]] = {}
    for row in sorted(rows, key=lambda one: -one.revision):
        newest.setdefault(row.profile_name, row.revision)
        if references(row.policy, topic.topic_id):
            held.setdefault(row.profile_name, []).append(row.revision)
    lines = []
    for name, revisions in sorted(held.items())[:_PROFILES]:
        in_effect = " (in effect)" if revisions[0] == newest[name] else ""
        older = "".join(f", {one}" for one in revisions[1:_REVISIONS])
        more = f" and {len(revisions) - _REVISIONS} more" if len(revisions) > _REVISIONS else ""
        lines.append(f"{inert(name)[:60]}: revision {revisions[0]}{in_effect}{older}{more}")
    if len(held) > _PROFILES:
        lines.append(f"and {len(held) - _PROFILES} more profiles")
    return tuple(lines)


async def create(connection: AirsConnection, topic: Topic) -> CustomTopic:
    """Make a topic that no profile uses yet. Raises AirsError and ServiceError."""
    async with connection.management() as client:
        return await lifecycle.create(client, topic)


async def delete(connection: AirsConnection, topic: CustomTopic, updated_by: str = "") -> str:
    """Delete a topic; with an e-mail address also where profiles hold it. Raises ServiceError.

    Returns what the service says, inert.
    """
    async with connection.management() as client:
        if updated_by:
            return await client.force_delete_topic(topic.topic_id, updated_by)
        return await client.delete_topic(topic.topic_id)
