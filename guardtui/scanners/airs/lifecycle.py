"""Deployment of a topic: created or updated, pinned in a profile, reverted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from guardtui.domain.topic import Topic
from guardtui.http.errors import ServiceError, inert
from guardtui.scanners.airs.errors import UNKNOWN_FATE, AirsError, reworded
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.scanners.airs.policy import PolicyEdit, TopicPin, attach, restore
from guardtui.scanners.airs.policy_paths import PolicyPath, pinned, target
from guardtui.scanners.airs.topic_revisions import text_hash
from guardtui.scanners.airs.topic_writes import check, create, newest, put, same_text, store, update
from guardtui.scanners.airs.undo_journal import Journal, PendingUndo, Reverted, UndoRecord

__all__ = [
    "Applied",
    "Journal",
    "Plan",
    "Reverted",
    "UndoRecord",
    "apply",
    "create",
    "newest",
    "plan",
    "plan_revert",
    "revert",
]

_NO_TOPIC = "00000000-0000-0000-0000-000000000000"
"""Placeholder, in a plan only, for the id of a topic that is not created yet."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Effects of applying a topic now, in words; nothing was sent."""

    profile: SecurityProfile
    topic: CustomTopic | None
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    policy: dict[str, Any]
    """Policy of the profile after the change."""
    unknown: int | None = None
    """Revision of the topic that the profile pins now, if its text is unknown."""


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of applying a topic. `profile` is the active revision, whose id scans will name."""

    topic: CustomTopic
    profile: SecurityProfile
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    before: UndoRecord


async def plan(
    client: ManagementClient,
    topic: Topic,
    profile: str,
    *,
    path: PolicyPath | None = None,
    set_default: bool = False,
) -> Plan:
    """Return what `apply` would do. Raises AirsError and ServiceError."""
    check(topic)
    row = await newest(client, profile)
    known = await client.topic(topic.name)
    target_pin = _pin_target(client, row, known, topic, path)
    edit = attach(row.policy, target_pin.pin, topic.intent, path=path, set_default=set_default)
    changes = target_pin.changes + edit.changes
    return Plan(row, known, changes, _warnings(row, edit), edit.policy, target_pin.unknown)


async def apply(
    client: ManagementClient,
    topic: Topic,
    profile: str,
    *,
    shown: Plan | None = None,
    path: PolicyPath | None = None,
    set_default: bool = False,
    journal: Journal | None = None,
) -> Applied:
    """Update or create the service's topic, and pin it in the newest revision of the profile.

    The rest of the profile stays unchanged. Warnings report a revision of profile or topic other
    than in `shown`, and concurrent changes. `journal` receives the undo record before each step.
    Raises AirsError for an unsuitable definition or profile, before anything is sent, and
    ServiceError.
    """
    check(topic)
    # The profile is checked first: if it is unsuitable, no topic is changed.
    row = await newest(client, profile)
    known = await client.topic(topic.name)
    target_pin = _pin_target(client, row, known, topic, path)
    tried = attach(row.policy, target_pin.pin, topic.intent, path=path, set_default=set_default)
    changes = target_pin.changes
    pending = PendingUndo(profile, known, bool(changes), journal, topic.name, row.revision)
    if known is not None and changes:
        # A topic that is not created yet has no id, and no profile can name it. A record of a
        # change that fails later does not hinder a revert.
        pending.write(known.topic_id, target_pin.pin.revision, tried.undo, row.revision + 1)
    try:
        stored = known if known is not None and not changes else await store(client, topic, known)
    except ServiceError as error:
        if error.kind not in UNKNOWN_FATE:
            pending.retract()
        raise
    try:
        row = await newest(client, profile)
        pin = target_pin.pin
        if changes:
            pin = TopicPin(
                topic_id=stored.topic_id, topic_name=stored.topic_name, revision=stored.revision
            )
        edit = attach(row.policy, pin, topic.intent, path=path, set_default=set_default)
        warnings = [*_topic_warnings(shown, known, stored, changes), *_warnings(row, edit)]
        pending.revision_before = row.revision
        if edit.changes:
            pending.write(stored.topic_id, stored.revision, edit.undo, row.revision + 1)
        if shown is not None and shown.profile.revision != row.revision:
            warnings.append(
                "somebody changed the profile: it was at revision "
                f"{shown.profile.revision} when shown, and is at {row.revision} now; their changes "
                "stay"
            )
        now, more = await put(client, row, edit)
    except (ServiceError, AirsError) as error:
        if not changes:
            if not isinstance(error, ServiceError) or error.kind not in UNKNOWN_FATE:
                pending.retract()
            raise
        note = f"the topic has revision {stored.revision}, but the profile does not use it"
        raise _with_note(error, note) from None
    before = pending.record(stored.topic_id, stored.revision, edit.undo, now.revision)
    if changes or edit.changes:
        pending.write(stored.topic_id, stored.revision, edit.undo, now.revision)
    return Applied(stored, now, changes + edit.changes, (*warnings, *more), before)


async def revert(client: ManagementClient, before: UndoRecord) -> Reverted:
    """Restore the previous definition and exactly the previous pin.

    The old text becomes the topic's newest revision, and the profile pins the same revision as
    before, so that scans judge as before. A text that others set since is not replaced, because
    the service does not return old texts; the pin is restored anyway. A topic that was created is
    only removed from the profile, because old revisions of the profile name it. Raises AirsError
    and ServiceError.
    """
    row, edit, warnings = await _revert_edit(client, before)
    # The profile first: after that, scans do not depend on the newest text of the topic.
    now, more = await put(client, row, edit)
    warnings += more
    changes = list(edit.changes)
    name = inert(before.topic_name, characters=60)
    if before.topic is None:
        changes.append(f"topic {name} {_created(edit)}")
    revision = None
    if before.topic is not None and before.changed_topic:
        known, note = await _text_to_replace(client, before)
        if known is not None:
            revision = (await update(client, CustomTopic.read(before.topic))).revision
            changes.append(f"topic {name} has its previous text again, as revision {revision}")
        warnings += [f"topic {name} {note}"] if note else []
    return Reverted(now, tuple(changes), tuple(warnings), revision)


async def plan_revert(client: ManagementClient, before: UndoRecord) -> Reverted:
    """Return what `revert` would do now, in words. Raises AirsError and ServiceError."""
    row, edit, warnings = await _revert_edit(client, before)
    changes = list(edit.changes)
    name = inert(before.topic_name, characters=60)
    if before.topic is None:
        changes.append(f"topic {name} {_created(edit)}")
    elif before.changed_topic:
        known, note = await _text_to_replace(client, before)
        if known is not None:
            revisions = f"revision {known.revision} → {known.revision + 1}"
            changes.append(f"topic {name} gets its previous text: {revisions}")
        warnings += [f"topic {name} {note}"] if note else []
    return Reverted(row, tuple(changes), tuple(warnings))


def _created(edit: PolicyEdit) -> str:
    """Return what a revert means for a topic that the change created."""
    if edit.changes:
        return "is removed from the profile, but stays in the tenant"
    return "stays in the tenant; the profile does not use it"


async def _revert_edit(
    client: ManagementClient, before: UndoRecord
) -> tuple[SecurityProfile, PolicyEdit, list[str]]:
    """Return the newest profile, the edit that restores it, and warnings."""
    row = await newest(client, before.profile_name)
    edit = restore(row.policy, before.undo)
    warnings = list(edit.warnings)
    if edit.changes and row.revision > before.revision:
        warnings.append(
            f"the profile was changed since: it was at revision {before.revision}, and is at "
            f"{row.revision} now; other changes stay"
        )
    return row, edit, warnings


async def _text_to_replace(
    client: ManagementClient, before: UndoRecord
) -> tuple[CustomTopic | None, str]:
    """Return the topic whose text is to be restored, or None with the reason."""
    old = CustomTopic.read(before.topic)
    known = await client.topic(before.topic_name)
    if known is None or known.topic_id != old.topic_id:
        return None, "no longer exists: its old text was not restored"
    if known.revision > before.topic_revision:
        return None, (
            f"was changed since: it was at revision {before.topic_revision}, and is at "
            f"{known.revision} now; its newest text stays"
        )
    # An older revision: the update never happened.
    return (known, "") if known.revision == before.topic_revision else (None, "")


@dataclass(frozen=True, slots=True)
class _PinTarget:
    """The pin that a profile should have, and the change of the topic for that, in words.

    `unknown` is the revision that the profile pins now, if its text is unknown.
    """

    pin: TopicPin
    changes: tuple[str, ...] = ()
    unknown: int | None = None


def _pin_target(
    client: ManagementClient,
    row: SecurityProfile,
    known: CustomTopic | None,
    topic: Topic,
    path: PolicyPath | None,
) -> _PinTarget:
    """Return the revision with the definition's text: the pinned, the newest, or a new one."""
    name = inert(topic.name, characters=60)
    if known is None:
        pin = TopicPin(topic_id=_NO_TOPIC, topic_name=topic.name, revision=1)
        return _PinTarget(pin, (f"topic {name} is created",))
    path = path or target(row.policy)
    texts = {
        revision: client.revisions.text(known.topic_id, revision)
        for pin_path, _, revision in pinned(row.policy, known.topic_id)
        if pin_path == path
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
    pin = TopicPin(topic_id=known.topic_id, topic_name=topic.name, revision=revision)
    return _PinTarget(pin, changes, unknown)


def _topic_warnings(
    shown: Plan | None, known: CustomTopic | None, stored: CustomTopic, changes: tuple[str, ...]
) -> list[str]:
    """Return warnings about concurrent changes of the topic by others."""
    warnings = []
    revision = 0 if known is None else known.revision
    planned = revision if shown is None or shown.topic is None else shown.topic.revision
    name = inert(stored.topic_name, characters=60)
    if revision != planned or (shown is not None and shown.topic is None and known is not None):
        warnings.append(
            f"somebody changed the topic {name}: it is at revision {revision} now, not the one "
            "shown; a revert restores their text"
        )
    if changes and stored.revision > revision + 1:
        warnings.append(
            f"somebody changed the topic {name} at the same moment: its text of revision "
            f"{stored.revision - 1} is not in effect, and cannot be restored"
        )
    return warnings


def _warnings(row: SecurityProfile, edit: PolicyEdit) -> tuple[str, ...]:
    inactive = () if row.active else ("the profile is not active",)
    return (*inactive, *edit.warnings)


def _with_note(error: ServiceError | AirsError, note: str) -> ServiceError | AirsError:
    if isinstance(error, ServiceError):
        return reworded(error, f"{error.message[:180]}; {note}")
    return AirsError(f"{error}; {note}")
