"""`guardtui topics revert`: restore the state before an apply, one at a time or all at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from guardtui.app.airs.profile_changes import ProfileChanges, ShowChanges
from guardtui.app.airs.revert_steps import (
    RevertStep,
    UnreadableJournalError,
    revert_line,
    steps_back,
)
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
from guardtui.cli.topics.changes import agreement_options, agrees, is_live, show, wait_options, warn
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.undo_journal import Reverted
from guardtui.session.applied import AppliedLog
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore


@click.command("revert", cls=Command)
@click.argument("topic", type=FILE, metavar="TOPIC_FILE")
@airs_option
@click.option("--all", "everything", is_flag=True, help="Restore the state before the first apply.")
@agreement_options
@wait_options
def revert(
    topic: Path,
    guardrail: GuardrailFlags,
    everything: bool,
    yes: bool,
    dry_run: bool,
    no_wait: bool,
    wait_limit: float,
) -> int:
    """Revert the newest apply of a file to a profile: the previous definition, and its pin.

    Changes by others in the profile stay. A topic created by the apply stays in the tenant, in no
    profile.
    """
    settings = settings_of(guardrail, topic)
    with failures_told():
        connection = connect(settings, scans=not (no_wait or dry_run))
    if not has_session(topic):  # reading does not create one
        raise _nothing(topic, connection)
    log = AppliedLog(SessionStore(topic), connection.key)
    steps = _steps(log, topic, connection, everything)

    async def work() -> int:
        changes = ProfileChanges(topic)
        done = None
        for number, step in enumerate(steps):
            with failures_told(_so_far(number)):
                plan = await connection.revert(step.way, send=False)
            show(ShowChanges.of(connection, plan, reverts=True))
            if dry_run:
                continue
            if plan.changes and not agrees("Go back?", yes=yes):
                return Exit.INTERRUPTED
            done = await _revert(changes, connection, topic, step, _so_far(number))
            if number + 1 < len(steps):
                steps[number + 1] = steps[number + 1].after(step, done)
            diagnostics.note(f"reverted: revision {done.profile.revision} of the profile")
            warn([text for text in done.warnings if text not in plan.warnings])
        if done is None or no_wait:
            return Exit.DONE
        probe = steps[-1].probe
        return await is_live(connection, probe, done.profile, wait_limit, as_expected=False)

    return signals.run(work())


async def _revert(
    changes: ProfileChanges, connection: AirsConnection, path: Path, step: RevertStep, so_far: str
) -> Reverted:
    try:
        with failures_told(f"{so_far}; the rest was not reverted" if so_far else "not reverted"):
            return await changes.revert(connection, step)
    except asyncio.CancelledError:
        diagnostics.note(
            "interrupted: the profile may be reverted, and the topic's text not yet\n"
            f"  '{revert_line(path, connection)}' reverts the rest"
        )
        raise


def _nothing(path: Path, connection: AirsConnection) -> InputError:
    return InputError(
        f"{path}: no applied change of it in profile {connection.title} is left to revert\n"
        "  the undo journal is beside the topic file: name the file and the profile of the apply;\n"
        "  to apply an older definition, write it to the file and apply the file"
    )


def _steps(
    log: AppliedLog, path: Path, connection: AirsConnection, everything: bool
) -> list[RevertStep]:
    """Return the steps to revert, newest first. Raises `InputError` if there are none."""
    entries = log.entries()
    try:
        steps = steps_back(entries if everything else entries[-1:])
    except UnreadableJournalError as error:
        raise InputError(
            f"{path}: what was remembered of an apply cannot be read, so nothing was changed\n"
            "  put the definition of before into the file and apply it"
        ) from error
    if not steps:
        raise _nothing(path, connection)
    return steps


def _so_far(number: int) -> str:
    """Return what was done before a failure, or ""."""
    return f"{number} of the steps back {'was' if number == 1 else 'were'} done" if number else ""
