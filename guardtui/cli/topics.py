"""`guardtui topics`: the topics of a tenant listed, read and made; `topics_*` change them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli import diagnostics, topics_apply, topics_delete, topics_revert
from guardtui.cli.airs_service import (
    failures_told,
    known_revisions,
    load_settings,
    open_management,
    profile_option,
    run_async,
    table,
)
from guardtui.cli.options import FILE, tenant_option
from guardtui.cli.output import write

if TYPE_CHECKING:
    from guardtui.domain.topic import Topic
    from guardtui.scanners.airs.credentials import AirsSettings
    from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
    from guardtui.scanners.airs.places import Place
    from guardtui.scanners.airs.topic_revisions import ServiceRevisions

SCHEMA_VERSION = 1


@click.group("topics")
def command() -> None:
    """Manage the custom topics of AIRS: list, read, make, put into effect, take back, delete.

    They need a service account: PANW_MGMT_CLIENT_ID, PANW_MGMT_CLIENT_SECRET, PANW_MGMT_TSG_ID.
    Exit code 2: bad input, or what the service does not have. 3: the service failed.
    """


command.add_command(topics_apply.apply_)
command.add_command(topics_revert.revert)
command.add_command(topics_delete.delete)


@command.command("list")
@profile_option
@tenant_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(profile: str | None, tenant: str | None, as_json: bool) -> None:
    """List all topics: name, newest revision, id.

    With a profile also the action and the revision that it pins of each.
    """
    settings = load_settings(profile=profile, tenant=tenant)
    topics, row = run_async(_read(settings))
    pins = [[] if row is None else _pins(row, topic) for topic in topics]
    if as_json:
        document = {
            "schema_version": SCHEMA_VERSION,
            "profile": None
            if row is None
            else {"name": row.profile_name, "revision": row.revision, "id": row.profile_id},
            "topics": [_entry(topic, pinned) for topic, pinned in zip(topics, pins, strict=True)],
        }
        write(json.dumps(document, indent=2) + "\n")
        return
    header = ("name", "revision", "id", *(("in the profile",) if row is not None else ()))
    write(table([_cells(one, pin, row) for one, pin in zip(topics, pins, strict=True)], header))
    if not topics:
        diagnostics.note("there are no topics yet: 'guardtui topics create FILE' makes one")
    if row is not None:
        _say_strangers(row, topics)


@command.command("get")
@click.argument("name")
@profile_option
@tenant_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON as the service has it.")
def get(name: str, profile: str | None, tenant: str | None, as_json: bool) -> None:
    """Print the newest text of a topic, as a topic file.

    Its intent is a matter of the profile: with one that has the topic it is written too.
    NAME is the topic's name or its id.
    """
    settings = load_settings(profile=profile, tenant=tenant)
    topics, row = run_async(_read(settings))
    topic = topics_delete.named(topics, name)
    pins = [] if row is None else _pins(row, topic)
    if as_json:
        write(json.dumps(topic.model_dump(mode="json"), indent=2) + "\n")
    else:
        write(_topic_file(topic, pins))
    if row is not None:
        _say_pins(row, topic, pins, _texts(settings))
    if not topic.active:
        diagnostics.warn("the topic is not active: it matches nothing")


@command.command("create")
@click.argument("topic", type=FILE, metavar="TOPIC_FILE")
@tenant_option
def create(topic: Path, tenant: str | None) -> None:
    """Make the topic of a file, without putting it into a profile; prints its id.

    A topic of that name must not exist: 'guardtui topics apply' changes one.
    """
    from guardtui.cli.airs_scans import require_sendable
    from guardtui.files.topic_files import load_topic

    definition = load_topic(topic).topic
    require_sendable(definition)
    settings = load_settings(tenant=tenant)
    made = run_async(_create(settings, definition))
    write(f"{made.topic_id}\n")
    diagnostics.note(f"made, at revision {made.revision}; no profile uses it yet")


async def _create(settings: AirsSettings, topic: Topic) -> CustomTopic:
    from guardtui.scanners.airs import lifecycle

    with failures_told():
        async with open_management(settings) as client:
            return await lifecycle.create(client, topic)


async def _read(settings: AirsSettings) -> tuple[list[CustomTopic], SecurityProfile | None]:
    """All topics by name, and the profile where one is named. Raises `InputError`, `AirsError`."""
    from guardtui.scanners.airs import lifecycle

    with failures_told():
        async with open_management(settings) as client:
            topics = await client.topics()
            row = await lifecycle.newest(client, settings.profile) if settings.profile else None
    return sorted(topics, key=lambda one: (one.topic_name.casefold(), one.topic_id)), row


def _pins(row: SecurityProfile, topic: CustomTopic) -> list[tuple[Place, str, int]]:
    from guardtui.scanners.airs.places import pinned

    return list(pinned(row.policy, topic.topic_id))


def _entry(topic: CustomTopic, pins: list[tuple[Place, str, int]]) -> dict[str, Any]:
    return {
        "name": topic.topic_name,
        "revision": topic.revision,
        "id": topic.topic_id,
        "active": topic.active,
        "description": topic.description,
        "examples": list(topic.examples),
        "pins": [
            {"place": str(place), "action": action, "revision": revision}
            for place, action, revision in pins
        ],
    }


def _cells(
    topic: CustomTopic, pins: list[tuple[Place, str, int]], row: SecurityProfile | None
) -> list[str]:
    from guardtui.http.errors import inert

    cells = [inert(topic.topic_name), str(topic.revision), inert(topic.topic_id)]
    if row is None:
        return cells
    told = [
        f"{inert(action)}, revision {revision}" + (f" ({place})" if len(pins) > 1 else "")
        for place, action, revision in pins
    ]
    return [*cells, "; ".join(told) or "-"]


def _say_strangers(row: SecurityProfile, topics: list[CustomTopic]) -> None:
    """Warn of what the profile names that the tenant does not have."""
    from guardtui.http.errors import inert
    from guardtui.scanners.airs.places import guardrails, members

    known = {one.topic_id.lower() for one in topics}
    for _, item in guardrails(row.policy):
        for _, member in members(item):
            if str(member.get("topic_id")).lower() not in known:
                name = inert(str(member.get("topic_name")))[:60]
                diagnostics.warn(f"the profile names a topic that is not there: {name}")


def _texts(settings: AirsSettings) -> ServiceRevisions:
    """The texts of topic revisions that were seen at this service."""
    from guardtui.scanners.airs.topic_revisions import ServiceRevisions

    return ServiceRevisions(str(settings.management_endpoint), known_revisions())


def _say_pins(
    row: SecurityProfile,
    topic: CustomTopic,
    pins: list[tuple[Place, str, int]],
    texts: ServiceRevisions,
) -> None:
    from guardtui.http.errors import inert
    from guardtui.scanners.airs.topic_revisions import text_hash

    name = inert(row.profile_name)[:60]
    if not pins:
        diagnostics.note(f"profile {name} (revision {row.revision}) does not have this topic")
    for place, action, revision in pins:
        said = f"profile {name} (revision {row.revision}): {inert(action)}, pinned at "
        said += f"revision {revision} ({place})"
        newest = f"revision {topic.revision}"
        if revision == topic.revision:
            diagnostics.note(said)
        elif texts.text(topic.topic_id, revision) == text_hash(topic):
            diagnostics.note(f"{said}: the same text as the newest, {newest}")
        else:
            diagnostics.warn(
                f"{said}: what is printed is the newest, {newest}, "
                "as the service gives no older text"
            )


_NO_INTENT = "intent: block\n"


def _topic_file(topic: CustomTopic, pins: list[tuple[Place, str, int]]) -> str:
    """The YAML of a topic file. Without a pin that tells the intent, none is written."""
    from tempfile import TemporaryDirectory

    from guardtui.domain.topic import Intent, Topic
    from guardtui.files.topic_files import TopicFile, save_topic

    intents = {action for _, action, _ in pins} & set(Intent)
    intent = Intent(intents.pop()) if len(intents) == 1 else None
    definition = Topic(
        name=topic.topic_name,
        description=topic.description,
        examples=topic.examples,
        intent=intent or Intent.BLOCK,
    )
    with TemporaryDirectory() as folder:
        # By the writer of topic files, which proves that they read back as what was meant.
        file = save_topic(TopicFile(Path(folder) / "topic.yaml", definition, ""), definition)
    text = file.content.decode()
    if intent is None:
        diagnostics.note(
            "no intent is written: a profile says whether a topic is blocked or allowed\n"
            "  name one that has the topic with --profile, or add 'intent: block' or 'allow'"
        )
        return text.removesuffix(_NO_INTENT)
    return text
