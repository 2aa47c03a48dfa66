"""Where topics stand in a profile's policy, in the classic and in the newer layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict

from guardtui.http.errors import inert
from guardtui.scanners.airs.errors import AirsError

GUARDRAIL = "topic-guardrails"
PER_CONTENT = "per_content_type"

Json = dict[str, Any]


class PolicyError(AirsError):
    """A policy has no place for the topic, or more than one; the message says what to do."""


class Place(BaseModel):
    """A part of a policy that holds detectors: an entry (from 0) and, in the newer layout, its

    direction; "" in the classic one, which is for all directions.
    """

    model_config = ConfigDict(frozen=True)

    entry: int
    direction: str = ""

    def __str__(self) -> str:
        return f"entry {self.entry + 1}" + (f", {inert(self.direction)}" if self.direction else "")


def sections(policy: object) -> Iterator[tuple[Place, Json]]:
    """The parts that hold detectors, `prompt` before the other directions of an entry."""
    entries = policy.get("ai-security-profiles") if isinstance(policy, dict) else None
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, dict):
            continue
        if entry.get("content-type-mode") == PER_CONTENT:
            directions = entry.get("content-type-configurations")
            named = directions if isinstance(directions, dict) else {}
            for direction in sorted(named, key=lambda name: name != "prompt"):
                if isinstance(named[direction], dict):
                    yield Place(entry=number, direction=direction), named[direction]
        elif isinstance(part := entry.get("model-configuration"), dict):
            yield Place(entry=number), part


def guardrails(policy: object) -> Iterator[tuple[Place, Json]]:
    """The topic guardrails of a policy: the first of each part."""
    for place, section in sections(policy):
        position = position_of(section)
        if position is not None:
            yield place, section["model-protection"][position]


def members(item: object) -> Iterator[tuple[str, Json]]:
    """The topics of a guardrail, each with the action of its bucket."""
    groups = item.get("topic-list") if isinstance(item, dict) else None
    for group in groups if isinstance(groups, list) else ():
        if not isinstance(group, dict):
            continue
        topics = group.get("topic")
        for member in topics if isinstance(topics, list) else ():
            if isinstance(member, dict):
                yield str(group.get("action")), member


def references(policy: object, topic_id: str) -> bool:
    """Whether a policy names the topic, at any revision and place."""
    return any(
        is_topic(member, topic_id) for _, item in guardrails(policy) for _, member in members(item)
    )


def pinned(policy: object, topic_id: str) -> tuple[tuple[Place, str, int], ...]:
    """Where a topic is pinned: place, action of the bucket, revision (0 is the original text)."""
    found = []
    for place, item in guardrails(policy):
        for action, member in members(item):
            if is_topic(member, topic_id):
                found.append((place, action, revision_of(member)))
    return tuple(found)


def target(policy: object, entry: int | None = None, direction: str | None = None) -> Place:
    """The place for topics that judge prompts.

    Of several entries the one that has a topic guardrail is taken. Raises PolicyError when there
    is none or the choice is not clear.
    """
    wanted = [
        place
        for place, _ in sections(policy)
        if entry in (None, place.entry)
        and place.direction in ((direction,) if direction is not None else ("", "prompt"))
    ]
    if not wanted:
        raise PolicyError(
            "the profile has no part for topics on prompts: open it in Strata Cloud Manager once, "
            "and save it there"
        )
    with_topics = {place for place, _ in guardrails(policy)}
    best = [place for place in wanted if place in with_topics] or wanted
    if len(best) > 1:
        places = "; ".join(map(str, best))
        raise PolicyError(f"the profile has several parts for topics: choose one of {places}")
    return best[0]


def position_of(section: Json) -> int | None:
    """Index of the topic guardrail among the detectors of a part; None without one."""
    items = section.get("model-protection")
    for position, item in enumerate(items if isinstance(items, list) else ()):
        if is_guardrail(item):
            return position
    return None


def is_guardrail(item: object) -> bool:
    """Whether a detector is the one for topics."""
    return isinstance(item, dict) and item.get("name") == GUARDRAIL


def is_topic(member: Json, topic_id: str) -> bool:
    """Whether a member of a bucket is this topic."""
    return str(member.get("topic_id")).lower() == topic_id.lower()


def revision_of(member: Json) -> int:
    revision = member.get("revision")
    return revision if type(revision) is int else 0
