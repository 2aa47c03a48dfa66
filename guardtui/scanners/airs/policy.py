"""Edits of the topics in a profile's policy, as pure functions on raw JSON."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from guardtui.domain.topic import Intent
from guardtui.http.errors import inert
from guardtui.scanners.airs.policy_paths import (
    GUARDRAIL,
    Json,
    PolicyError,
    PolicyPath,
    index_of,
    is_guardrail,
    is_topic,
    members,
    revision_of,
    sections,
    target,
)

TOPICS_AT_MOST = 20
"""Maximum number of topics in a profile, as reported of the service."""


class TopicPin(BaseModel):
    """A topic at one of its revisions."""

    model_config = ConfigDict(frozen=True)

    topic_id: str
    topic_name: str
    revision: int


class PolicyUndo(BaseModel):
    """Data to restore a guardrail: its JSON before (None if missing) and after a change.

    `list_was` is the state of `model-protection` before: a list, null, or missing. `position` is
    the guardrail's index in that list. `pins` are pins (action, revision) set by merged edits
    besides that of `after`; any other is by somebody else.
    """

    model_config = ConfigDict(frozen=True)

    place: PolicyPath
    topic_id: str
    before: Json | None
    after: Json
    list_was: Literal["list", "null", "missing"] = "list"
    position: int = 0
    pins: tuple[tuple[str, int], ...] = ()

    @property
    def own_pins(self) -> frozenset[tuple[str, int]]:
        """All pins of the topic that the edits set."""
        return frozenset((*self.pins, *_pins(self.after, self.topic_id)))


@dataclass(frozen=True, slots=True)
class PolicyEdit:
    """A changed copy of a policy, and the changes in words.

    Without `changes` nothing needs to be sent. `warnings` are about parts left unchanged.
    """

    policy: Json
    changes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment(PolicyEdit):
    """An edit that attaches a topic, with the data to undo it."""

    undo: PolicyUndo


def merged(first: PolicyUndo, second: PolicyUndo) -> PolicyUndo:
    """Return the undo data of two edits of one topic at one path.

    If somebody else changed the guardrail between the edits, return that of the first edit alone,
    which keeps the changes of others.
    """
    if (first.place, first.topic_id) != (second.place, second.topic_id):
        return first
    pins = tuple(sorted(first.own_pins | second.own_pins))
    if _sent_item(first.after) != _sent_item(second.before):
        return first.model_copy(update={"pins": pins})
    return first.model_copy(update={"after": second.after, "pins": pins})


def attach(
    policy: Json,
    pin: TopicPin,
    intent: Intent,
    *,
    path: PolicyPath | None = None,
    set_default: bool = False,
) -> Attachment:
    """Put a topic at one revision into the bucket of its intent, and in no other of that path.

    All other topics and unknown data stay. The guardrail's default becomes `allow` for block and
    `block` for allow. If topics of the other bucket exist, it stays, unless `set_default`. Raises
    PolicyError.
    """
    path = path or target(policy)
    policy = _copied(policy)
    section = _section(policy, path)
    name = _shown(pin.topic_name)
    changes: list[str] = []
    warnings: list[str] = []
    default = "allow" if intent is Intent.BLOCK else "block"
    list_was: Literal["list", "null", "missing"] = "list"
    if section.get("model-protection") is None:
        list_was = "null" if "model-protection" in section else "missing"
    position = index_of(section)
    if position is None:
        before = None
        item: Json = {"name": GUARDRAIL, "action": default, "options": [], "topic-list": []}
        if list_was != "list":
            section["model-protection"] = []
        section["model-protection"].append(item)
        changes.append(f"a topic guardrail is added ({path}), default {default}")
    else:
        item = section["model-protection"][position]
        before = copy.deepcopy(item)
    others = [
        (action, member) for action, member in members(item) if not is_topic(member, pin.topic_id)
    ]
    old = [(action, member) for action, member in members(item) if is_topic(member, pin.topic_id)]
    _place_member(item, pin, intent.value)
    changes += _placement_changes(old, name, pin, intent.value)
    mixed = any(action != intent.value for action, _ in others)
    previous = item.get("action")
    if previous != default:
        if mixed and not set_default and previous in ("allow", "block"):
            effect = "stopped" if previous == "block" else "let through"
            warnings.append(
                f"the default stays {previous}: prompts that match no topic are {effect}, "
                f"because the profile has topics to {'allow' if default == 'allow' else 'block'}"
            )
        else:
            item["action"] = default
            changes.append(
                f"default for prompts that match no topic: {_shown(previous)} → {default}"
            )
    if len(others) >= TOPICS_AT_MOST:
        warnings.append(
            f"{len(others) + 1} topics: the service may accept at most {TOPICS_AT_MOST}"
        )
    undo = PolicyUndo(
        place=path,
        topic_id=pin.topic_id,
        before=before,
        after=copy.deepcopy(item),
        list_was=list_was,
        position=len(section["model-protection"]) if position is None else position,
    )
    return Attachment(policy, tuple(changes), tuple(warnings), undo=undo)


def restore(policy: Json, undo: PolicyUndo) -> PolicyEdit:
    """Restore a guardrail to its state before an edit.

    If nobody has changed it since, it is restored exactly. If it is in its previous state already
    (the edit was never sent, or somebody undid it), nothing changes. Otherwise only the topic's own
    pin and the default set by the edit are restored, unless somebody else pinned the topic. Raises
    PolicyError.
    """
    policy = _copied(policy)
    section = _section(policy, undo.place)
    position = index_of(section)
    now = None if position is None else section["model-protection"][position]
    sent, before, after = map(_sent_item, (now, undo.before, undo.after))
    pins = frozenset(_pins(now, undo.topic_id))
    if sent == after or (
        pins and pins <= undo.own_pins and _unpinned(sent, undo) == _unpinned(after, undo)
    ):
        # The last of several merged edits may not have been sent.
        _replace_item(section, position, copy.deepcopy(undo.before), undo)
        changed = f"the topic guardrail is in its previous state again ({undo.place})"
        return PolicyEdit(policy, () if before == after else (changed,))
    if sent == before:
        return PolicyEdit(policy)
    if not pins <= undo.own_pins.union(_pins(undo.before, undo.topic_id)):
        changed = "somebody else pinned the topic since: their pin stays"
        return PolicyEdit(policy, warnings=(changed,))
    restored = _restored_topic(copy.deepcopy(now), undo)
    _replace_item(section, position, restored, undo)
    return PolicyEdit(
        policy,
        () if _sent_item(restored) == sent else ("the topic's own pin is restored",),
        ("the topic guardrail was changed since: only this topic is restored",),
    )


def for_sending(policy: Json) -> tuple[Json, tuple[str, ...]]:
    """Return the policy without empty buckets, which the service lists but rejects, and notes.

    A guardrail without topics is omitted, with a note.
    """
    policy = _copied(policy)
    notes = []
    for path, section in sections(policy):
        items = section.get("model-protection")
        if not isinstance(items, list):
            continue
        sent_items = []
        for item in items:
            sent = _sent_item(item) if is_guardrail(item) else item
            if sent is None:
                notes.append(f"a topic guardrail without topics is omitted ({path})")
            else:
                sent_items.append(sent)
        section["model-protection"] = sent_items
    return policy, tuple(notes)


def _copied(policy: Json) -> Json:
    try:
        return copy.deepcopy(policy)
    except RecursionError:
        raise PolicyError("the policy is nested too deeply to be changed") from None


def _section(policy: Json, path: PolicyPath) -> Json:
    for section_path, section in sections(policy):
        if section_path == path:
            items = section.get("model-protection")
            if items is not None and not isinstance(items, list):
                raise PolicyError(f"model-protection is not a list ({path}): nothing was changed")
            return section
    existing = "; ".join(str(other) for other, _ in sections(policy)) or "none"
    raise PolicyError(f"the profile has no section {path} for topics; existing: {existing}")


def _shown(text: object) -> str:
    return "none" if text is None else inert(str(text), characters=60)


def _place_member(item: Json, pin: TopicPin, action: str) -> None:
    """Put the topic into its bucket, and keep its other data."""
    groups = item.get("topic-list")
    if groups is not None and not isinstance(groups, list):
        raise PolicyError("topic-list is not a list: nothing was changed")
    if groups is None:
        groups = item["topic-list"] = []
    known: Json = {}
    for _, member in members(item):
        if is_topic(member, pin.topic_id):
            known = member
            break
    new = {**known, **pin.model_dump()}
    placed = False
    for group in groups:
        if not isinstance(group, dict) or not isinstance(group.get("topic"), list):
            continue
        topics = []
        for member in group["topic"]:
            if not isinstance(member, dict) or not is_topic(member, pin.topic_id):
                topics.append(member)
            elif group.get("action") == action and not placed:
                topics.append(new)
                placed = True
        group["topic"] = topics
    if not placed:
        _add(groups, action, new)


def _add(groups: list[Any], action: str, member: Json) -> None:
    """Add a topic to the first bucket of an action, which is made if it is missing."""
    for group in groups:
        if isinstance(group, dict) and group.get("action") == action:
            topics = group.get("topic")
            if topics is not None and not isinstance(topics, list):
                raise PolicyError("the topics of a bucket are not a list: nothing was changed")
            group["topic"] = [*(topics or []), member]
            return
    groups.append({"action": action, "topic": [member]})


def _placement_changes(
    old: list[tuple[str, Json]], name: str, pin: TopicPin, action: str
) -> list[str]:
    if not old:
        return [f"topic {name} is added to the {action} list, revision {pin.revision}"]
    changes = []
    if any(bucket != action for bucket, _ in old):
        changes.append(f"topic {name} is moved to the {action} list")
    elif len(old) > 1:
        changes.append(f"topic {name} is in the {action} list only once")
    before = old[0][1]
    if revision_of(before) != pin.revision:
        changes.append(f"topic {name}: revision {_shown(before.get('revision'))} → {pin.revision}")
    if before.get("topic_name") != pin.topic_name:
        changes.append(f"topic {_shown(before.get('topic_name'))} is renamed to {name}")
    return changes


def _sent_item(item: Json | None) -> Json | None:
    """Return a guardrail without its empty buckets; None if nothing remains."""
    if item is None:
        return None
    groups = item.get("topic-list")
    if groups is None:
        groups = []
    if not isinstance(groups, list):
        return item
    filled = [group for group in groups if not isinstance(group, dict) or group.get("topic")]
    return {**item, "topic-list": filled} if filled else None


def _pins(item: Json | None, topic_id: str) -> list[tuple[str, int]]:
    """Return action and revision of each pin of a topic in a guardrail."""
    return [
        (action, revision_of(member))
        for action, member in members(item)
        if is_topic(member, topic_id)
    ]


def _unpinned(item: Json | None, undo: PolicyUndo) -> Json | None:
    """Return a copy of a guardrail without the revision of the topic."""
    item = copy.deepcopy(item)
    for _, member in members(item):
        if is_topic(member, undo.topic_id):
            member.pop("revision", None)
    return item


def _replace_item(section: Json, position: int | None, item: Json | None, undo: PolicyUndo) -> None:
    if position is not None and item is not None:
        section["model-protection"][position] = item
    elif position is not None:
        del section["model-protection"][position]
        if not section["model-protection"] and undo.list_was == "null":
            section["model-protection"] = None
        elif not section["model-protection"] and undo.list_was == "missing":
            del section["model-protection"]
    elif item is not None:
        items = list(section.get("model-protection") or [])
        items.insert(undo.position, item)
        section["model-protection"] = items


def _restored_topic(now: Json | None, undo: PolicyUndo) -> Json | None:
    """Restore only the topic's own data in a guardrail that others have changed."""
    old = [
        (action, member)
        for action, member in members(undo.before)
        if is_topic(member, undo.topic_id)
    ]
    if now is None:
        if not old or undo.before is None:
            return None
        now = {**copy.deepcopy(undo.before), "topic-list": []}
    groups = now.get("topic-list")
    if not isinstance(groups, list):
        groups = now["topic-list"] = []
    for group in groups:
        if isinstance(group, dict) and isinstance(group.get("topic"), list):
            group["topic"] = [
                member
                for member in group["topic"]
                if not isinstance(member, dict) or not is_topic(member, undo.topic_id)
            ]
    for action, member in old:
        _add(groups, action, copy.deepcopy(member))
    if undo.before is not None:
        old_default, new_default = undo.before.get("action"), undo.after.get("action")
        if old_default != new_default and now.get("action") == new_default:
            now["action"] = old_default
    return _sent_item(now)
