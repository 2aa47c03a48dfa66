"""Creation and update of topics and profiles, which are looked up if a response was lost."""

from __future__ import annotations

from guardtui.domain.topic import Topic, violations
from guardtui.http.errors import ServiceError, inert
from guardtui.scanners.airs.errors import UNKNOWN_FATE, AirsError
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.scanners.airs.policy import PolicyEdit, for_sending


def check(topic: Topic) -> None:
    """Raise AirsError for a definition that exceeds the limits."""
    if broken := violations(topic):
        problems = "; ".join(violation.message for violation in broken)
        raise AirsError(f"this definition is not sent: {problems}")


def same_text(known: CustomTopic, topic: Topic) -> bool:
    """Return whether a topic of the service has this text."""
    return (known.description, known.examples) == (topic.description, topic.examples)


async def create(client: ManagementClient, topic: Topic) -> CustomTopic:
    """Create a topic that no profile uses yet.

    Raises AirsError for an invalid definition or an existing name, and ServiceError.
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
            return known  # created by the call whose response was lost
    raise AirsError(
        f"topic {inert(topic.name, characters=60)!r} already exists, at revision {known.revision}"
    )


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


async def store(client: ManagementClient, topic: Topic, known: CustomTopic | None) -> CustomTopic:
    """Return the service's topic with this text, created or updated if needed."""
    if known is None:
        try:
            return await client.create_topic(topic.name, topic.description, topic.examples)
        except ServiceError as error:
            if error.status != 409 and error.kind not in UNKNOWN_FATE:
                raise
            failure = error
        # Created by somebody else just now, or by the call whose response was lost.
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


async def update(client: ManagementClient, topic: CustomTopic) -> CustomTopic:
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
    if current is None or (current.description, current.examples) != (
        topic.description,
        topic.examples,
    ):
        raise failure
    return current


async def put(
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
