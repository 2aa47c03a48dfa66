"""A topic put into effect and taken back: made or updated, pinned in a profile, reverted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from guardtui.domain.topic import Topic
from guardtui.http.errors import ServiceError, inert
from guardtui.scanners.airs.errors import UNKNOWN_FATE, AirsError, reworded
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.scanners.airs.places import Place, pinned, references, target
from guardtui.scanners.airs.policy import Edit, Pin, attach, remove, restore
from guardtui.scanners.airs.topic_revisions import text_hash
from guardtui.scanners.airs.ways import Before, Journal, Reverted, Way
from guardtui.scanners.airs.writes import check, create, newest, put, same_text, store, update

__all__ = [
    "Applied",
    "Before",
    "Journal",
    "Plan",
    "Reverted",
    "apply",
    "create",
    "detach",
    "newest",
    "plan",
    "plan_back",
    "revert",
]

_NO_TOPIC = "00000000-0000-0000-0000-000000000000"
"""Stands for the id of a topic that is not made yet, in a plan only."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What applying a topic would do now, in words; nothing was sent."""

    profile: SecurityProfile
    topic: CustomTopic | None
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    policy: dict[str, Any]
    """The profile's policy as it would be."""
    unknown: int | None = None
    """Revision of the topic that the profile pins now, if the text of that is not known."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What was done. `profile` is the revision in effect, whose id scans will name."""

    topic: CustomTopic
    profile: SecurityProfile
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    before: Before


async def plan(
    client: ManagementClient,
    topic: Topic,
    profile: str,
    *,
    place: Place | None = None,
    set_default: bool = False,
) -> Plan:
    """What `apply` would do. Raises AirsError and ServiceError."""
    check(topic)
    row = await newest(client, profile)
    known = await client.topic(topic.name)
    wanted = _wanted(client, row, known, topic, place)
    edit = attach(row.policy, wanted.pin, topic.intent, place=place, set_default=set_default)
    changes = wanted.changes + edit.changes
    return Plan(row, known, changes, _warnings(row, edit), edit.policy, wanted.unknown)


async def apply(
    client: ManagementClient,
    topic: Topic,
    profile: str,
    *,
    shown: Plan | None = None,
    place: Place | None = None,
    set_default: bool = False,
    journal: Journal | None = None,
) -> Applied:
    """Make the service's topic of this name be this one, and pin it in the newest profile revision.

    The rest of the profile stays as it is at that moment. When it or the topic is another revision
    than in `shown`, or somebody writes at the same time, the warnings say so. `journal` is told of
    the way back before each step. Raises AirsError for a definition or a profile that will not do,
    before anything is sent, and ServiceError.
    """
    check(topic)
    # Looked at first: where the profile will not do, no topic is changed.
    row = await newest(client, profile)
    known = await client.topic(topic.name)
    wanted = _wanted(client, row, known, topic, place)
    tried = attach(row.policy, wanted.pin, topic.intent, place=place, set_default=set_default)
    words = wanted.changes
    way = Way(profile, known, bool(words), journal, topic.name, row.revision)
    if known is not None and words:
        # Not known of one that is to be made: it has no id yet, and no profile can name it.
        # What is not done in the end is no obstacle on the way back.
        way.tell(known.topic_id, wanted.pin.revision, tried.undo, row.revision + 1)
    try:
        stored = known if known is not None and not words else await store(client, topic, known)
    except ServiceError as error:
        if error.kind not in UNKNOWN_FATE:
            way.retract()
        raise
    try:
        row = await newest(client, profile)
        pin = wanted.pin
        if words:
            pin = Pin(
                topic_id=stored.topic_id, topic_name=stored.topic_name, revision=stored.revision
            )
        edit = attach(row.policy, pin, topic.intent, place=place, set_default=set_default)
        warnings = [*_topic_warnings(shown, known, stored, words), *_warnings(row, edit)]
        way.revision_before = row.revision
        if edit.changes:
            way.tell(stored.topic_id, stored.revision, edit.undo, row.revision + 1)
        if shown is not None and shown.profile.revision != row.revision:
            warnings.append(
                f"somebody changed the profile: it was revision {shown.profile.revision} when "
                f"shown, and is {row.revision} now; their changes stay"
            )
        now, more = await put(client, row, edit)
    except (ServiceError, AirsError) as error:
        if not words:
            if not isinstance(error, ServiceError) or error.kind not in UNKNOWN_FATE:
                way.retract()
            raise
        where = f"the topic has revision {stored.revision}, but the profile does not use it"
        raise _with_note(error, where) from None
    before = way.back(stored.topic_id, stored.revision, edit.undo, now.revision)
    if words or edit.changes:
        way.tell(stored.topic_id, stored.revision, edit.undo, now.revision)
    return Applied(stored, now, words + edit.changes, (*warnings, *more), before)


