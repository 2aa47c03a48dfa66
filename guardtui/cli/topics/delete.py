"""`guardtui topics delete`: delete a topic of a tenant, unless profiles use it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from difflib import get_close_matches

import click

from guardtui.app.airs.tenant_topics import Holder, holder_lines, holders, is_address
from guardtui.cli import diagnostics, signals
from guardtui.cli.airs_service import (
    airs_option,
    failures_told,
    open_management,
    settings_of,
)
from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import Exit, InputError
from guardtui.cli.guardrail_options import GuardrailFlags
from guardtui.cli.topics.changes import agreement_options, agrees
from guardtui.http.errors import ServiceError, inert
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.models import CustomTopic

_HOLDERS = 10
_REVISIONS = 5


@click.command("delete", cls=Command)
@click.argument("name")
@click.option("--force", is_flag=True, help="First remove it from all profiles that use it.")
@click.option(
    "--updated-by",
    metavar="EMAIL",
    default="",
    help="Address of the person who deletes it; required with --force.",
)
@agreement_options
@airs_option
def delete(
    name: str, force: bool, updated_by: str, yes: bool, dry_run: bool, guardrail: GuardrailFlags
) -> int:
    """Delete a topic permanently. NAME is its name or its id.

    Refused while any revision of a profile uses it, also an old one, unless --force is given.
    """
    if force and not is_address(updated_by):
        raise click.UsageError("--force needs --updated-by EMAIL, the address of who deletes it")
    if updated_by and not force:
        raise click.UsageError("--updated-by is for --force only: omit it")
    settings = settings_of(guardrail)

    async def work() -> int:
        with failures_told():
            async with open_management(settings) as client:
                topic = named(await client.topics(), name)
                profiles = await holders(client, topic)
        shown = f"topic {inert(topic.topic_name, characters=60)}"
        if profiles and not force:
            raise InputError(
                f"{shown} is not deleted: profiles name it\n{_lines(profiles)}\n"
                "  take it out of them and delete their old revisions, or give --force with "
                "--updated-by EMAIL"
            )
        diagnostics.note(f"{shown}, revision {topic.revision}, is permanently deleted")
        if profiles:
            diagnostics.warn(f"it is taken out of these profiles:\n{_lines(profiles)}")
        if dry_run:
            return Exit.DONE
        if not agrees("Delete it?", yes=yes):
            return Exit.INTERRUPTED
        try:
            message = await _delete(settings, topic, updated_by if force else "")
        except asyncio.CancelledError:
            diagnostics.note(
                f"interrupted: 'guardtui topics list' shows whether {shown} is deleted"
            )
            raise
        diagnostics.note(message)
        return Exit.DONE

    return signals.run(work())


def named(topics: Sequence[CustomTopic], name: str) -> CustomTopic:
    """Return the topic of this name or id. Raises `InputError` with similar names."""
    for topic in topics:
        if name == topic.topic_name:
            return topic
    for topic in topics:
        if name.lower() == topic.topic_id.lower():
            return topic
    names = [topic.topic_name for topic in topics]
    similar = get_close_matches(name, names, n=3) or sorted(names)[:5]
    listed = ", ".join(repr(inert(topic, characters=60)) for topic in similar)
    remedy = f"there are: {listed}" if listed else "the tenant has no topics"
    raise InputError(
        f"there is no topic {inert(name, characters=60)!r}; {remedy}\n"
        "  'guardtui topics list' lists them; names count letter by letter"
    )


def _lines(holders: Sequence[Holder]) -> str:
    return "\n".join(f"  {line}" for line in holder_lines(holders, _HOLDERS, _REVISIONS))


async def _delete(settings: AirsSettings, topic: CustomTopic, updated_by: str) -> str:
    """Delete it and return the answer of the service. Raises `InputError`, `AirsError`."""
    with failures_told("the topic was not deleted"):
        async with open_management(settings) as client:
            if updated_by:
                return await client.force_delete_topic(topic.topic_id, updated_by)
            try:
                return await client.delete_topic(topic.topic_id)
            except ServiceError as error:
                if error.status != 409:
                    raise
                # It was added to a profile since it was looked up.
                raise InputError(
                    f"the topic was not deleted: {error.message}\n"
                    "  give --force with --updated-by EMAIL to take it out of them first"
                ) from error
