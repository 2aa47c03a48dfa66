"""Topics in a profile's policy: attached, removed, restored; pure functions on raw JSON."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from guardtui.domain.topic import Intent
from guardtui.http.errors import inert
from guardtui.scanners.airs.places import (
    GUARDRAIL,
    Json,
    Place,
    PolicyError,
    is_guardrail,
    is_topic,
    members,
    pinned,
    position_of,
    revision_of,
    sections,
    target,
)

TOPICS_AT_MOST = 20
"""Topics of one profile that the service is reported to take."""


class Pin(BaseModel):
    """A topic at one of its revisions."""

    model_config = ConfigDict(frozen=True)

    topic_id: str
    topic_name: str
    revision: int


class Undo(BaseModel):
    """What is needed to put a guardrail back: how it was, and what was made of it.

    `list_was` tells how `model-protection` was: a list, null, or not there. A guardrail that was
    not there is None. `position` is its index in that list, `count` how many guardrails the place
    had after the change.
    """

    model_config = ConfigDict(frozen=True)

    place: Place
    topic_id: str
    before: Json | None
    after: Json | None
    list_was: Literal["list", "null", "missing"] = "list"
    position: int = 0
    count: int = 1


@dataclass(frozen=True, slots=True)
class Edit:
    """A policy that was changed (the original is not), what changed in words, and the way back.

    Without `changes` nothing is to be sent. `warnings` are about what stays as it is.
    """

    policy: Json
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    undo: Undo


def merged(first: Undo, second: Undo) -> Undo:
    """The way back over two edits of one topic in one place.

    When somebody else changed the guardrail between them, the way back over the first edit alone,
    which leaves what others did.
    """
    same = (first.place, first.topic_id) == (second.place, second.topic_id)
    if not same or _sent_item(first.after) != _sent_item(second.before):
        return first
    return first.model_copy(update={"after": second.after, "count": second.count})


def attach(
    policy: Json, pin: Pin, intent: Intent, *, place: Place | None = None, set_default: bool = False
) -> Edit:
    """Put a topic at one revision into the bucket of its intent, and nowhere else in that place.

    All other topics and all that is not known here stay. The guardrail's default becomes `allow`
    for block and `block` for allow; where topics of the other bucket exist it is left alone,
    unless `set_default`. Raises PolicyError.
    """
    place = place or target(policy)
    policy = _copied(policy)
    section = _section(policy, place)
    name = _shown(pin.topic_name)
    changes: list[str] = []
    warnings: list[str] = []
    default = "allow" if intent is Intent.BLOCK else "block"
    list_was = _list_state(section)
    position = position_of(section)
    if position is None:
        before = None
        item: Json = {"name": GUARDRAIL, "action": default, "options": [], "topic-list": []}
        if list_was != "list":
            section["model-protection"] = []
        section["model-protection"].append(item)
        changes.append(f"a topic guardrail is added ({place}), default {default}")
    else:
        item = section["model-protection"][position]
        before = copy.deepcopy(item)
    others = [
        (action, member) for action, member in members(item) if not is_topic(member, pin.topic_id)
    ]
    old = [(action, member) for action, member in members(item) if is_topic(member, pin.topic_id)]
    _place_member(item, pin, intent.value)
    changes += _placed(old, name, pin, intent.value)
    mixed = any(action != intent.value for action, _ in others)
    was = item.get("action")
    if was != default:
        if mixed and not set_default and was in ("allow", "block"):
            effect = "stopped" if was == "block" else "let through"
            warnings.append(
                f"the default stays {was}: what matches no topic is {effect}, "
                f"because the profile has topics to {'allow' if default == 'allow' else 'block'}"
            )
        else:
            item["action"] = default
            changes.append(f"default for what matches no topic: {_shown(was)} → {default}")
    if len(others) >= TOPICS_AT_MOST:
        warnings.append(f"{len(others) + 1} topics: the service may take {TOPICS_AT_MOST} at most")
    undo = _undo(section, place, pin.topic_id, position, before, item, list_was)
    return Edit(policy, tuple(changes), tuple(warnings), undo)


def remove(policy: Json, topic_id: str, *, place: Place | None = None) -> Edit:
    """Take a topic out of one place; with the last topic the whole guardrail goes.

    Raises PolicyError when the place is not clear.
    """
    if place is None:
        holding = list(dict.fromkeys(where for where, _, _ in pinned(policy, topic_id)))
        place = holding[0] if len(holding) == 1 else target(policy)
    policy = _copied(policy)
    section = _section(policy, place)
    position = position_of(section)
    item = None if position is None else section["model-protection"][position]
    before = copy.deepcopy(item)
    changes: list[str] = []
    warnings: list[str] = []
    gone = [(action, one) for action, one in members(item) if is_topic(one, topic_id)]
    if item is not None and position is not None and gone:
        _take_out(item, topic_id)
        name = _shown(gone[0][1].get("topic_name"))
        changes += [f"topic {name} is taken from the {_shown(action)} list" for action, _ in gone]
        left = [action for action, _ in members(item)]
        if not left:
            del section["model-protection"][position]
            changes.append(f"the topic guardrail goes with its last topic ({place})")
        elif item.get("action") == "block" and "allow" not in left:
            warnings.append("the default stays block without a topic to allow: all is stopped")
        after = item if left else None
    else:
        after = item
    undo = _undo(section, place, topic_id, position, before, after)
    return Edit(policy, tuple(changes), tuple(warnings), undo)


def restore(policy: Json, undo: Undo) -> Edit:
    """Put a guardrail back as it was before an edit.

    Where nobody has changed it since, all of it comes back exactly; where it is as it was before
    (the edit was never sent, or somebody took it back), nothing changes. Otherwise only the topic's
    own pin and the default that the edit had set. Raises PolicyError.
    """
    policy = _copied(policy)
    section = _section(policy, undo.place)
    position = position_of(section)
    if undo.after is None and _count(section) == undo.count:
        position = None  # another guardrail than the one that was taken out
    now = None if position is None else section["model-protection"][position]
    before = copy.deepcopy(now)
    changes: list[str] = []
    warnings: list[str] = []
    if _sent_item(now) == _sent_item(undo.after):
        if _sent_item(undo.before) != _sent_item(now):
            changes.append(f"the topic guardrail is as it was before ({undo.place})")
        back = copy.deepcopy(undo.before)
        _replace_item(section, position, back, undo)
        way_back = _undo(section, undo.place, undo.topic_id, position, before, back)
        return Edit(policy, tuple(changes), (), way_back)
    if _sent_item(now) == _sent_item(undo.before):
        way_back = _undo(section, undo.place, undo.topic_id, position, before, now)
        return Edit(policy, (), (), way_back)
    warnings.append("the topic guardrail was changed since: only this topic is put back")
    back = _put_back(copy.deepcopy(now), undo)
    if _sent_item(back) != _sent_item(now):
        changes.append("the topic's own pin is as it was before")
    _replace_item(section, position, back, undo)
    way_back = _undo(section, undo.place, undo.topic_id, position, before, back)
    return Edit(policy, tuple(changes), tuple(warnings), way_back)


def for_sending(policy: Json) -> tuple[Json, tuple[str, ...]]:
    """The policy without empty buckets, which the service lists but does not take, and notes.

    A guardrail that has no topic at all is left out, and said.
    """
    policy = _copied(policy)
    notes = []
    for place, section in sections(policy):
        items = section.get("model-protection")
        if not isinstance(items, list):
            continue
        kept = []
        for item in items:
            sent = _sent_item(item) if is_guardrail(item) else item
            if sent is None:
                notes.append(f"a topic guardrail without topics is left out ({place})")
            else:
                kept.append(sent)
        section["model-protection"] = kept
    return policy, tuple(notes)


def new_policy() -> Json:
    """A policy for a new profile: no detectors, but all sections that the console expects."""
    configuration = {
        "mask-data-in-storage": False,
        "latency": {"inline-timeout-action": "block", "max-inline-latency": 5},
        "data-protection": {
            "data-leak-detection": {"action": "", "member": None, "mask-data-inline": False},
            "database-security": None,
        },
        "app-protection": {
            "default-url-category": {"member": ["malicious"]},
            "url-detected-action": "",
        },
        "model-protection": [],
        "agent-protection": [],
    }
    entry = {"model-type": "default", "model-configuration": configuration}
    return {"dlp-data-profiles": [], "ai-security-profiles": [entry]}


def _copied(policy: Json) -> Json:
    try:
        return copy.deepcopy(policy)
    except RecursionError:
        raise PolicyError("the policy is nested too deeply to be changed here") from None


def _section(policy: Json, place: Place) -> Json:
    for where, section in sections(policy):
        if where == place:
            items = section.get("model-protection")
            if items is not None and not isinstance(items, list):
                raise PolicyError(f"model-protection is no list ({place}): nothing was changed")
            return section
    there = "; ".join(str(where) for where, _ in sections(policy)) or "none"
    raise PolicyError(f"the profile has no part {place} for topics; there are: {there}")


def _list_state(section: Json) -> Literal["list", "null", "missing"]:
    if "model-protection" not in section:
        return "missing"
    return "null" if section["model-protection"] is None else "list"


def _shown(text: object) -> str:
    return "none" if text is None else inert(str(text))[:60]


def _place_member(item: Json, pin: Pin, action: str) -> None:
    """Put the topic where it belongs, and keep what else is said of it."""
    groups = item.get("topic-list")
    if groups is not None and not isinstance(groups, list):
        raise PolicyError("topic-list is no list: nothing was changed")
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
        kept = []
        for one in group["topic"]:
            if not isinstance(one, dict) or not is_topic(one, pin.topic_id):
                kept.append(one)
            elif group.get("action") == action and not placed:
                kept.append(new)
                placed = True
        group["topic"] = kept
    if placed:
        return
    for group in groups:
        if isinstance(group, dict) and group.get("action") == action:
            _add(group, new)
            return
    groups.append({"action": action, "topic": [new]})


def _add(group: Json, member: Json) -> None:
    topics = group.get("topic")
    if topics is not None and not isinstance(topics, list):
        raise PolicyError("a list of topics is none: nothing was changed")
    group["topic"] = [*(topics or []), member]


def _placed(old: list[tuple[str, Json]], name: str, pin: Pin, action: str) -> list[str]:
    if not old:
        return [f"topic {name} is added to the {action} list, revision {pin.revision}"]
    words = []
    if any(where != action for where, _ in old):
        words.append(f"topic {name} is moved to the {action} list")
    elif len(old) > 1:
        words.append(f"topic {name} is in the {action} list once only")
    before = old[0][1]
    if revision_of(before) != pin.revision:
        words.append(f"topic {name}: revision {_shown(before.get('revision'))} → {pin.revision}")
    if before.get("topic_name") != pin.topic_name:
        words.append(f"topic {_shown(before.get('topic_name'))} is called {name}")
    return words


def _take_out(item: Json, topic_id: str) -> None:
    groups = item.get("topic-list")
    for group in groups if isinstance(groups, list) else ():
        if isinstance(group, dict) and isinstance(group.get("topic"), list):
            group["topic"] = [
                one
                for one in group["topic"]
                if not isinstance(one, dict) or not is_topic(one, topic_id)
            ]


def _sent_item(item: Json | None) -> Json | None:
    """A guardrail without its empty buckets; None when nothing is left in it."""
    if item is None:
        return None
    groups = item.get("topic-list")
    if groups is None:
        groups = []
    if not isinstance(groups, list):
        return item
    kept = [group for group in groups if not isinstance(group, dict) or group.get("topic")]
    return {**item, "topic-list": kept} if kept else None


def _replace_item(section: Json, position: int | None, item: Json | None, undo: Undo) -> None:
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


def _put_back(now: Json | None, undo: Undo) -> Json | None:
    """The topic's own part of what was before, in a guardrail that others have changed."""
    old = [(action, one) for action, one in members(undo.before) if is_topic(one, undo.topic_id)]
    if now is None:
        if not old or undo.before is None:
            return None
        now = {**copy.deepcopy(undo.before), "topic-list": []}
    _take_out(now, undo.topic_id)
    groups = now.get("topic-list")
    if not isinstance(groups, list):
        groups = now["topic-list"] = []
    for action, member in old:
        for group in groups:
            if isinstance(group, dict) and group.get("action") == action:
                _add(group, copy.deepcopy(member))
                break
        else:
            groups.append({"action": action, "topic": [copy.deepcopy(member)]})
    if undo.before is not None and undo.after is not None:
        was, made = undo.before.get("action"), undo.after.get("action")
        if was != made and now.get("action") == made:
            now["action"] = was
    return _sent_item(now)


def _undo(
    section: Json,
    place: Place,
    topic_id: str,
    position: int | None,
    before: Json | None,
    after: Json | None,
    list_was: Literal["list", "null", "missing"] = "list",
) -> Undo:
    items = section.get("model-protection") or []
    return Undo(
        place=place,
        topic_id=topic_id,
        before=before,
        after=copy.deepcopy(after),
        list_was=list_was,
        position=len(items) if position is None else position,
        count=_count(section),
    )


def _count(section: Json) -> int:
    items = section.get("model-protection")
    return sum(map(is_guardrail, items)) if isinstance(items, list) else 0