async def revert(
    client: ManagementClient,
    before: Before,
    *,
    delete_created: bool = False,
    updated_by: str = "",
) -> Reverted:
    """Go back to what was before: the definition, and the pin exactly.

    The old text becomes the topic's newest revision, and the profile pins the revision that it had
    pinned, so that scans judge as they did. A text that others gave the topic since is left alone,
    as the service keeps no old ones to be read; the pin is put back all the same.
    A topic that was made is only taken out of the profile: old revisions of the profile name it.
    With `delete_created` it is deleted, out of those as well, for which `updated_by`, an e-mail
    address, is needed. Raises AirsError and ServiceError.
    """
    if delete_created and before.topic is None and not updated_by:
        raise AirsError("to delete the topic, say who does it: an e-mail address is needed")
    row, edit, warnings = await _way_back(client, before)
    # The profile first: from then on it does not matter what the newest text of the topic is.
    now, more = await put(client, row, edit)
    warnings += more
    changes = list(edit.changes)
    name = inert(before.topic_name)[:60]
    if before.topic is None:
        if not delete_created:
            changes.append(f"topic {name} stays in the tenant, out of the profile")
        else:
            await client.force_delete_topic(before.topic_id, updated_by)
            changes.append(f"topic {name} is deleted")
    revision = None
    if before.topic is not None and before.changed_topic:
        known, note = await _text_to_replace(client, before)
        if known is not None:
            revision = (await update(client, CustomTopic.read(before.topic))).revision
            changes.append(f"topic {name} has its text of before, as revision {revision}")
        warnings += [f"topic {name} {note}"] if note else []
    return Reverted(now, tuple(changes), tuple(warnings), revision)


async def plan_back(client: ManagementClient, before: Before) -> Reverted:
    """What `revert` would do now, in words. Raises AirsError and ServiceError."""
    row, edit, warnings = await _way_back(client, before)
    changes = list(edit.changes)
    name = inert(before.topic_name)[:60]
    if before.topic is None:
        changes.append(f"topic {name} stays in the tenant, out of the profile")
    elif before.changed_topic:
        known, note = await _text_to_replace(client, before)
        if known is not None:
            revisions = f"revision {known.revision} → {known.revision + 1}"
            changes.append(f"topic {name} gets its text of before: {revisions}")
        warnings += [f"topic {name} {note}"] if note else []
    return Reverted(row, tuple(changes), tuple(warnings))


async def _way_back(
    client: ManagementClient, before: Before
) -> tuple[SecurityProfile, Edit, list[str]]:
    """The newest profile, the edit that leads back, and what is to be said of it."""
    row = await newest(client, before.profile_name)
    edit = restore(row.policy, before.undo)
    warnings = list(edit.warnings)
    if row.revision > before.revision:
        warnings.append(
            f"the profile was changed since: it was revision {before.revision}, and is "
            f"{row.revision} now; other changes stay"
        )
    return row, edit, warnings


