"""`guardtui topics delete`: a topic out of a tenant, unless profiles name it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from guardtui.cli import diagnostics
from guardtui.cli.airs_service import (
    agreed,
    agreement_options,
    failures_told,
    load_settings,
    open_management,
    run_async,
)
from guardtui.cli.diagnostics import Exit, InputError
from guardtui.cli.options import tenant_option

if TYPE_CHECKING:
    from guardtui.scanners.airs.credentials import AirsSettings
    from guardtui.scanners.airs.models import CustomTopic

_LISTED = 10


@click.command("delete")
@click.argument("name")
@click.option("--force", is_flag=True, help="Take it out of all profiles that name it, first.")
@click.option(
    "--updated-by",
    metavar="EMAIL",
    default="",
    help="Who does it: the service wants to know with --force.",
)
@agreement_options
@tenant_option
def delete(
    name: str, force: bool, updated_by: str, yes: bool, dry_run: bool, tenant: str | None
) -> int:
    """Delete a topic for good. NAME is its name or its id.

    Refused while any revision of a profile names it, old ones too, unless with --force.
    """
    if force and not _is_address(updated_by):
        raise click.UsageError("--force needs --updated-by EMAIL, an address: who does it")
    if updated_by and not force:
        raise click.UsageError("--updated-by is for --force only: leave it out")
    settings = load_settings(tenant=tenant)
    topic, holders, newest = run_async(_look(settings, name))
    shown = _shown(topic)
    if holders and not force:
        raise InputError(
            f"{shown} is not deleted: profiles name it\n{_lines(holders, newest)}\n"
            "  take it out of them and delete their old revisions, or give --force with "
            "--updated-by EMAIL"
        )
    diagnostics.note(f"{shown}, revision {topic.revision}, is deleted for good")
    if holders:
        diagnostics.warn(f"it is taken out of these profiles:\n{_lines(holders, newest)}")
    if dry_run:
        return Exit.DONE
    if not agreed("Delete it?", yes):
        return Exit.INTERRUPTED
    try:
        said = run_async(_delete(settings, topic, updated_by if force else ""))
    except KeyboardInterrupt:
        diagnostics.note(f"broken off: whether {shown} is deleted, 'guardtui topics list' tells")
        raise
    diagnostics.note(said)
    return Exit.DONE


def named(topics: Sequence[CustomTopic], name: str) -> CustomTopic:
    """The topic of this name or id. Raises `InputError` with names that are like it."""
    from difflib import get_close_matches

    from guardtui.http.errors import inert

    for one in topics:
        if name == one.topic_name:
            return one
    for one in topics:
        if name.lower() == one.topic_id.lower():
            return one
    names = [one.topic_name for one in topics]
    near = get_close_matches(name, names, n=3) or sorted(names)[:5]
    there = ", ".join(repr(inert(one)[:60]) for one in near)
    remedy = f"there are: {there}" if there else "there are none at all"
    raise InputError(
        f"there is no topic {inert(name)[:60]!r}; {remedy}\n"
        "  'guardtui topics list' lists them; names count letter by letter"
    )


def _is_address(text: str) -> bool:
    name, sign, host = text.partition("@")
    return bool(name and sign and host) and text.isprintable() and not set(text) & set(" ,;<>")


def _shown(topic: CustomTopic) -> str:
    from guardtui.http.errors import inert

    return f"topic {inert(topic.topic_name)[:60]}"


async def _look(
    settings: AirsSettings, name: str
) -> tuple[CustomTopic, dict[str, list[int]], dict[str, int]]:
    """The topic, by profile the revisions that name it, newest first, and each one's newest."""
    from guardtui.scanners.airs.places import references

    with failures_told():
        async with open_management(settings) as client:
            topic = named(await client.topics(), name)
            rows = await client.profiles()
    newest: dict[str, int] = {}
    holders: dict[str, list[int]] = {}
    for row in sorted(rows, key=lambda one: -one.revision):
        newest.setdefault(row.profile_name, row.revision)
        if references(row.policy, topic.topic_id):
            holders.setdefault(row.profile_name, []).append(row.revision)
    return topic, holders, newest


def _lines(holders: dict[str, list[int]], newest: dict[str, int]) -> str:
    from guardtui.http.errors import inert

    lines = []
    for name, revisions in sorted(holders.items())[:_LISTED]:
        in_effect = revisions[0] == newest[name]
        numbers = f"{revisions[0]}{' (in effect)' if in_effect else ''}"
        numbers += "".join(f", {one}" for one in revisions[1:5])
        more = f" and {len(revisions) - 5} more" if len(revisions) > 5 else ""
        lines.append(f"  {inert(name)[:60]}: revision {numbers}{more}")
    if len(holders) > _LISTED:
        lines.append(f"  and {len(holders) - _LISTED} more profiles")
    return "\n".join(lines)


async def _delete(settings: AirsSettings, topic: CustomTopic, updated_by: str) -> str:
    """Delete it, and what the service says. Raises `InputError`, `AirsError`."""
    from guardtui.http.errors import ServiceError

    with failures_told("the topic was not deleted"):
        async with open_management(settings) as client:
            if updated_by:
                return await client.force_delete_topic(topic.topic_id, updated_by)
            try:
                return await client.delete_topic(topic.topic_id)
            except ServiceError as error:
                if error.status != 409:
                    raise
                # Somebody put it into a profile since it was looked up.
                raise InputError(
                    f"the topic was not deleted: {error.message}\n"
                    "  give --force with --updated-by EMAIL to take it out of them first"
                ) from error
