"""`guardtui topics apply`: a definition put into effect; the way back is kept before each step."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guardtui.cli import diagnostics
from guardtui.cli.airs_service import (
    agreed,
    agreement_options,
    connect,
    failures_told,
    load_settings,
    profile_option,
    revert_line,
    run_async,
    say_plan,
    warn_of_news,
)
from guardtui.cli.diagnostics import Exit, InputError
from guardtui.cli.options import FILE, address_options
from guardtui.cli.topics_wait import is_live, wait_options

if TYPE_CHECKING:
    from guardtui.domain.topic import Topic
    from guardtui.scanners.airs.connection import AirsConnection
    from guardtui.scanners.airs.lifecycle import Applied, Plan
    from guardtui.scanners.airs.places import Place

_PLACE = re.compile(r"(?:entry\s+)?([1-9][0-9]{0,5})(?:\s*,\s*|\s+)?([a-z-]*)", re.IGNORECASE)


@click.command("apply")
@click.argument("topic", type=FILE, metavar="TOPIC_FILE")
@profile_option
@click.option(
    "--place",
    metavar="PLACE",
    help="Where in the profile, when it has several parts for topics: 'entry 1, prompt'.",
)
@click.option(
    "--set-default",
    is_flag=True,
    help="Set what happens to what matches no topic, also where topics of both intents are.",
)
@agreement_options
@wait_options
@address_options
def apply_(
    topic: Path,
    profile: str | None,
    place: str | None,
    set_default: bool,
    yes: bool,
    dry_run: bool,
    no_wait: bool,
    wait_limit: float,
    region: str | None,
    scan_endpoint: str | None,
    tenant: str | None,
) -> int:
    """Put the definition of a file into effect: make or change the topic, pin it in the profile.

    Shows what it will do, asks, does it, and waits until scans are judged by it. What was before
    is remembered beside the file: 'guardtui topics revert' goes back to it.
    """
    from guardtui.cli.airs_scans import require_sendable

    definition = _definition(topic)
    require_sendable(definition)
    where = None if place is None else _parsed_place(place)
    settings = load_settings(
        profile=profile, region=region, scan_endpoint=scan_endpoint, tenant=tenant
    )
    with failures_told():
        connection = connect(settings, scans=not (no_wait or dry_run))
        plan = run_async(connection.look(definition, place=where, set_default=set_default))
    if plan is None:
        raise InputError("AIRS needs a service account to change topics")
    title = f"profile {connection.place}, revision {plan.profile.revision}:"
    say_plan(title, plan.changes or ("has this definition already",), plan.warnings)
    if dry_run:
        return Exit.DONE
    row = plan.profile
    if plan.changes:
        if not agreed("Apply?", yes):
            return Exit.INTERRUPTED
        done = _apply(connection, topic, definition, plan, where, set_default)
        row = done.profile
        diagnostics.note(f"applied: revision {row.revision} of the profile")
        if done.changes != plan.changes:
            diagnostics.note("\n".join(f"  {change}" for change in done.changes))
        warn_of_news(done, plan)
    if no_wait:
        return Exit.DONE
    return is_live(connection, definition, row, wait_limit)


def _definition(path: Path) -> Topic:
    from guardtui.files.topic_files import load_topic

    file = load_topic(path)
    if not file.intent_given:
        raise InputError(
            f"{path}: no intent stands in it, and a profile needs to know\n"
            "  add 'intent: block' to stop what matches, or 'intent: allow' to stop all else"
        )
    return file.topic


def _parsed_place(text: str) -> Place:
    from guardtui.scanners.airs.places import Place

    found = _PLACE.fullmatch(text.strip())
    if found is None:
        raise click.UsageError(f"--place {text[:60]!r} is no place: write 'entry 1, prompt'")
    return Place(entry=int(found[1]) - 1, direction=found[2].lower())


def _apply(
    connection: AirsConnection,
    path: Path,
    topic: Topic,
    plan: Plan,
    place: Place | None,
    set_default: bool,
) -> Applied:
    """Do it, with the way back kept before each step. Raises `InputError`, `AirsError`."""
    from guardtui.http.errors import ServiceError
    from guardtui.scanners.airs.errors import AirsError
    from guardtui.session.applied import AppliedLog, ChangeJournal
    from guardtui.session.store import SessionStore

    # Before anything is sent: where no way back can be kept, nothing is to be changed.
    journal = ChangeJournal(AppliedLog(SessionStore(path), connection.key))
    remedy = f"\n  '{revert_line(path, connection)}' takes back what was done of it"
    try:
        return run_async(
            connection.apply(topic, plan, place=place, set_default=set_default, journal=journal)
        )
    except KeyboardInterrupt:
        diagnostics.note(
            "broken off in the middle: the topic or the profile may be changed" + remedy
            if journal.kept
            else "broken off: the profile was not changed"
        )
        raise
    except ServiceError as error:
        raise AirsError(f"not applied: {error.message}{remedy if journal.kept else ''}") from error
    except AirsError as error:
        if journal.kept:  # found out after the topic was changed: no matter of the input any more
            raise AirsError(f"not applied: {error}{remedy}") from error
        raise InputError(f"not applied: {error}") from error