async def _text_to_replace(
    client: ManagementClient, before: Before
) -> tuple[CustomTopic | None, str]:
    """The topic whose text is to be given back; None, and why, where it is not."""
    old = CustomTopic.read(before.topic)
    known = await client.topic(before.topic_name)
    if known is None or known.topic_id != old.topic_id:
        return None, "is not there any more: its old text was not given back"
    if known.revision > before.topic_revision:
        return None, (
            f"was changed since: it was revision {before.topic_revision}, and is {known.revision} "
            "now; its newest text is left as it is"
        )
    # Older than what was to be made of it: that was never done.
    return (known, "") if known.revision == before.topic_revision else (None, "")


async def detach(
    client: ManagementClient, topic_name: str, profile: str, *, place: Place | None = None
) -> Reverted:
    """Take a topic out of a profile; the topic itself stays. Raises AirsError, ServiceError."""
    known = await client.topic(topic_name)
    row = await newest(client, profile)
    if known is None or not references(row.policy, known.topic_id):
        raise AirsError(
            f"the profile {inert(profile)[:60]!r} has no topic {inert(topic_name)[:60]!r}"
        )
    edit = remove(row.policy, known.topic_id, place=place)
    now, more = await put(client, row, edit)
    return Reverted(now, edit.changes, (*edit.warnings, *more))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a profile is to pin, and what is changed in the topic itself for that, in words.

    `unknown` is the revision that the profile pins now, if the text of that is not known.
    """

    pin: Pin
    changes: tuple[str, ...] = ()
    unknown: int | None = None


def _wanted(
    client: ManagementClient,
    row: SecurityProfile,
    known: CustomTopic | None,
    topic: Topic,
    place: Place | None,
) -> _Wanted:
    """The revision whose text is the definition: the pinned one, the newest, or a new one."""
    name = inert(topic.name)[:60]
    if known is None:
        pin = Pin(topic_id=_NO_TOPIC, topic_name=topic.name, revision=1)
        return _Wanted(pin, (f"topic {name} is made",))
    where = place or target(row.policy)
    texts = {
        revision: client.revisions.text(known.topic_id, revision)
        for spot, _, revision in pinned(row.policy, known.topic_id)
        if spot == where
    }
    unknown = next((revision for revision, text in texts.items() if text is None), None)
    same = [revision for revision, text in texts.items() if text == text_hash(topic)]
    newest_text = same_text(known, topic)
    revision, changes = known.revision, tuple[str, ...]()
    if known.active and same:
        revision, unknown = same[0], None
    elif not (known.active and newest_text):
        revision += 1
        changes = (f"topic {name} gets a new text: revision {known.revision} → {revision}",)
    pin = Pin(topic_id=known.topic_id, topic_name=topic.name, revision=revision)
    return _Wanted(pin, changes, unknown)


def _topic_warnings(
    shown: Plan | None, known: CustomTopic | None, stored: CustomTopic, words: tuple[str, ...]
) -> list[str]:
    """What others did to the topic meanwhile."""
    warnings = []
    was = 0 if known is None else known.revision
    planned = was if shown is None or shown.topic is None else shown.topic.revision
    name = inert(stored.topic_name)[:60]
    if was != planned or (shown is not None and shown.topic is None and known is not None):
        warnings.append(
            f"somebody changed the topic {name}: it is revision {was} now, which is not what was "
            "shown; the way back leads to theirs"
        )
    if words and stored.revision > was + 1:
        warnings.append(
            f"somebody changed the topic {name} at the same moment: its text of revision "
            f"{stored.revision - 1} is not in effect, and no way leads back to it"
        )
    return warnings


def _warnings(row: SecurityProfile, edit: Edit) -> tuple[str, ...]:
    inactive = () if row.active else ("the profile is not active",)
    return (*inactive, *edit.warnings)


def _with_note(error: ServiceError | AirsError, note: str) -> ServiceError | AirsError:
    if isinstance(error, ServiceError):
        return reworded(error, f"{error.message[:180]}; {note}")
    return AirsError(f"{error}; {note}")
