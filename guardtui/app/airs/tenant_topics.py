"""The topics of an AIRS tenant, and the profiles that use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from guardtui.domain.topic import Intent, Topic
from guardtui.http.errors import inert
from guardtui.scanners.airs import lifecycle
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.scanners.airs.policy_paths import PolicyPath, guardrails, members, pinned, references
from guardtui.scanners.airs.topic_revisions import text_hash

LONGEST = 2000
"""Maximum characters of a definition's text; longer ones are not compared or loaded."""


@dataclass(frozen=True, slots=True)
class TenantTopics:
    """All topics by name, and the newest revision of the profile, if any."""

    topics: tuple[CustomTopic, ...]
    profile: SecurityProfile | None
    same_text: frozenset[tuple[str, int]] = frozenset()
    """Topic id and revision of pins that are older but have the newest text."""

    def is_older(self, topic: CustomTopic, revision: int) -> bool:
        """Return whether a pinned revision may have another text than the newest."""
        return revision != topic.revision and (topic.topic_id, revision) not in self.same_text

    def pins(self, topic: CustomTopic) -> tuple[tuple[PolicyPath, str, int], ...]:
        """Return each place of the topic in the profile, with action and revision; not inert."""
        return () if self.profile is None else tuple(pinned(self.profile.policy, topic.topic_id))

    def intent(self, topic: CustomTopic) -> Intent | None:
        """Return the intent of the topic in the profile; None if it has none or both."""
        actions = {action for _, action, _ in self.pins(topic)}
        return Intent(actions.pop()) if len(actions) == 1 and actions <= set(Intent) else None

    def strangers(self) -> tuple[str, ...]:
        """Names of topics in the profile that the tenant lacks, made inert."""
        if self.profile is None:
            return ()
        known = {topic.topic_id.lower() for topic in self.topics}
        names = (
            inert(str(member.get("topic_name")), characters=60)
            for _, item in guardrails(self.profile.policy)
            for _, member in members(item)
            if str(member.get("topic_id")).lower() not in known
        )
        return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class Holder:
    """A profile with `revisions` that use a topic, newest first; its name is not inert."""

    profile: str
    revisions: tuple[int, ...]
    in_effect: bool

    def line(self, shown: int) -> str:
        """Return the name and the newest revisions in one line, inert."""
        first, *older = self.revisions[:shown]
        text = f"{inert(self.profile, characters=60)}: revision {first}"
        text += " (in effect)" if self.in_effect else ""
        text += "".join(f", {revision}" for revision in older)
        more = len(self.revisions) - shown
        return f"{text} and {more} more" if more > 0 else text


def same_text(topic: CustomTopic, definition: Topic) -> bool:
    """Return whether a topic has the description and examples of a definition."""
    return (topic.description, topic.examples) == (definition.description, definition.examples)


def too_large(topic: CustomTopic) -> bool:
    """Return whether a topic is larger than any definition."""
    texts = (topic.topic_name, topic.description, *topic.examples)
    return sum(map(len, texts)) > LONGEST


async def read_listing(
    client: ManagementClient, profile: str, *, must_exist: bool = False
) -> TenantTopics:
    """Read all topics and the newest revision of a profile; "" for no profile.

    Raises ServiceError; with `must_exist` also AirsError if the profile does not exist.
    """
    topics = await client.topics()
    row = None
    if profile:
        look_up = lifecycle.newest(client, profile) if must_exist else client.profile(profile)
        row = await look_up
    topics.sort(key=lambda topic: (topic.topic_name.casefold(), topic.topic_id))
    result = TenantTopics(tuple(topics), row)
    same = {
        (topic.topic_id, revision)
        for topic in topics
        for _, _, revision in result.pins(topic)
        if client.revisions.text(topic.topic_id, revision) == text_hash(topic)
    }
    return replace(result, same_text=frozenset(same))


async def holders(client: ManagementClient, topic: CustomTopic) -> list[Holder]:
    """Return the profiles with a revision that uses the topic, by name. Raises ServiceError."""
    newest: dict[str, int] = {}
    revisions_of: dict[str, list[int]] = {}
    for row in sorted(await client.profiles(), key=lambda row: -row.revision):
        newest.setdefault(row.profile_name, row.revision)
        if references(row.policy, topic.topic_id):
            revisions_of.setdefault(row.profile_name, []).append(row.revision)
    return [
        Holder(name, tuple(revisions), revisions[0] == newest[name])
        for name, revisions in sorted(revisions_of.items())
    ]


def holder_lines(holders: Sequence[Holder], profiles: int, revisions: int) -> list[str]:
    """Return inert lines for the first `profiles`, with the first `revisions` of each."""
    lines = [holder.line(revisions) for holder in holders[:profiles]]
    if len(holders) > profiles:
        lines.append(f"and {len(holders) - profiles} more profiles")
    return lines


def is_address(text: str) -> bool:
    """Return whether a text looks like an e-mail address."""
    name, sign, host = text.partition("@")
    return bool(name and sign and host) and text.isprintable() and not set(text) & set(" ,;<>")
