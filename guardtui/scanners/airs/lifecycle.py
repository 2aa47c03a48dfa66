"""Deployment of a topic: created or updated, pinned in a profile, reverted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from guardtui.domain.topic import Topic, describe_changes, violations
from guardtui.http.errors import ServiceError, inert
from guardtui.scanners.airs.errors import UNKNOWN_FATE, AirsError, reworded
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.scanners.airs.policy import PolicyEdit, TopicPin, attach, for_sending, restore
from guardtui.scanners.airs.policy_paths import PolicyPath, pinned, target
from guardtui.scanners.airs.topic_revisions import text_hash
from guardtui.scanners.airs.undo_journal import Journal, PendingUndo, Reverted, UndoRecord

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
    difference: str = ""
    """How the profile is known to differ from the definition, without foreign text; or ""."""

    @property
    def is_newest(self) -> bool:
        """Return whether the profile has the topic's newest text, the only one AIRS shows."""
        topic = self.topic
        pins = () if topic is None else pinned(self.profile.policy, topic.topic_id)
        return topic is not None and any(max(pin[2], 1) == topic.revision for pin in pins)


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
    _check(topic)
    row = await newest(client, profile)
    known = await client.topic(topic.name)
    target_pin = _pin_target(client, row, known, topic, path)
    edit = attach(row.policy, target_pin.pin, topic.intent, path=path, set_default=set_default)
    changes, unknown = target_pin.changes + edit.changes, target_pin.unknown
    difference = "" if not changes else _difference(row, known, topic, path, unknown)
    return Plan(row, known, changes, _warnings(row, edit), edit.policy, unknown, difference)


def _difference(
    row: SecurityProfile,
    known: CustomTopic | None,
    topic: Topic,
    path: PolicyPath | None,
    unknown: int | None,
) -> str:
    """Return how the topic of a profile differs from a definition; "" if only a text is unknown."""
    if known is None:
        return "the tenant does not have the topic"
    path = path or target(row.policy)
    pins = [pin for pin in pinned(row.policy, known.topic_id) if pin[0] == path]
    if not pins:
        return "it does not have the topic"
    _, action, revision = pins[0]
    if len(pins) == 1 and action == topic.intent and unknown is not None:
        return ""
    if action != topic.intent:
        return f"the topic is in its {inert(action, characters=20)} list"
    if max(revision, 1) != known.revision:
        return f"it has revision {revision} of the topic, whose text is another"
    if not known.active:
        return "the topic is not active"
    deployed = Topic(
        name=topic.name,
        description=known.description,
        examples=known.examples,
        intent=topic.intent,
    )
    edits = ", ".join(describe_changes(deployed, topic))
    if edits:
        return f"it has revision {revision} of the topic; from there to the file: {edits}"
    return "its default for prompts that match no topic is another"


async def apply(
    client: ManagementClient,
    topic: Topic,
    profile: str,
    *,
    shown: Plan | None = None,
    path: PolicyPath | None = None,
    set_default: bool = False,
    journal: Journal | None = None,
    reuse: bool = False,
) -> Applied:
    """Update or create the service's topic, and pin it in the newest revision of the profile.

    The rest of the profile stays unchanged. Warnings report a revision of profile or topic other
    than in `shown`, and concurrent changes. `journal` receives the undo record before each step.
    With `reuse`, an older revision with this text is pinned, if one is known, instead of a new one.
    Raises AirsError for an unsuitable definition or profile, before anything is sent, and
    ServiceError.
    """
    _check(topic)
    # The profile is checked first: if it is unsuitable, no topic is changed.
    row = await newest(client, profile)
    known = await client.topic(topic.name)
    target_pin = _pin_target(client, row, known, topic, path, reuse=reuse)
    tried = attach(row.policy, target_pin.pin, topic.intent, path=path, set_default=set_default)
    changes = target_pin.changes
    pending = PendingUndo(profile, known, bool(changes), journal, topic.name, row.revision)
    if known is not None and changes:
        # A topic that is not created yet has no id, and no profile can name it. A record of a
        # change that fails later does not hinder a revert.
        pending.write(known.topic_id, target_pin.pin.revision, tried.undo, row.revision + 1)
    try:
        stored = known if known is not None and not changes else await _store(client, topic, known)
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
        now, more = await _put(client, row, edit)
    except (ServiceError, AirsError) as error:
        if not changes:
            if not isinstance(error, ServiceError) or error.kind not in UNKNOWN_FATE:
                pending.retract()
            raise
        note = f"the topic has revision {stored.revision}, but the profile does not use it"
        if isinstance(error, ServiceError):
            raise reworded(error, f"{error.message[:180]}; {note}") from None
        raise AirsError(f"{error}; {note}") from None
    before = pending.record(stored.topic_id, stored.revision, edit.undo, now.revision)
    if changes or edit.changes:
        pending.write(stored.topic_id, stored.revision, edit.undo, now.revision)
    return Applied(stored, now, changes + edit.changes, (*warnings, *more), before)


