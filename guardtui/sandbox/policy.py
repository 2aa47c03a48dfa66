"""Policies of profiles in both layouts: reading, validation, and the first two policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from guardtui.sandbox.replies import RefusedError

GUARDRAIL = "topic-guardrails"
PER_CONTENT = "per_content_type"
TOPICS_AT_MOST = 20
"""Maximum number of topics in a profile."""

_DETECTORS = {
    "prompt-injection": "injection",
    "toxic-content": "toxic_content",
    "agent-security": "agent",
    "malicious-code-detection": "malicious_code",
}


def sections(policy: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the sections that hold detectors, each with its direction ("" is any: classic)."""
    entries = policy.get("ai-security-profiles") if isinstance(policy, dict) else None
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        if entry.get("content-type-mode") == PER_CONTENT:
            directions = entry.get("content-type-configurations")
            for direction, section in (directions if isinstance(directions, dict) else {}).items():
                if isinstance(section, dict):
                    yield str(direction), section
        elif isinstance(section := entry.get("model-configuration"), dict):
            yield "", section


def guardrails(policy: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the topic guardrails of a policy, each with its direction ("" is any)."""
    for direction, section in sections(policy):
        items = section.get("model-protection")
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict) and item.get("name") == GUARDRAIL:
                yield direction, item


def buckets(item: Mapping[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield action and members of each bucket of a guardrail."""
    groups = item.get("topic-list")
    for group in groups if isinstance(groups, list) else []:
        if isinstance(group, dict):
            members = group.get("topic")
            yield str(group.get("action")), members if isinstance(members, list) else []


def detectors(policy: Any, direction: str) -> tuple[str, ...]:
    """Return the keys of other enabled detectors, which never fire in the sandbox."""
    keys: dict[str, None] = {}
    for section_direction, section in sections(policy):
        if section_direction not in ("", direction):
            continue
        items = [*_items(section, "model-protection"), *_items(section, "agent-protection")]
        app = section.get("app-protection")
        if isinstance(app, dict):
            if app.get("url-detected-action"):
                keys["url_cats"] = None
            items.append(app.get("malicious-code-protection"))
        data = section.get("data-protection")
        leak = data.get("data-leak-detection") if isinstance(data, dict) else None
        if isinstance(leak, dict) and leak.get("action"):
            keys["dlp"] = None
        for item in items:
            if isinstance(item, dict) and item.get("action"):
                name = _DETECTORS.get(str(item.get("name")))
                if name and not (name == "injection" and direction == "response"):
                    keys[name] = None
    return tuple(keys)


def _items(section: Mapping[str, Any], name: str) -> list[Any]:
    items = section.get(name)
    return items if isinstance(items, list) else []


def check(
    policy: Any, revisions: Mapping[str, int], *, empty_list: bool, emptied: bool = False
) -> None:
    """Raise `RefusedError` (400) for a policy that the service would reject.

    `revisions` has the newest revision of each topic by its id. With `empty_list` a guardrail
    without topics is valid; with `emptied` also a bucket that a forced deletion left empty.
    """
    if not isinstance(policy, dict):
        raise RefusedError(400, detail="policy is not an object")
    for _, item in guardrails(policy):
        if item.get("action") not in ("allow", "block"):
            raise RefusedError(400, detail=f"{GUARDRAIL}: action must be allow or block")
        groups = item.get("topic-list")
        if not isinstance(groups, list) or not (groups or empty_list):
            raise RefusedError(400, detail=f"{GUARDRAIL}: topic-list is empty; omit the guardrail")
        count = 0
        for group in groups:
            if not isinstance(group, dict) or group.get("action") not in ("allow", "block"):
                raise RefusedError(400, detail="topic-list: action must be allow or block")
            members = group.get("topic")
            if emptied and members is None:
                continue
            if not isinstance(members, list) or not members:
                name = f"topic-list: the {group['action']} list"
                raise RefusedError(400, detail=f"{name} is empty; omit it")
            for member in members:
                _check_member(member, revisions)
            count += len(members)
        if count > TOPICS_AT_MOST:
            raise RefusedError(400, detail=f"{count} topics: the maximum is {TOPICS_AT_MOST}")


def _check_member(member: Any, revisions: Mapping[str, int]) -> None:
    name = member.get("topic_id") if isinstance(member, dict) else None
    if not isinstance(name, str) or name.lower() not in revisions:
        raise RefusedError(400, detail=f"no topic has the id {name}")
    revision = member.get("revision", 0)
    whole = isinstance(revision, int) and not isinstance(revision, bool)
    if not whole or not 0 <= revision <= revisions[name.lower()]:
        raise RefusedError(400, detail=f"topic {name} has no revision {revision}")


def pinned(member: Mapping[str, Any]) -> tuple[str, int]:
    """Return id and revision of a member; a missing revision or 0 is revision 1."""
    return str(member.get("topic_id")).lower(), max(1, int(member.get("revision") or 0))


def detach(policy: Any, topic_id: str) -> None:
    """Remove a topic from a policy in place; an empty bucket becomes null."""
    for _, item in guardrails(policy):
        for group in item["topic-list"] or []:
            members = group.get("topic") or []
            others = [member for member in members if pinned(member)[0] != topic_id]
            if len(others) != len(members):
                group["topic"] = others or None


def references(policy: Any, topic_id: str) -> bool:
    """Return whether a policy names the topic, at any revision."""
    return any(
        pinned(member)[0] == topic_id
        for _, item in guardrails(policy)
        for _, members in buckets(item)
        for member in members
    )


def with_empty_buckets(policy: dict[str, Any]) -> dict[str, Any]:
    """Return the policy as lists contain it: missing buckets of a guardrail are null."""
    for _, item in guardrails(policy):
        groups = item.get("topic-list")
        if isinstance(groups, list):
            existing = {action for action, _ in buckets(item)}
            groups += [
                {"action": action, "topic": None}
                for action in ("block", "allow")
                if action not in existing
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
    """Return the policy of the first profile, without topics."""
    entry = {"model-type": "default", "model-configuration": {**_SHARED, **_protections()}}
    return {"dlp-data-profiles": [], "ai-security-profiles": [entry]}


def directional_policy() -> dict[str, Any]:
    """Return the same policy in the layout with a configuration for each direction."""
    directions = ("prompt", "response", "tool-call", "tool-response")
    entry = {
        "model-type": "default",
        "content-type-mode": PER_CONTENT,
        "content-type-configurations": {direction: _protections() for direction in directions},
        "model-configuration": dict(_SHARED),
    }
    return {"dlp-data-profiles": [], "ai-security-profiles": [entry]}
