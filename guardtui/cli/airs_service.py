"""AIRS as commands reach it: settings, failures as exit codes, one question to the author."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import InputError

if TYPE_CHECKING:
    from guardtui.scanners.airs.connection import AirsConnection
    from guardtui.scanners.airs.credentials import AirsSettings
    from guardtui.scanners.airs.lifecycle import Applied, Plan, Reverted
    from guardtui.scanners.airs.management import ManagementClient
    from guardtui.session.topic_revisions import SqliteTopicRevisions

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")


def profile_option(function: Function) -> Function:
    """Add --profile."""
    return click.option(
        "--profile",
        metavar="NAME",
        help="The security profile (default: PANW_AI_SEC_PROFILE_NAME).",
    )(function)


def agreement_options(function: Function) -> Function:
    """Add --yes and --dry-run."""
    function = click.option(
        "--dry-run", is_flag=True, help="Say what would be done, and do nothing."
    )(function)
    return click.option("--yes", "-y", is_flag=True, help="Do it without being asked.")(function)


def load_settings(**flags: str | int | None) -> AirsSettings:
    """The settings of this moment; warns of variables that are empty. Raises `InputError`."""
    from guardtui.scanners.airs.credentials import AirsSettings
    from guardtui.scanners.airs.errors import AirsError

    try:
        settings = AirsSettings.load(flags)
    except AirsError as error:
        raise InputError(str(error)) from error
    for notice in settings.notices():
        diagnostics.warn(notice)
    return settings


def run_async(work: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine returns; Ctrl-C cancels it, and is raised when it has ended."""
    import asyncio

    return asyncio.run(work)


@contextmanager
def failures_told(where: str = "") -> Iterator[None]:
    """Turn what AIRS refuses into `InputError` (exit code 2), and its failures into `AirsError`

    (3). `where` is said before a failure.
    """
    from guardtui.http.errors import ServiceError
    from guardtui.scanners.airs.errors import AirsError

    try:
        yield
    except ServiceError as error:
        raise AirsError(f"{where}: {error.message}" if where else error.message) from error
    except AirsError as error:
        raise InputError(str(error)) from error


def can_ask() -> bool:
    """Whether a question is seen, and an answer comes from a person."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def agreed(question: str, yes: bool) -> bool:
    """Whether to go on: with `yes`, or when the author says so.

    Raises `InputError` where nobody can be asked.
    """
    if yes:
        return True
    if not can_ask():
        raise InputError(
            "nothing was changed: without a terminal nobody can be asked\n"
            "  give --yes to do it, or --dry-run to be shown only"
        )
    diagnostics.note(f"{question} [y/N]")
    try:
        answer = input("> " if sys.stdout and sys.stdout.isatty() else "")
    except (EOFError, UnicodeDecodeError):
        answer = ""
    if answer.strip().lower() in ("y", "yes"):
        return True
    diagnostics.note("nothing was changed")
    return False


def say_plan(title: str, changes: Sequence[str], warnings: Sequence[str]) -> None:
    """Show what is to be done, and what is doubtful in it."""
    diagnostics.note("\n".join([title, *(f"  {change}" for change in changes)]))
    for warning in warnings:
        diagnostics.warn(warning)


def table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    """Rows of one-line texts: to a terminal aligned below a header, to a pipe apart by tabs."""
    if not (sys.stdout is not None and sys.stdout.isatty()):
        return "".join("\t".join(row) + "\n" for row in rows)
    from guardtui.domain.text import display_text

    shown = [list(map(display_text, row)) for row in (header, *rows)]
    widths = [max(len(row[place]) for row in shown) for place in range(len(header))]
    lines = (
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        for row in shown
    )
    return "".join(line.rstrip() + "\n" for line in lines)


def known_revisions() -> SqliteTopicRevisions:
    """The texts of topic revisions that guardtui has seen on this machine."""
    from guardtui.scanners.local.vectors import cache_folder
    from guardtui.session.topic_revisions import SqliteTopicRevisions

    return SqliteTopicRevisions(cache_folder())


def open_management(settings: AirsSettings) -> ManagementClient:
    """A client for topics and profiles; close it. Raises AirsError naming what is missing."""
    from guardtui.scanners.airs.management import ManagementClient

    return ManagementClient(settings.management(), revisions=known_revisions())


def connect(settings: AirsSettings, *, scans: bool) -> AirsConnection:
    """A connection that can change topics. Raises AirsError naming what is missing."""
    from guardtui.scanners.airs.connection import AirsConnection

    connection = AirsConnection(settings, scans=scans, revisions=known_revisions())
    settings.management()
    return connection


def warn_of_news(done: Applied | Reverted, shown: Plan | Reverted) -> None:
    """Warn of what was not known yet when it was shown."""
    for warning in done.warnings:
        if warning not in shown.warnings:
            diagnostics.warn(warning)


def revert_line(path: Path, connection: AirsConnection) -> str:
    """The command that takes back what was applied by a file."""
    words = ["guardtui", "topics", "revert", str(path), "--profile", connection.profile]
    if connection.settings.tenant:
        words += ["--tenant", connection.settings.tenant]
    return shlex.join(words)
