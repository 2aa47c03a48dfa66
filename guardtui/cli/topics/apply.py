"""`guardtui topics apply`: deploy a definition; the undo journal is written before each step."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import click

from guardtui.app.airs.profile_changes import Placement, ProfileChanges, ShowChanges
from guardtui.app.airs.revert_steps import revert_line
from guardtui.cli import diagnostics, signals
from guardtui.cli.airs_service import (
    airs_option,
    connect,
    failures_told,
    settings_of,
)
from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import Exit, InputError
from guardtui.cli.guardrail_options import GuardrailFlags
from guardtui.cli.options import FILE
from guardtui.cli.scans.airs import require_sendable
from guardtui.cli.topics.changes import agreement_options, agrees, is_live, show, wait_options, warn
from guardtui.domain.topic import Topic
from guardtui.files.topic_files import load_topic
from guardtui.http.errors import ServiceError
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.lifecycle import Applied, Plan
from guardtui.scanners.airs.policy_paths import PolicyPath

_PLACE = re.compile(r"(?:entry\s+)?([1-9][0-9]{0,5})(?:\s*,\s*|\s+)?([a-z-]*)", re.IGNORECASE)


@click.command("apply", cls=Command)
@click.argument("topic", type=FILE, metavar="TOPIC_FILE")
@airs_option
@click.option(
    "--place",
    metavar="PLACE",
    help="Part of the profile, if it has several for topics, such as 'entry 1, prompt'.",
)
@click.option(
    "--set-default",
    is_flag=True,
    help="Change the default action (on prompts that match no topic) even if the profile has "
    "topics of both intents.",
)
@agreement_options
@wait_options
def apply_(
    topic: Path,
    guardrail: GuardrailFlags,
    place: str | None,
    set_default: bool,
    yes: bool,
    dry_run: bool,
    no_wait: bool,
    wait_limit: float,
) -> int:
    """Deploy the definition of a file: create or change the topic, and make the profile use it.

    Shows the changes, asks, applies them, and waits until scans use them. The previous state is
    stored beside the file: 'guardtui topics revert' restores it.
    """
    definition = _definition(topic)
    require_sendable(definition)
    path = None if place is None else _parsed_place(place)
    settings = settings_of(guardrail, topic)
    with failures_told():
        connection = connect(settings, scans=not (no_wait or dry_run))

    async def work() -> int:
        changes = ProfileChanges(topic)
        placement = Placement(path, set_default)
        with failures_told():
            plan = await changes.plan(connection, definition, placement)
        if plan is None:
            raise InputError("AIRS needs a service account to change topics")
        shown = ShowChanges.of(connection, plan)
        show(shown)
        if dry_run:
            return Exit.DONE
        row = plan.profile
        if plan.changes:
            if not agrees("Apply?", yes=yes):
                return Exit.INTERRUPTED
            done = await _apply(changes, connection, topic, definition, plan, placement)
            row = done.profile
            diagnostics.note(f"applied: revision {row.revision} of the profile")
            if done.changes != plan.changes:
                diagnostics.note("\n".join(f"  {change}" for change in done.changes))
            warn([text for text in done.warnings if text not in plan.warnings])
        return Exit.DONE if no_wait else await is_live(connection, definition, row, wait_limit)

    return signals.run(work())


def _definition(path: Path) -> Topic:
    file = load_topic(path)
    if not file.intent_given:
        raise InputError(
            f"{path}: the intent is missing, and a profile requires one\n"
            "  add 'intent: block' to stop what matches, or 'intent: allow' to stop all others"
        )
    return file.topic


def _parsed_place(text: str) -> PolicyPath:
    match = _PLACE.fullmatch(text.strip())
    if match is None:
        raise click.UsageError(f"--place {text[:60]!r} is not a place: write 'entry 1, prompt'")
    return PolicyPath(entry=int(match[1]) - 1, direction=match[2].lower())


async def _apply(
    changes: ProfileChanges,
    connection: AirsConnection,
    path: Path,
    topic: Topic,
    plan: Plan,
    placement: Placement,
) -> Applied:
    """Apply the plan, journaling before each step. Raises `InputError`, `AirsError`."""
    # Before anything is sent: nothing may change without an undo journal.
    journal = changes.journal(connection)
    remedy = f"\n  '{revert_line(path, connection)}' takes back what was done of it"
    try:
        return await changes.apply(connection, topic, plan, placement, journal)
    except asyncio.CancelledError:
        diagnostics.note(
            "interrupted while applying: the topic or the profile may be changed" + remedy
            if journal.has_entry
            else "interrupted: the profile was not changed"
        )
        raise
    except ServiceError as error:
        raise AirsError(
            f"not applied: {error.message}{remedy if journal.has_entry else ''}"
        ) from error
    except AirsError as error:
        if journal.has_entry:  # found after the topic was changed: no longer an error of the input
            raise AirsError(f"not applied: {error}{remedy}") from error
        raise InputError(f"not applied: {error}") from error
