"""`guardtui topics apply` and `revert`: a definition put into effect, and what was before again."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guardtui.cli import diagnostics
from guardtui.cli.airs_service import (
    agreed,
    agreement_options,
    failures_told,
    load_settings,
    profile_option,
    run_async,
    say_plan,
)
from guardtui.cli.diagnostics import Exit, InputError
from guardtui.cli.options import FILE, address_options
from guardtui.cli.topics_wait import is_live, wait_options

if TYPE_CHECKING:
    from guardtui.domain.topic import Topic
    from guardtui.scanners.airs.connection import AirsConnection
    from guardtui.scanners.airs.credentials import AirsSettings
    from guardtui.scanners.airs.lifecycle import Applied, Before, Plan, Reverted
    from guardtui.scanners.airs.places import Place
    from guardtui.session.applied import AppliedLog

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
) -> int:
    """Put the definition of a file into effect: make or change the topic, pin it in the profile.

    Shows what it will do, asks, does it, and waits until scans are judged by it. What was before
    is remembered beside the file: 'guardtui topics revert' goes back to it.
    """
    from guardtui.cli.airs_scans import require_sendable

    definition = _definition(topic)
    require_sendable(definition)
    where = None if place is None else _parsed_place(place)
    settings = load_settings(profile=profile, region=region, scan_endpoint=scan_endpoint)
    with failures_told():
        connection = _connect(settings, scans=not (no_wait or dry_run))
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
        _warn_of_news(done, plan)
    if no_wait:
        return Exit.DONE
    return is_live(connection, definition, row, wait_limit)


@click.command("revert")
@click.argument("topic", type=FILE, metavar="TOPIC_FILE")
@profile_option
@click.option("--all", "everything", is_flag=True, help="Go back to before the first apply.")
@agreement_options
@wait_options
@address_options
def revert(
    topic: Path,
    profile: str | None,
    everything: bool,
    yes: bool,
    dry_run: bool,
    no_wait: bool,
    wait_limit: float,
    region: str | None,
    scan_endpoint: str | None,
) -> int:
    """Take back the newest apply of a file to a profile: the definition of before, and its pin.

    What others changed in the profile stays. A topic that the apply had made stays in the tenant,
    in no profile.
    """
    settings = load_settings(profile=profile, region=region, scan_endpoint=scan_endpoint)
    with failures_told():
        connection = _connect(settings, scans=not (no_wait or dry_run))
    log = _log(topic, connection)
    runs = _runs(_ways(log, topic, connection), everything)
    done = None
    for number, run in enumerate(runs):
        way = run[0]
        for later in run[1:]:
            way = way.then(later)
        with failures_told(_so_far(number)):
            shown = run_async(connection.look_back(way))
        title = f"profile {connection.place}, revision {shown.profile.revision}:"
        say_plan(title, shown.changes or ("is as it was before already",), shown.warnings)
        if dry_run:
            continue
        if shown.changes and not agreed("Go back?", yes):
            return Exit.INTERRUPTED
        done = _revert(connection, topic, way, _so_far(number))
        _forget(log, run, done)
        if number + 1 < len(runs):
            runs[number + 1][-1] = runs[number + 1][-1].after(way, done)
        diagnostics.note(f"reverted: revision {done.profile.revision} of the profile")
        _warn_of_news(done, shown)
    if done is None or no_wait:
        return Exit.DONE
    return is_live(connection, _probe(runs[-1][0]), done.profile, wait_limit, as_expected=False)


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


def _connect(settings: AirsSettings, *, scans: bool) -> AirsConnection:
    """A connection that can change topics. Raises AirsError naming what is missing."""
    from guardtui.scanners.airs.connection import AirsConnection

    connection = AirsConnection(settings, scans=scans)
    settings.management()
    return connection


class _Journal:
    """Keeps the way back of one apply, and takes a better one in its place."""

    def __init__(self, log: AppliedLog) -> None:
        self._log = log
        self.kept = False

    def __call__(self, way: Before | None) -> None:
        if self.kept:
            self._log.drop()
        self.kept = way is not None
        if way is not None:
            self._log.push(way.model_dump(mode="json"))


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
    from guardtui.session.applied import AppliedLog
    from guardtui.session.store import SessionStore

    # Before anything is sent: where no way back can be kept, nothing is to be changed.
    journal = _Journal(AppliedLog(SessionStore(path), connection.key))
    remedy = f"\n  '{_revert_line(path, connection)}' takes back what was done of it"
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


def _revert(connection: AirsConnection, path: Path, way: Before, so_far: str) -> Reverted:
    try:
        with failures_told(f"{so_far}; not all was taken back" if so_far else "not taken back"):
            return run_async(connection.revert(way))
    except KeyboardInterrupt:
        diagnostics.note(
            "broken off: the profile may be as before, and the topic's text not yet\n"
            f"  '{_revert_line(path, connection)}' again takes back what is left"
        )
        raise


def _warn_of_news(done: Applied | Reverted, shown: Plan | Reverted) -> None:
    """Warn of what was not known yet when it was shown."""
    for warning in done.warnings:
        if warning not in shown.warnings:
            diagnostics.warn(warning)


def _revert_line(path: Path, connection: AirsConnection) -> str:
    words = ("guardtui", "topics", "revert", str(path), "--profile", connection.profile)
    return shlex.join(words)


# What was applied before


def _log(path: Path, connection: AirsConnection) -> AppliedLog:
    """What was applied by this file; looking makes no session."""
    from guardtui.session.applied import AppliedLog
    from guardtui.session.recorded import has_session
    from guardtui.session.store import SessionStore

    if not has_session(path):
        raise _nothing(path, connection)
    return AppliedLog(SessionStore(path), connection.key)


def _nothing(path: Path, connection: AirsConnection) -> InputError:
    return InputError(
        f"{path}: nothing of it was applied to profile {connection.place} that is not taken back\n"
        "  the ways back are kept beside the topic file: name the file and the profile of the "
        "apply;\n  to put an older definition into effect, write it into the file and apply it"
    )


def _ways(log: AppliedLog, path: Path, connection: AirsConnection) -> list[Before]:
    from pydantic import ValidationError

    from guardtui.scanners.airs.lifecycle import Before

    try:
        ways = [Before.model_validate(way) for way in log.ways()]
    except ValidationError as error:
        raise InputError(
            f"{path}: what was remembered of an apply cannot be read, so nothing was changed\n"
            "  put the definition of before into the file and apply it"
        ) from error
    if not ways:
        raise _nothing(path, connection)
    return ways


def _runs(ways: list[Before], everything: bool) -> list[list[Before]]:
    """The ways to go, newest first: each a run of changes of one topic in one place."""
    if not everything:
        return [ways[-1:]]
    runs: list[list[Before]] = []
    for way in reversed(ways):
        if runs and _spot(runs[-1][0]) == _spot(way):
            runs[-1].insert(0, way)
        else:
            runs.append([way])
    return runs


def _spot(way: Before) -> tuple[str, str, str]:
    return way.profile_name, way.topic_id, str(way.undo.place)


def _forget(log: AppliedLog, run: list[Before], done: Reverted) -> None:
    """Drop the ways that were gone; the one before learns what came of them."""
    from guardtui.scanners.airs.lifecycle import Before

    log.drop(len(run))
    left = log.ways()
    if not left:
        return
    earlier = Before.model_validate(left[-1])
    moved = earlier.after(run[0], done)
    if moved != earlier:
        log.drop()
        log.push(moved.model_dump(mode="json"))


def _so_far(number: int) -> str:
    """What was done before something went wrong; "" for nothing."""
    return f"{number} of the steps back {'was' if number == 1 else 'were'} done" if number else ""


def _probe(way: Before) -> Topic:
    """A topic to probe with: the one that is back, or its name where there was none."""
    from guardtui.domain.topic import Topic

    before = way.topic or {}
    examples = before.get("examples") or ()
    return Topic(
        name=way.topic_name, description=way.topic_name, examples=tuple(map(str, examples))
    )
