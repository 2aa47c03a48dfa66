"""Topics and profiles written: made, changed, and looked up again when an answer was lost."""

from __future__ import annotations

from guardtui.domain.topic import Topic, violations
from guardtui.http.errors import ServiceError, inert
from guardtui.scanners.airs.errors import UNKNOWN_FATE, AirsError
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.scanners.airs.policy import Edit, for_sending


def check(topic: Topic) -> None:
    """Raise AirsError for a definition that breaks the limits."""
    if broken := violations(topic):
        told = "; ".join(one.message for one in broken)
        raise AirsError(f"this definition is not sent: {told}")


def same_text(known: CustomTopic, topic: Topic) -> bool:
    """Whether a topic has this text."""
    return (known.description, known.examples) == (topic.description, topic.examples)


async def create(client: ManagementClient, topic: Topic) -> CustomTopic:
    """Make a topic that no profile uses yet.

    Raises AirsError for a definition that will not do or a name that is taken, and ServiceError.
    """
    check(topic)
    known = await client.topic(topic.name)
    if known is None:
        try:
            return await client.create_topic(topic.name, topic.description, topic.examples)
        except ServiceError as error:
            if error.status != 409 and error.kind not in UNKNOWN_FATE:
                raise
            failure = error
        known = await client.topic(topic.name)
        if known is None:
            raise failure
        if failure.status != 409 and same_text(known, topic):
            return known  # made by the call whose answer was lost
    raise AirsError(
        f"there is a topic {inert(topic.name)[:60]!r} already, at revision {known.revision}"
    )


async def newest(client: ManagementClient, name: str) -> SecurityProfile:
    """The highest revision of a profile; AirsError naming others when it is not there."""
    row = await client.profile(name)
    if row is None:
        names = sorted(one.profile_name for one in await client.profiles(latest=True))
        known = ", ".join(inert(one)[:40] for one in names[:5]) or "none"
        raise AirsError(f"there is no profile {inert(name)[:60]!r}; there are: {known}")
    return row


async def store(client: ManagementClient, topic: Topic, known: CustomTopic | None) -> CustomTopic:
    """The service's topic with this text."""
    if known is None:
        try:
            return await client.create_topic(topic.name, topic.description, topic.examples)
        except ServiceError as error:
            if error.status != 409 and error.kind not in UNKNOWN_FATE:
                raise
            failure = error
        # Made by somebody else just now, or by the call whose answer was lost.
        known = await client.topic(topic.name)
        if known is None:
            raise failure
    if same_text(known, topic) and known.active:
        return known
    return await update(
        client,
        known.model_copy(
            update={
                "description": topic.description,
                "examples": tuple(topic.examples),
                "active": True,
            }
        ),
    )


async def update(client: ManagementClient, wanted: CustomTopic) -> CustomTopic:
    """Give a topic this text. When the answer is lost, it is looked up instead of sent again."""
    try:
        return await client.update_topic(
            wanted.topic_id,
            wanted.topic_name,
            wanted.description,
            wanted.examples,
            active=wanted.active,
        )
    except ServiceError as error:
        if error.kind not in UNKNOWN_FATE:
            raise
        failure = error
    now = await client.topic(wanted.topic_name)
    if now is None or (now.description, now.examples) != (wanted.description, wanted.examples):
        raise failure
    return now


async def put(
    client: ManagementClient, row: SecurityProfile, edit: Edit
) -> tuple[SecurityProfile, list[str]]:
    """Send a changed policy; the revision in effect, and warnings."""
    sent, notes = for_sending(edit.policy)
    warnings = list(notes)
    if not edit.changes:
        return row, []
    try:
        now = await client.update_profile(row, sent)
    except ServiceError as error:
        if error.kind not in UNKNOWN_FATE:
            raise
        found = await newest(client, row.profile_name)
        if found.revision <= row.revision or for_sending(found.policy)[0] != sent:
            raise
        now = found
    if not now.profile_id or now.profile_id == row.profile_id or not now.revision:
        now = await newest(client, row.profile_name)  # an answer that does not say enough
    if now.revision > row.revision + 1:
        between = now.revision - 1
        warnings.append(
            f"somebody changed the profile at the same moment: what revision {between} brought is "
            "overwritten; look at it"
        )
    return now, warnings
