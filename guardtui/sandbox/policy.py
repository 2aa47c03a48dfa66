"""Reading a profile's policy in both layouts, checking what is sent, and the first two profiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from guardtui.sandbox.replies import RefusedError

GUARDRAIL = "topic-guardrails"
PER_CONTENT = "per_content_type"
TOPICS_AT_MOST = 20
"""Topics that one profile can hold."""

_DETECTORS = {
    "prompt-injection": "injection",
    "toxic-content": "toxic_content",
    "agent-security": "agent",
    "malicious-code-detection": "malicious_code",
}


def sections(policy: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parts that hold detectors, each with its direction; "" is any direction (classic)."""
    entries = policy.get("ai-security-profiles") if isinstance(policy, dict) else None
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        if entry.get("content-type-mode") == PER_CONTENT:
            directions = entry.get("content-type-configurations")
            for direction, part in (directions if isinstance(directions, dict) else {}).items():
                if isinstance(part, dict):
                    yield str(direction), part
        elif isinstance(part := entry.get("model-configuration"), dict):
            yield "", part


def guardrails(policy: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The topic guardrails of a policy, each with its direction ("" is any)."""
    for direction, section in sections(policy):
        items = section.get("model-protection")
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict) and item.get("name") == GUARDRAIL:
                yield direction, item


def buckets(item: Mapping[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Action and members of each bucket of a guardrail; an empty one has none."""
    groups = item.get("topic-list")
    for group in groups if isinstance(groups, list) else []:
        if isinstance(group, dict):
            members = group.get("topic")
            yield str(group.get("action")), members if isinstance(members, list) else []


def detectors(policy: Any, direction: str) -> tuple[str, ...]:
    """Keys of the other detectors that are switched on, which the sandbox never finds true."""
    found: dict[str, None] = {}
    for where, section in sections(policy):
        if where not in ("", direction):
            continue
        items = [*_items(section, "model-protection"), *_items(section, "agent-protection")]
        app = section.get("app-protection")
        if isinstance(app, dict):
            if app.get("url-detected-action"):
                found["url_cats"] = None
            items.append(app.get("malicious-code-protection"))
        data = section.get("data-protection")
        leak = data.get("data-leak-detection") if isinstance(data, dict) else None
        if isinstance(leak, dict) and leak.get("action"):
            found["dlp"] = None
        for item in items:
            if isinstance(item, dict) and item.get("action"):
                name = _DETECTORS.get(str(item.get("name")))
                if name and not (name == "injection" and direction == "response"):
                    found[name] = None
    return tuple(found)


def _items(section: Mapping[str, Any], name: str) -> list[Any]:
    items = section.get(name)
    return items if isinstance(items, list) else []


def check(
    policy: Any, revisions: Mapping[str, int], *, empty_list: bool, emptied: bool = False
) -> None:
    """Raise `RefusedError` (400) for a policy that the service would not take.

    `revisions` has the newest revision of each topic by its id. With `empty_list` a guardrail
    without any topic is taken; with `emptied` also a bucket that a forced deletion left empty.
    """
    if not isinstance(policy, dict):
        raise RefusedError(400, detail="policy is no object")
    for _, item in guardrails(policy):
        if item.get("action") not in ("allow", "block"):
            raise RefusedError(400, detail=f"{GUARDRAIL}: action must be allow or block")
        groups = item.get("topic-list")
        if not isinstance(groups, list) or not (groups or empty_list):
            raise RefusedError(
                400, detail=f"{GUARDRAIL}: topic-list is empty; leave the guardrail out"
            )
        count = 0
        for group in groups:
            if not isinstance(group, dict) or group.get("action") not in ("allow", "block"):
                raise RefusedError(400, detail="topic-list: action must be allow or block")
            members = group.get("topic")
            if emptied and members is None:
                continue
            if not isinstance(members, list) or not members:
                where = f"topic-list: the {group['action']} list"
                raise RefusedError(400, detail=f"{where} is empty; leave it out")
            for member in members:
                _check_member(member, revisions)
            count += len(members)
        if count > TOPICS_AT_MOST:
            raise RefusedError(400, detail=f"{count} topics: at most {TOPICS_AT_MOST} in a profile")


def _check_member(member: Any, revisions: Mapping[str, int]) -> None:
    name = member.get("topic_id") if isinstance(member, dict) else None
    if not isinstance(name, str) or name.lower() not in revisions:
        raise RefusedError(400, detail=f"there is no topic with the id {name}")
    revision = member.get("revision", 0)
    whole = isinstance(revision, int) and not isinstance(revision, bool)
    if not whole or not 0 <= revision <= revisions[name.lower()]:
        raise RefusedError(400, detail=f"topic {name} has no revision {revision}")


def pinned(member: Mapping[str, Any]) -> tuple[str, int]:
    """Id and revision of a member; left out, or 0, it is the original text, which is number 1."""
    return str(member.get("topic_id")).lower(), max(1, int(member.get("revision") or 0))


def detach(policy: Any, topic_id: str) -> bool:
    """Take a topic out of a policy, in place; an empty bucket becomes null. True if it was in."""
    found = False
    for _, item in guardrails(policy):
        for group in item["topic-list"] or []:
            members = group.get("topic") or []
            stay = [member for member in members if pinned(member)[0] != topic_id]
            if len(stay) != len(members):
                found = True
                group["topic"] = stay or None
    return found


def references(policy: Any, topic_id: str) -> bool:
    """Whether a policy names the topic, at any revision."""
    return any(
        pinned(member)[0] == topic_id
        for _, item in guardrails(policy)
        for _, members in buckets(item)
        for member in members
    )


def with_empty_buckets(policy: dict[str, Any]) -> dict[str, Any]:
    """The policy as lists show it: a bucket that a guardrail does not have is there, with null."""
    for _, item in guardrails(policy):
        groups = item.get("topic-list")
        if isinstance(groups, list):
            there = {action for action, _ in buckets(item)}
            groups += [
                {"action": action, "topic": None}
                for action in ("block", "allow")
                if action not in there
            ]
    return policy


def _protections() -> dict[str, Any]:
    return {
        "data-protection": {
            "data-leak-detection": {"action": "", "member": None, "mask-data-inline": False},
            "database-security": None,
        },
        "app-protection": {
            "default-url-category": {"member": ["malicious"]},
            "url-detected-action": "",
        },
        "model-protection": [{"name": "prompt-injection", "action": "block"}],
        "agent-protection": [],
    }


_SHARED: dict[str, Any] = {
    "mask-data-in-storage": False,
    "latency": {"inline-timeout-action": "block", "max-inline-latency": 5},
}


def classic_policy() -> dict[str, Any]:
    """The policy of the first profile: no topics yet."""
    entry = {"model-type": "default", "model-configuration": {**_SHARED, **_protections()}}
    return {"dlp-data-profiles": [], "ai-security-profiles": [entry]}


def directional_policy() -> dict[str, Any]:
    """The same in the layout with a configuration for each direction."""
    directions = ("prompt", "response", "tool-call", "tool-response")
    entry = {
        "model-type": "default",
        "content-type-mode": PER_CONTENT,
        "content-type-configurations": {direction: _protections() for direction in directions},
        "model-configuration": dict(_SHARED),
    }
    return {"dlp-data-profiles": [], "ai-security-profiles": [entry]}
