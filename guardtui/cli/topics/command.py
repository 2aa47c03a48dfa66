"""`guardtui topics`: list, read and create the topics of a tenant."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from guardtui.app.airs.tenant_topics import TenantTopics, read_listing
from guardtui.cli import diagnostics, signals
from guardtui.cli.airs_service import (
    airs_option,
    failures_told,
    open_management,
    settings_of,
)
from guardtui.cli.command_help import Group
from guardtui.cli.diagnostics import Exit
from guardtui.cli.guardrail_options import GuardrailFlags
from guardtui.cli.options import FILE, exits, json_option
from guardtui.cli.output import table, write
from guardtui.cli.scans.airs import require_sendable
from guardtui.cli.topics.apply import apply_
from guardtui.cli.topics.delete import delete, named
from guardtui.cli.topics.revert import revert
from guardtui.domain.topic import Intent, Topic
from guardtui.files.topic_files import TopicFile, load_topic, save_topic
from guardtui.http.errors import inert
from guardtui.reports.json_data import encode
from guardtui.scanners.airs import lifecycle
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.models import CustomTopic


@dataclass(frozen=True, slots=True)
class Pin:
    """A place of a profile that uses a revision of a topic."""

    place: str
    action: str
    revision: int


@dataclass(frozen=True, slots=True)
class TopicEntry:
    """A topic of the tenant, with its newest text."""

    name: str
    revision: int
    id: str
    active: bool
    description: str
    examples: tuple[str, ...]
    pins: list[Pin]


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """A profile of the tenant."""

    name: str
    revision: int
    id: str


@dataclass(frozen=True, slots=True)
class TopicList:
    """The topics of a tenant; `profile` is null if none is named."""

    profile: ProfileEntry | None
    topics: list[TopicEntry]


@click.group(
    "topics",
    cls=Group,
    examples=(
        ("guardtui topics list", "The topics of the tenant"),
        ("guardtui topics apply tax.yaml --guardrail airs:prod", "Deploy a definition"),
        ("guardtui topics revert tax.yaml --guardrail airs:prod", "Restore what was there before"),
    ),
)
@exits(
    {
        Exit.BAD_INPUT: "bad input, or an unknown topic or profile",
        Exit.NOT_COMPLETED: "the service failed",
    }
)
def command() -> None:
    """Manage the custom topics of AIRS: list, get, create, apply, revert, delete.

    These commands need a service account: PANW_MGMT_CLIENT_ID, PANW_MGMT_CLIENT_SECRET and
    PANW_MGMT_TSG_ID.
    """


command.add_command(apply_)
command.add_command(revert)
command.add_command(delete)


@command.command("list")
@airs_option
@json_option
def list_(guardrail: GuardrailFlags, as_json: bool) -> None:
    """List all topics: name, newest revision, id.

    With a profile, also the action of each topic and the revision that the profile uses.
    """
    settings = settings_of(guardrail)
    listing = signals.run(_read(settings))
    row = listing.profile
    if as_json:
        topics = [_entry(listing, topic) for topic in listing.topics]
        profile = None
        if row is not None:
            profile = ProfileEntry(row.profile_name, row.revision, row.profile_id)
        write(encode("topics", TopicList(profile, topics)))
        return
    header = ("name", "revision", "id", *(("in the profile",) if row is not None else ()))
    write(table([_cells(listing, topic) for topic in listing.topics], header))
    if not listing.topics:
        diagnostics.note("there are no topics yet: 'guardtui topics create FILE' makes one")
    for name in listing.strangers():
        diagnostics.warn(f"the profile names a topic that is not there: {name}")


@command.command("get")
@click.argument("name")
@airs_option
@click.option("--json", "as_json", is_flag=True, help="Print the JSON of the service.")
def get(name: str, guardrail: GuardrailFlags, as_json: bool) -> None:
    """Print the newest text of a topic, as a topic file.

    The intent is part of a profile: it is included with a profile that has the topic.
    NAME is the topic's name or its id.
    """
    settings = settings_of(guardrail)
    listing = signals.run(_read(settings))
    topic = named(listing.topics, name)
    if as_json:
        write(json.dumps(topic.model_dump(mode="json"), indent=2) + "\n")
    else:
        write(_topic_file(topic, listing.intent(topic)))
    _say_pins(listing, topic)
    if not topic.active:
        diagnostics.warn("the topic is not active: it matches nothing")


@command.command("create")
@click.argument("topic", type=FILE, metavar="TOPIC_FILE")
@airs_option
def create(topic: Path, guardrail: GuardrailFlags) -> None:
    """Create the topic of a file, without adding it to a profile; prints its id.

    A topic of that name must not exist: 'guardtui topics apply' changes one.
    """
    definition = load_topic(topic).topic
    require_sendable(definition)
    settings = settings_of(guardrail, topic)
    made = signals.run(_create(settings, definition))
    write(f"{made.topic_id}\n")
    diagnostics.note(f"made, at revision {made.revision}; no profile uses it yet")


async def _create(settings: AirsSettings, topic: Topic) -> CustomTopic:
    with failures_told():
        async with open_management(settings) as client:
            return await lifecycle.create(client, topic)


async def _read(settings: AirsSettings) -> TenantTopics:
    """Read all topics, and the profile, if one is named. Raises `InputError`, `AirsError`."""
    with failures_told():
        async with open_management(settings) as client:
            return await read_listing(client, settings.profile, must_exist=True)


def _entry(listing: TenantTopics, topic: CustomTopic) -> TopicEntry:
    return TopicEntry(
        name=topic.topic_name,
        revision=topic.revision,
        id=topic.topic_id,
        active=topic.active,
        description=topic.description,
        examples=topic.examples,
        pins=[Pin(str(path), action, revision) for path, action, revision in listing.pins(topic)],
    )


def _cells(listing: TenantTopics, topic: CustomTopic) -> list[str]:
    cells = [inert(topic.topic_name), str(topic.revision), inert(topic.topic_id)]
    if listing.profile is None:
        return cells
    pins = listing.pins(topic)
    texts = [
        f"{inert(action)}, revision {revision}" + (f" ({path})" if len(pins) > 1 else "")
        for path, action, revision in pins
    ]
    return [*cells, "; ".join(texts) or "-"]


def _say_pins(listing: TenantTopics, topic: CustomTopic) -> None:
    row = listing.profile
    if row is None:
        return
    profile = f"profile {inert(row.profile_name, characters=60)} (revision {row.revision})"
    pins = listing.pins(topic)
    if not pins:
        diagnostics.note(f"{profile} does not have this topic")
    for path, action, revision in pins:
        text = f"{profile}: {inert(action)}, pinned at revision {revision} ({path})"
        newest = f"revision {topic.revision}"
        if revision == topic.revision:
            diagnostics.note(text)
        elif not listing.is_older(topic, revision):
            diagnostics.note(f"{text}: the same text as the newest, {newest}")
        else:
            diagnostics.warn(
                f"{text}: what is printed is the newest, {newest}, "
                "as the service gives no older text"
            )


_NO_INTENT = "intent: block\n"


def _topic_file(topic: CustomTopic, intent: Intent | None) -> str:
    """Return the YAML of a topic file; without an intent, none is written."""
    definition = Topic(
        name=topic.topic_name,
        description=topic.description,
        examples=topic.examples,
        intent=intent or Intent.BLOCK,
    )
    with TemporaryDirectory() as folder:
        # The writer of topic files verifies that they read back unchanged.
        file = save_topic(TopicFile(Path(folder) / "topic.yaml", definition, ""), definition)
    text = file.content.decode()
    if intent is None:
        diagnostics.note(
            "no intent is written: a profile says whether a topic is blocked or allowed\n"
            "  name one that has the topic with --guardrail airs:NAME, or add 'intent: block' or "
            "'allow'"
        )
        return text.removesuffix(_NO_INTENT)
    return text