async def revert(client: ManagementClient, before: UndoRecord, *, send: bool = True) -> Reverted:
    """Restore the previous definition and exactly the previous pin; unless `send`, only plan it.

    The old text becomes the topic's newest revision, and the profile pins the same revision as
    before, so that scans judge as before. A text that others set since is not replaced, because
    the service does not return old texts; the pin is restored anyway. A topic that was created is
    only removed from the profile, because old revisions of the profile name it. Raises AirsError
    and ServiceError.
    """
    row = await newest(client, before.profile_name)
    edit = restore(row.policy, before.undo)
    changes, warnings = list(edit.changes), list(edit.warnings)
    if edit.changes and row.revision > before.revision:
        warnings.append(
            f"the profile was changed since: it was at revision {before.revision}, and is at "
            f"{row.revision} now; other changes stay"
        )
    if send:
        # The profile first: after that, scans do not depend on the newest text of the topic.
        row, more = await _put(client, row, edit)
        warnings += more
    name = inert(before.topic_name, characters=60)
    revision = None
    if before.topic is None and edit.changes:
        changes.append(f"topic {name} is removed from the profile, but stays in the tenant")
    elif before.topic is None:
        changes.append(f"topic {name} stays in the tenant; the profile does not use it")
    elif before.changed_topic:
        known, note = await _text_to_replace(client, before)
        if known is not None and send:
            revision = (await _update(client, CustomTopic.read(before.topic))).revision
            changes.append(f"topic {name} has its previous text again, as revision {revision}")
        elif known is not None:
            revisions = f"revision {known.revision} → {known.revision + 1}"
            changes.append(f"topic {name} gets its previous text: {revisions}")
        warnings += [f"topic {name} {note}"] if note else []
    return Reverted(row, tuple(changes), tuple(warnings), revision)


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
    # At the revision of before, the update never happened.
    return (known, "") if known.revision > old.revision else (None, "")


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
    *,
    reuse: bool = False,
) -> _PinTarget:
    """Return the revision with the definition's text: the pinned, the newest, or a new one.

    With `reuse`, any known one is preferred to a new one.
    """
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
    newest_text = _same_text(known, topic)
    revision, changes = known.revision, tuple[str, ...]()
    older = 0 if newest_text or not reuse else client.revisions.older(known, topic)
    if known.active and same:
        revision, unknown = same[0], None
    elif known.active and older:
        revision = older
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


# --- writes, which are looked up if a response was lost -------------------------------------


def _check(topic: Topic) -> None:
    """Raise AirsError for a definition that exceeds the limits."""
    if broken := violations(topic):
        problems = "; ".join(violation.message for violation in broken)
        raise AirsError(f"this definition is not sent: {problems}")


def _same_text(known: CustomTopic, topic: Topic | CustomTopic) -> bool:
    """Return whether a topic of the service has this text."""
    return (known.description, known.examples) == (topic.description, topic.examples)


async def create(client: ManagementClient, topic: Topic) -> CustomTopic:
    """Create a topic that no profile uses yet.

    Raises AirsError for an invalid definition or an existing name, and ServiceError.
    """
    _check(topic)
    known = await client.topic(topic.name)
    if known is None:
        known, failure = await _create(client, topic)
        # Without a response, the topic may be that of the call.
        if failure is None or (failure.status != 409 and _same_text(known, topic)):
            return known
    raise AirsError(
        f"topic {inert(topic.name, characters=60)!r} already exists, at revision {known.revision}"
    )


async def _create(
    client: ManagementClient, topic: Topic
) -> tuple[CustomTopic, ServiceError | None]:
    """Create a topic; return that of its name with the failure if there is one already."""
    try:
        return await client.create_topic(topic.name, topic.description, topic.examples), None
    except ServiceError as error:
        if error.status != 409 and error.kind not in UNKNOWN_FATE:
            raise
        failure = error
    known = await client.topic(topic.name)
    if known is None:
        raise failure
    return known, failure


async def newest(client: ManagementClient, name: str) -> SecurityProfile:
    """Return the highest revision of a profile.

    Raises AirsError, with the names of other profiles, if it does not exist.
    """
    row = await client.profile(name)
    if row is None:
        names = sorted(profile.profile_name for profile in await client.profiles(latest=True))
        known = ", ".join(inert(other, characters=40) for other in names[:5]) or "none"
        raise AirsError(f"no profile is named {inert(name, characters=60)!r}; existing: {known}")
    return row


async def _store(client: ManagementClient, topic: Topic, known: CustomTopic | None) -> CustomTopic:
    """Return the service's topic with this text, created or updated if needed."""
    if known is None:
        known, failure = await _create(client, topic)
        if failure is None:
            return known
    if _same_text(known, topic) and known.active:
        return known
    return await _update(
        client,
        known.model_copy(
            update={
                "description": topic.description,
                "examples": tuple(topic.examples),
                "active": True,
            }
        ),
    )


async def _update(client: ManagementClient, topic: CustomTopic) -> CustomTopic:
    """Set the text of a topic. If the response is lost, the topic is looked up, not sent again."""
    try:
        return await client.update_topic(
            topic.topic_id,
            topic.topic_name,
            topic.description,
            topic.examples,
            active=topic.active,
        )
    except ServiceError as error:
        if error.kind not in UNKNOWN_FATE:
            raise
        failure = error
    current = await client.topic(topic.topic_name)
    if current is None or not _same_text(current, topic):
        raise failure
    return current


async def _put(
    client: ManagementClient, row: SecurityProfile, edit: PolicyEdit
) -> tuple[SecurityProfile, list[str]]:
    """Send a changed policy; return the revision in effect, and warnings."""
    sent, notes = for_sending(edit.policy)
    warnings = list(notes)
    if not edit.changes:
        return row, []
    try:
        now = await client.update_profile(row, sent)
    except ServiceError as error:
        if error.kind not in UNKNOWN_FATE:
            raise
        now = await newest(client, row.profile_name)
        if now.revision <= row.revision or for_sending(now.policy)[0] != sent:
            raise
    if not now.profile_id or now.profile_id == row.profile_id or not now.revision:
        now = await newest(client, row.profile_name)  # an incomplete response
    if now.revision > row.revision + 1:
        warnings.append(
            "somebody changed the profile at the same moment: the changes of revision "
            f"{now.revision - 1} are overwritten; check them"
        )
    return now, warnings
