"""What changes of AIRS by a command share: the plan, the question, and the wait for scans."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click

from guardtui.app.airs.profile_changes import ShowChanges
from guardtui.cli import asking, diagnostics
from guardtui.cli.airs_service import failures_told
from guardtui.cli.diagnostics import Exit
from guardtui.cli.guardrail_options import Function
from guardtui.cli.options import Number
from guardtui.domain.topic import Topic
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.models import SecurityProfile
from guardtui.scanners.airs.propagation import PropagationResult

WAIT = 60.0


def agreement_options(function: Function) -> Function:
    """Add --yes and --dry-run."""
    function = click.option(
        "--dry-run", is_flag=True, help="Show the planned changes without applying them."
    )(function)
    return click.option("--yes", "-y", is_flag=True, help="Apply the changes without asking.")(
        function
    )


def agrees(question: str, *, yes: bool) -> bool:
    """Return whether the author agrees. Raises `InputError` if nobody can be asked."""
    return asking.agrees(
        question, yes=yes, remedy="give --yes to do it, or --dry-run to be shown only"
    )


def show(changes: ShowChanges) -> None:
    """Print planned changes, with warnings."""
    nothing = "is as it was before already" if changes.reverts else "has this definition already"
    lines = [f"profile {changes.title}, revision {changes.revision}:"]
    lines += [f"  {change}" for change in changes.changes or (nothing,)]
    diagnostics.note("\n".join(lines))
    warn(changes.warnings)


def warn(warnings: Sequence[str]) -> None:
    """Print warnings."""
    for warning in warnings:
        diagnostics.warn(warning)


# --- the wait for scans -------------------------------------------------------------------


def wait_options(function: Function) -> Function:
    """Add --no-wait and --wait-limit."""
    function = click.option(
        "--wait-limit",
        type=Number(0, 3600),
        default=WAIT,
        metavar="SECONDS",
        help="Maximum time to wait (default: 60).",
    )(function)
    return click.option("--no-wait", is_flag=True, help="Do not wait until scans use it.")(function)


async def is_live(
    connection: AirsConnection,
    topic: Topic,
    row: SecurityProfile,
    limit: float,
    *,
    as_expected: bool = True,
) -> int:
    """Wait until scans use a profile revision; return the exit code and a message.

    Raises `AirsError` if that cannot be determined.
    """

    def told(probes: int, seconds: float, reason: str) -> None:
        diagnostics.progress(f"waiting for scans, {seconds:.0f} of {limit:.0f} s: {reason}")

    diagnostics.progress("waiting until scans are judged by it")
    try:
        with failures_told("it is in the profile, but whether scans know it was not learned"):
            live = await connection.wait(
                topic, row, limit=limit, as_expected=as_expected, report=told
            )
    except asyncio.CancelledError:
        diagnostics.progress("")
        diagnostics.note("applied; interrupted while waiting for the change to take effect")
        raise
    diagnostics.progress("")
    return _report(live, limit)


def _report(live: PropagationResult, limit: float) -> int:
    if live.live:
        after = f"after {live.seconds:.0f} s" if live.seconds >= 1 else "at once"
        diagnostics.note(f"in effect: scans use it ({after})")
        return Exit.DONE
    if live.revision_seen:
        diagnostics.warn(
            f"in effect, but not as expected: {live.reason}\n"
            "  the probe is the first example of the topic: another topic may let it through"
        )
        return Exit.DONE
    if live.revision_seen is None and live.last is not None and live.last.decided:
        diagnostics.warn(
            f"whether scans use it is unknown: {live.reason}\n"
            "  wait 15 seconds or so before you scan"
        )
        return Exit.DONE
    diagnostics.error(
        f"it is in the profile, but scans do not use it after {limit:.0f} s: {live.reason}\n"
        "  it may come later: the same command waits on, and --wait-limit waits longer"
    )
    return Exit.NOT_COMPLETED
