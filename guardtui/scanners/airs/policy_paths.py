"""Paths of topics in a profile's policy, in the classic and in the newer layout."""

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
    """A policy has no path for the topic, or several; the message says what to do."""


class PolicyPath(BaseModel):
    """Path of a policy section that holds detectors.

    `entry` counts from 0. `direction` is that of the newer layout; "" in the classic layout, whose
    sections are for all directions.
    """

    model_config = ConfigDict(frozen=True)

    entry: int
    direction: str = ""

    def __str__(self) -> str:
        return f"entry {self.entry + 1}" + (f", {inert(self.direction)}" if self.direction else "")


def sections(policy: object) -> Iterator[tuple[PolicyPath, Json]]:
    """Yield the sections that hold detectors, `prompt` first among the directions of an entry."""
    entries = policy.get("ai-security-profiles") if isinstance(policy, dict) else None
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, dict):
            continue
        if entry.get("content-type-mode") == PER_CONTENT:
            directions = entry.get("content-type-configurations")
            by_name = directions if isinstance(directions, dict) else {}
            for direction in sorted(by_name, key=lambda name: name != "prompt"):
                if isinstance(by_name[direction], dict):
                    yield PolicyPath(entry=number, direction=direction), by_name[direction]
        elif isinstance(section := entry.get("model-configuration"), dict):
            yield PolicyPath(entry=number), section


def guardrails(policy: object) -> Iterator[tuple[PolicyPath, Json]]:
    """Yield the topic guardrails of a policy: the first of each section."""
    for path, section in sections(policy):
        index = index_of(section)
        if index is not None:
            yield path, section["model-protection"][index]


def members(item: object) -> Iterator[tuple[str, Json]]:
    """Yield the topics of a guardrail, each with the action of its bucket."""
    groups = item.get("topic-list") if isinstance(item, dict) else None
    for group in groups if isinstance(groups, list) else ():
        if not isinstance(group, dict):
            continue
        topics = group.get("topic")
        for member in topics if isinstance(topics, list) else ():
            if isinstance(member, dict):
                yield str(group.get("action")), member


def references(policy: object, topic_id: str) -> bool:
    """Return whether a policy names the topic, at any revision and path."""
    return any(
        is_topic(member, topic_id) for _, item in guardrails(policy) for _, member in members(item)
    )


def pinned(policy: object, topic_id: str) -> tuple[tuple[PolicyPath, str, int], ...]:
    """Return the pins of a topic: path, action of the bucket, revision (0: the original text)."""
    pins = []
    for path, item in guardrails(policy):
        for action, member in members(item):
            if is_topic(member, topic_id):
                pins.append((path, action, revision_of(member)))
    return tuple(pins)


def target(policy: object) -> PolicyPath:
    """Return the path for topics that judge prompts.

    Of several entries, that with a topic guardrail is used. Raises PolicyError if no path exists or
    the choice is ambiguous.
    """
    paths = [path for path, _ in sections(policy) if path.direction in ("", "prompt")]
    if not paths:
        raise PolicyError(
            "the profile has no section for topics on prompts: open it in Strata Cloud Manager "
            "once, and save it there"
        )
    with_topics = {path for path, _ in guardrails(policy)}
    best = [path for path in paths if path in with_topics] or paths
    if len(best) > 1:
        choices = "; ".join(map(str, best))
        raise PolicyError(f"the profile has several sections for topics: choose one of {choices}")
    return best[0]


def index_of(section: Json) -> int | None:
    """Return the index of the topic guardrail among the detectors of a section, or None."""
    items = section.get("model-protection")
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if is_guardrail(item):
            return index
    return None


def is_guardrail(item: object) -> bool:
    """Return whether a detector is the topic guardrail."""
    return isinstance(item, dict) and item.get("name") == GUARDRAIL


def is_topic(member: Json, topic_id: str) -> bool:
    """Return whether a member of a bucket is this topic."""
    return str(member.get("topic_id")).lower() == topic_id.lower()


def revision_of(member: Json) -> int:
    """Return the pinned revision; 0 if it is missing, which stands for the original text."""
    revision = member.get("revision")
    return revision if type(revision) is int else 0
